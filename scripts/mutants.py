"""Changes the code that privacy rests on, one place at a time, and sees whether a test of the same crate fails each time.

usage: mutants.py [--in-diff FILE]

`.cargo/mutants.toml` names the files and functions. With --in-diff only the lines of a diff are changed. Mutants that no test notices must stand
in `scripts/mutants-survivors.txt`, each with a reason; any other fails the run. What is left when the time is over is counted, and no failure.
"""

import collections
import os
import pathlib
import re
import signal
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SURVIVORS = ROOT / "scripts" / "mutants-survivors.txt"
OUT = ROOT / "target" / "mutants"
MOST = 400
HOURS = float(os.environ.get("MUTANT_HOURS", "4"))
# One mutant's tests; a test that does not end has noticed it too.
SECONDS = 600


def known():
    """The survivors that have a reason, as often as they are listed."""
    mutants = collections.Counter()
    lines = [line for line in SURVIVORS.read_text().splitlines() if line.strip() and not line.startswith("#")]
    for line, after in zip(lines, lines[1:] + [""]):
        if not line.startswith(" "):
            if not after.startswith(" "):
                sys.exit(f"{SURVIVORS.name}: no reason under: {line}")
            mutants[line.strip()] += 1
    return mutants


def without_place(line):
    """A mutant without line and column, which move."""
    return re.sub(r"\.rs:\d+:\d+:", ".rs:", line.strip())


def found(name):
    """The mutants of one outcome."""
    path = OUT / "mutants.out" / f"{name}.txt"
    return path.read_text().splitlines() if path.exists() else []


def main(arguments):
    """Runs all, or those of a diff."""
    command = ["cargo", "mutants", *arguments]
    listed = subprocess.run([*command, "--list"], cwd=ROOT, check=True, capture_output=True, text=True)
    count = len(listed.stdout.splitlines())
    if count > MOST:
        sys.exit(f"{count} mutants; allowed: {MOST}. Name fewer functions in .cargo/mutants.toml.")
    print(f"{count} mutants", flush=True)
    if count == 0:
        return
    listed_as_known = known()
    OUT.mkdir(parents=True, exist_ok=True)
    options = ["--baseline", "skip", "--timeout", str(SECONDS), "--build-timeout", str(2 * SECONDS), "--output", str(OUT)]
    run = subprocess.Popen([*command, *options], cwd=ROOT, start_new_session=True)
    try:
        status = run.wait(timeout=3600 * HOURS)
    except subprocess.TimeoutExpired:
        os.killpg(run.pid, signal.SIGINT)
        run.wait()
        status = 0
    survived = collections.Counter(map(without_place, found("missed")))
    outcomes = {name: len(found(name)) for name in ("caught", "timeout", "missed", "unviable")}
    left = count - sum(outcomes.values())
    print(", ".join(f"{number} {name}" for name, number in outcomes.items()) + f", {left} not tried")
    new = survived - listed_as_known
    for mutant in new.elements():
        print(f"no test notices, and no reason is given: {mutant}")
    if new:
        sys.exit(f"Write a test, or a reason into {SURVIVORS.relative_to(ROOT)}.")
    # 2 and 3: some were missed, or did not end; which is looked at above.
    if status not in (0, 2, 3):
        sys.exit(f"cargo mutants ended with {status}")


if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[1] in ("-h", "--help"):
        print(__doc__.strip())
    else:
        main(sys.argv[1:])
