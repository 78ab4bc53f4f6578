"""Fuzzing led by coverage: libFuzzer on the targets of `fuzz/`, for hours of core time each.

`make fuzz-coverage HOURS=8 TARGET="readers http"`. Targets take turns of some minutes, so that all
of them have been tried whenever it is stopped. Corpora, finds and a line for every turn are under
`target/fuzz`; the lines add up, over all runs, to the hours that docs/reliability.md tells.
`--keep` minimises the corpora and writes them into `fuzz/corpus`, where tests try them.
"""

import argparse
import datetime
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PLACE = ROOT / "target" / "fuzz"
LINES = PLACE / "turns.tsv"
TARGETS = ["readers", "http", "state", "ledger", "sums", "model", "schema", "parquet"]
# Seconds and megabytes that one input may take. A machine that sleeps or is busy makes inputs slow.
LIMITS = ["-timeout=300", "-rss_limit_mb=3072", "-max_len=16384"]


def build():
    """libFuzzer with the code of this repository counted, and the program around it."""
    build = ["cargo", "build", "--locked", "--quiet", "-p", "hushstream-fuzz", "--bin"]
    subprocess.run([*build, "hushstream-fuzz"], cwd=ROOT, check=True)
    counted = {**os.environ, "RUSTC_WORKSPACE_WRAPPER": str(ROOT / "scripts/with_counters.sh")}
    coverage = [*build, "coverage", "--features", "coverage"]
    subprocess.run(coverage, cwd=ROOT, env=counted, check=True)
    folder = ROOT / "target" / "debug"
    return folder / "coverage", folder / "hushstream-fuzz"


def corpus(target, tool):
    folder = PLACE / "corpus" / target
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run([tool, "unpack", target, folder], check=True)
    return folder


def run(fuzzer, target, *arguments):
    """Runs libFuzzer; gives its exit status, what it said, and seconds of core time."""
    finds = PLACE / "finds" / target
    finds.mkdir(parents=True, exist_ok=True)
    log = PLACE / f"{target}.log"
    with log.open("w") as file:
        child = subprocess.Popen(
            [fuzzer, f"-artifact_prefix={finds}/", *LIMITS, *map(str, arguments)],
            env={**os.environ, "HUSHSTREAM_FUZZ": target, "TMPDIR": str(scratch())},
            stdout=subprocess.DEVNULL,
            stderr=file,
        )
        _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    return child.returncode, log.read_text(errors="replace"), used.ru_utime + used.ru_stime


def scratch():
    folder = PLACE / "scratch"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def turn(fuzzer, target, folder, seconds):
    options = [f"-dict={folder}.dict", f"-max_total_time={seconds}", "-print_final_stats=1"]
    status, said, core = run(fuzzer, target, *options, folder)
    tried = re.search(r"number_of_executed_units: (\d+)", said)
    last = re.findall(r"#(\d+)\s.*?cov: (\d+) ft: (\d+)", said)[-1:] or [("0", "0", "0")]
    return {
        "ended": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "target": target,
        "core_seconds": f"{core:.0f}",
        "tried": tried[1] if tried else last[0][0],
        "edges": last[0][1],
        "features": last[0][2],
        "inputs": str(sum(1 for _ in folder.iterdir())),
        "finds": str(int(status != 0)),
    }


def write(line):
    is_new = not LINES.exists()
    with LINES.open("a") as file:
        if is_new:
            file.write("\t".join(line) + "\n")
        file.write("\t".join(line.values()) + "\n")


def totals(targets):
    """All turns so far, added up by target."""
    if not LINES.exists():
        return
    keys, *rows = [line.split("\t") for line in LINES.read_text().splitlines()]
    rows = [dict(zip(keys, row)) for row in rows]
    print(f"{'target':10}{'core hours':>12}{'inputs tried':>16}{'edges':>9}{'kept':>7}{'finds':>7}")
    for target in targets:
        own = [row for row in rows if row["target"] == target]
        if own:
            core, tried, finds = (
                sum(int(row[key]) for row in own) for key in ["core_seconds", "tried", "finds"]
            )
            edges = max(int(row["edges"]) for row in own)
            kept = own[-1]["inputs"]
            print(f"{target:10}{core / 3600:12.2f}{tried:16,}{edges:9,}{kept:>7}{finds:7}")


def keep(fuzzer, tool, targets):
    for target in targets:
        folder, least = PLACE / "corpus" / target, PLACE / "least" / target
        shutil.rmtree(least, ignore_errors=True)
        least.mkdir(parents=True)
        status, said, _ = run(fuzzer, target, "-merge=1", least, folder)
        if status:
            sys.exit(said)
        subprocess.run([tool, "pack", target, least], check=True)
        shutil.rmtree(folder)
        least.rename(folder)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hours", type=float, default=1.0, help="of core time, for each target")
    parser.add_argument("--minutes", type=float, default=10, help="of a turn")
    parser.add_argument("--keep", action="store_true", help="minimise and keep the corpora")
    parser.add_argument("--totals", action="store_true", help="tell what all turns add up to")
    parser.add_argument("targets", nargs="*", default=TARGETS, metavar="TARGET")
    asked = parser.parse_args()
    if asked.totals:
        return totals(asked.targets)
    fuzzer, tool = build()
    if asked.keep:
        return keep(fuzzer, tool, asked.targets)
    folders = {target: corpus(target, tool) for target in asked.targets}
    left = dict.fromkeys(asked.targets, asked.hours * 3600)
    found = []
    while left:
        for target in list(left):
            line = turn(fuzzer, target, folders[target], int(60 * asked.minutes))
            write(line)
            print(*line.values(), flush=True)
            left[target] -= max(1, int(line["core_seconds"]))
            if line["finds"] != "0":
                # It would only be found again: mend it first.
                found.append(f"{PLACE}/{target}.log, {PLACE}/finds/{target}")
                del left[target]
            elif left[target] <= 0:
                del left[target]
    totals(asked.targets)
    if found:
        sys.exit("found: " + "; ".join(found))


if __name__ == "__main__":
    main()
