"""What the tests share: rows in files, drivers that are killed, and the releases of one process."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hushstream
import hushstream.elsewhere
from driver import SETTINGS

HERE = Path(__file__).resolve().parent
# Outside of the package's folder, and not by PYTHONPATH: executors get the package from ship().
PACKAGE = str(Path(hushstream.__file__).resolve().parents[1])


def frame(rows, seed, persons=None):
    draw = np.random.default_rng(seed)
    a, b = draw.uniform(-1, 1, (2, rows))
    columns = {"a": a, "b": b, "y": (a + b > 0).astype(np.int64)}
    if persons:
        columns["who"] = draw.integers(0, persons, rows)
    return pa.table(columns)


class Source:
    """Files of one folder, each a micro-batch, and the rows in them."""

    def __init__(self, folder, sizes, kind="parquet", persons=None):
        self.place, self.folder = folder, folder / "rows"
        self.folder.mkdir(parents=True)
        self.tables = []
        for place, rows in enumerate(sizes):
            self.add(rows, kind, persons)

    def add(self, rows, kind="parquet", persons=None):
        place = len(self.tables)
        table = frame(rows, place, persons)
        path = self.folder / f"part-{place}.{kind}"
        if kind == "parquet":
            pq.write_table(table, path, row_group_size=40)
        else:
            table.to_pandas().to_csv(path, index=False, header=False)
        os.utime(path, (1_700_000_000 + place, 1_700_000_000 + place))  # files come in this order
        self.tables.append(table)

    def job(self, how="stream", **stated):
        """What a driver is told about them."""
        return {"how": how, "rows": str(self.folder), "folder": str(self.place), **stated}


@pytest.fixture(scope="session", autouse=True)
def workplace():
    """Where a cluster of processes keeps its files: beside pyspark, whatever is stated."""
    import pyspark

    yield
    shutil.rmtree(Path(pyspark.__file__).parent / "work", ignore_errors=True)


@pytest.fixture
def run(tmp_path):
    """Starts a driver that learns one thing after the other, and gives what it told of each."""

    def begin(*jobs, dies=False, **stated):
        stated = {**stated, "package": PACKAGE, "jobs": list(jobs)}
        inherited = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
        done = subprocess.run(
            [sys.executable, str(HERE / "driver.py"), json.dumps(stated)], cwd=tmp_path,
            capture_output=True, text=True, timeout=1500,
            env={
                **inherited,
                "PYSPARK_PYTHON": sys.executable,
                "SPARK_LOCAL_IP": "127.0.0.1",
            },
        )
        text = done.stdout + done.stderr
        (tmp_path / "said").write_text(text)
        assert done.returncode == (-9 if dies else 0), text[-4000:]
        lines = done.stdout.splitlines()
        return [json.loads(line[5:]) for line in lines if line.startswith("told ")]

    return begin


def released(folder):
    """The releases so far by number of the batch; one that came again must be the same."""
    found = {}
    for line in (folder / "releases").read_text().splitlines():
        number, release, weights = json.loads(line)
        assert found.setdefault(number, (release, weights)) == (release, weights), "bit for bit"
    return [found[number] for number in sorted(found)]


def of_one_process(tables, batches=None, person=None, **more):
    """What one process releases that gets the same rows, a table at a time."""
    kind = hushstream.Regressor if "target_bounds" in more else hushstream.Classifier
    authority = hushstream.elsewhere.Authority(
        kind(**{**SETTINGS, **more}), ["a", "b"], target="y", person=person, batches=batches or len(tables)
    )
    released = []
    for number, table in enumerate(tables):
        spans = [(f"file-{number}", 0, len(table))]
        part = hushstream.elsewhere.partial(authority.question(), authority.reading, [table], spans)
        model = authority.commit("rows", number, [part]).release
        released.append((model.release, model.weights.tolist()))
    return released
