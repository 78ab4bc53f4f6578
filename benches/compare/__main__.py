"""Measures Hushstream beside other programs and writes BENCHMARKS.md. usage: python benches/compare [quick|default|full]

`make bench` installs the other programs and calls this. Files of rows are kept under target/bench between runs.
"""

import sys

import callgrind
import contests
import curves
import front_ends
import machine
import recipes
import report
from programs import ROOT, TARGET
from sizes import SIZES


def main(arguments):
    """Runs the command."""
    name = arguments[0] if arguments else "default"
    if len(arguments) > 1 or name not in SIZES:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    folder, sizes = TARGET / "bench", SIZES[name]
    folder.mkdir(parents=True, exist_ok=True)
    about = list(machine.describe())
    tables = list(contests.tables(folder, sizes))
    counts = callgrind.counts(folder)
    costs = recipes.costs(folder)
    panels = curves.panels(folder, sizes)
    fronts = list(front_ends.told(name == "quick"))
    command = "make bench" if name == "default" else f"make bench BENCH={name}"
    # A short run is for trying: it must not replace figures that stand for something.
    root = folder if name == "quick" else ROOT
    report.write(root, command, sizes.rounds, about, tables, counts, costs, panels, fronts)
    print(f"\nwritten: {(root / 'BENCHMARKS.md').relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
