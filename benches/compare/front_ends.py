"""Python, the server and Spark: each has a script of its own, which says what it measures; its words are kept."""

import dataclasses
import re
import subprocess
import sys

from programs import BINARIES, PYTHONS, ROOT, TARGET

PACKAGE = TARGET / "python"


@dataclasses.dataclass
class Told:
    """What one script printed, or why it did not run."""

    title: str
    note: str
    shown: str
    text: str
    trouble: str | None = None

    def rates(self):
        """[(name, rows a second, is ours)] of the table of the Python package."""
        rows = re.findall(r"^  (.{43}) +[\d.]+ +([\d.]+) +[\d.]+x", self.text, re.M)
        peers = ("scikit-learn", "River")
        return [(name.strip(), 1e6 / float(each), not name.startswith(peers)) for name, each in rows]


def scripts(is_quick):
    """(title, note, command) of each."""
    own = PACKAGE / "bin" / "python"
    rows, seconds, models = (100_000, 2, 200) if is_quick else (1_000_000, 6, 5_000)
    yield (
        "Python",
        "Rows from a numpy array, on one core; all take turns, and the least time of each counts.",
        [own, "benches/python.py", rows, 3],
    )
    yield (
        "Server",
        "Under wrk, on loopback, with the same two cores; the disk as it is, then a slower one. Vowpal "
        "Wabbit's daemon keeps nothing; its client is a Python program.",
        [sys.executable, "benches/serve/load.py", "--program", BINARIES / "hushstream", "--seconds",
         seconds, "--models", models, "--vw", PYTHONS["peers"]],
    )
    packages = next(iter(sorted(PACKAGE.glob("lib/python*/site-packages"))), PACKAGE)
    yield (
        "Spark",
        "Two executors of one core each; rows from Parquet. `read` brings them to Python, `numpy` adds "
        "columns.",
        [TARGET / "spark" / "bin" / "python", "benches/spark.py", packages, rows // 1000],
    )


def told(is_quick):
    """All of them."""
    for title, note, command in scripts(is_quick):
        print(title, file=sys.stderr, flush=True)
        shown = " ".join(str(part).replace(f"{ROOT}/", "") for part in command)
        try:
            run = subprocess.run([str(part) for part in command], cwd=ROOT, capture_output=True, text=True)
        except OSError as error:
            yield Told(title, note, shown, "", str(error))
            continue
        last = (run.stderr.strip().splitlines() or ["no reason"])[-1]
        yield Told(title, note, shown, run.stdout.rstrip(), last if run.returncode else None)
