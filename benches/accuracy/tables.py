"""The tables of the contest: split once for everybody, and read by their public schemas alone."""

import dataclasses
import fnmatch
import gzip
import pathlib
import random
import tomllib

import numpy
import pandas

ROOT = pathlib.Path(__file__).resolve().parents[2]
# name: (file that scripts/fetch_data.py brings, schema). Nobody sees the names but the report.
TABLES = {
    "CoverType, class 2": ("covtype.csv", "covtype.toml"),
    "flights, late": ("flights.csv.gz", "flights.toml"),
    "Adult": ("adult.csv.gz", "adult.toml"),
    "bank": ("bank.csv.gz", "bank.toml"),
    "MAGIC telescope": ("telescope.csv", "telescope.toml"),
    "bike sharing": ("bike.csv", "bike.toml"),
}
SHUFFLE = 1
MISSING = {"", "NA", "N/A", "NaN", "null"}


@dataclasses.dataclass
class Table:
    """A table with its schema and the two files it was split into."""

    name: str
    schema_path: pathlib.Path
    schema: dict
    train: pathlib.Path
    test: pathlib.Path

    @property
    def is_number(self):
        """Is the target a number? Then its bounds are stated."""
        return "target_bounds" in self.schema


def opened(path):
    """The text of a file, gzipped or not."""
    return gzip.open(path, "rt") if path.suffix == ".gz" else open(path)


def split(source, has_header, folder):
    """The first four fifths of one fixed shuffle, and the last fifth; blank lines go."""
    stem = source.name.split(".")[0]
    train, test = folder / f"{stem}-train.csv", folder / f"{stem}-test.csv"
    if not (train.exists() and test.exists()):
        with opened(source) as file:
            lines = [line.rstrip("\n") for line in file if line.strip()]
        header = [lines.pop(0)] if has_header else []
        random.Random(SHUFFLE).shuffle(lines)
        cut = len(lines) * 4 // 5
        for path, part in ((train, lines[:cut]), (test, lines[cut:])):
            path.write_text("\n".join(header + part) + "\n")
    return train, test


def prepare(name, source, schema_path, folder):
    """One table, split under `folder`; a shuffle is no order of time, whatever the schema says."""
    folder.mkdir(parents=True, exist_ok=True)
    text = schema_path.read_text().replace("in_time_order = true\n", "")
    schema_path = folder / schema_path.name
    schema_path.write_text(text)
    schema = tomllib.loads(text)
    return Table(name, schema_path, schema, *split(source, "names" not in schema, folder))


def all_tables(data, folder):
    """The tables whose files are in the folder `data`."""
    for name, (file, schema) in TABLES.items():
        if (data / file).exists():
            yield prepare(name, data / file, ROOT / "examples" / schema, folder)
    # Those of fresh.py.
    for schema in sorted((data / "fresh").glob("*.toml")):
        yield prepare(schema.stem, schema.with_suffix(".csv"), schema, folder)


def lookup(patterns, column):
    """What a mapping from names or patterns with * says about a column."""
    found = [value for key, value in patterns.items() if fnmatch.fnmatchcase(column, key)]
    return patterns.get(column, found[0] if found else None)


def code(text):
    """Texts that are equal numbers are one category: 1 and 1.0."""
    try:
        return repr(float(text))
    except ValueError:
        return text


@dataclasses.dataclass
class Columns:
    """A file as its schema reads it. Numbers are kept within their bounds, NaN where they are
    missing; a category is its place in the vocabulary, -1 if it is missing or unknown. Columns
    that are indicators already (`one_hot`) have become one category again."""

    numbers: dict
    bounds: dict
    categories: dict
    sizes: dict
    target: numpy.ndarray


def read(path, schema):
    """Reads one file of a split."""
    names = schema.get("names")
    layout = {"header": None if names else 0, "names": names}
    frame = pandas.read_csv(path, **layout, dtype=str, keep_default_na=False)
    frame.columns = [column.strip() for column in frame.columns]
    missing = MISSING | set(schema.get("missing", []))
    out = Columns({}, {}, {}, {}, None)
    indicators = {pattern: [] for pattern in schema.get("one_hot", [])}
    for column in frame.columns:
        text = frame[column].str.strip()
        text = text.where(~text.isin(missing), "")
        if column == schema["target"]:
            if "target_bounds" in schema:
                out.target = text.astype(float).to_numpy().clip(*schema["target_bounds"])
            else:
                positive = code(schema.get("positive", "1"))
                out.target = (text.map(code) == positive).to_numpy().astype(int)
            continue
        if any(fnmatch.fnmatchcase(column, pattern) for pattern in schema.get("ignore", [])):
            continue
        of = [pattern for pattern in indicators if fnmatch.fnmatchcase(column, pattern)]
        if of:
            indicators[of[0]].append(text.astype(float).to_numpy())
            continue
        words = lookup(schema.get("vocabulary", {}), column)
        if words is not None:
            place = {code(word): index for index, word in enumerate(words)}
            out.categories[column] = text.map(lambda one: place.get(code(one), -1)).to_numpy()
            out.sizes[column] = len(words)
            continue
        bounds = lookup(schema.get("bounds", {}), column)
        if bounds is None:
            raise SystemExit(f"{path}: the schema says nothing about the column {column}")
        numbers = pandas.to_numeric(text.replace("", numpy.nan)).to_numpy()
        out.numbers[column] = numbers.clip(*bounds)
        out.bounds[column] = tuple(map(float, bounds))
    for pattern, columns in indicators.items():
        stacked = numpy.column_stack(columns)
        out.categories[pattern] = numpy.where(stacked.any(axis=1), stacked.argmax(axis=1), -1)
        out.sizes[pattern] = len(columns)
    return out
