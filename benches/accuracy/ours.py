"""Our side: `learn` with the automatic choice, then `predict`, as a user would call them."""

import csv
import json
import os
import subprocess

import tables

TARGET = tables.ROOT / "target"
PROGRAM = TARGET.parent / os.environ.get("CARGO_TARGET_DIR", TARGET) / "release" / "hushstream"
ADJACENCIES = {"ours, replace-one": "replace-one", "ours, zero-out": "zero-out"}


def call(*arguments):
    """Standard output of one call."""
    line = [str(argument) for argument in arguments]
    done = subprocess.run([PROGRAM, *line], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"hushstream {' '.join(line)}\n{done.stderr}")
    return done.stdout


def scores(table, folder, adjacency, epsilon, delta, seed):
    """Scores (or numbers) of the test rows, and the recipe that was chosen. The noise comes from a
    seed, so that everyone finds the same figures; its law is that of real noise."""
    model = folder / "model.json"
    model.unlink(missing_ok=True)
    flags = ["--schema", table.schema_path, "--epsilon", epsilon, "--delta", delta]
    flags += ["--adjacency", adjacency, "--seed-insecure", seed, "--model", model, "--json"]
    if table.is_number:
        flags += ["--task", "regress"]
    told = json.loads(call("learn", table.train, *flags))
    lines = call("predict", model, table.test).splitlines()
    column = "prediction" if table.is_number else "score"
    return [float(row[column]) for row in csv.DictReader(lines)], told["recipe"]
