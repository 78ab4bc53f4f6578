"""What Spark costs: rows from Parquet, summed by hushstream on executors, and only added by numpy.

    target/spark/bin/python benches/spark.py PACKAGE ROWS (in thousands) [FEATURES]

PACKAGE is the folder of an installed release of the package. Seconds of processor time of all
processes that it starts, and of the clock, warm, for each: `read` brings the rows to Python and looks
at nothing, `numpy` adds columns, the names of recipes make the partial sums of one batch. What is
ours is what a recipe takes beyond `read`, the least of the turns of each: what else the machine does
can only add to them.
"""

import os
import pathlib
import resource
import sys
import tempfile
import time

import numpy as np


def used():
    """Processor seconds of this process and of those that it has started, as /proc tells."""
    tick = os.sysconf("SC_CLK_TCK")
    stats = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat") as file:
                    fields = file.read().rsplit(")", 1)[1].split()
            except OSError:
                continue
            stats[int(name)] = (int(fields[1]), sum(int(part) for part in fields[11:15]) / tick)
    mine, grown = {os.getpid()}, True
    while grown:
        more = {pid for pid, (parent, _) in stats.items() if parent in mine} - mine
        mine, grown = mine | more, bool(more)
    return sum(stats[pid][1] for pid in mine if pid in stats)


def main(package, thousands, features=54):
    sys.path.insert(0, package)
    import pyarrow as pa
    import pyarrow.parquet as pq

    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "python/tests_spark"))
    # Or workers would be of another Python, without pyarrow.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    from driver import session

    import hushstream
    from hushstream import elsewhere
    from hushstream.spark import partials, ship, with_positions

    rows, features = int(thousands) * 1000, int(features)
    place = tempfile.mkdtemp()
    draw = np.random.default_rng(0)
    for first in range(0, rows, 500_000):
        part, count = first // 500_000, min(rows - first, 500_000)
        columns = {f"x{k}": draw.uniform(-1, 1, count) for k in range(1, features + 1)}
        table = pa.table({**columns, "y": draw.integers(0, 2, count)})
        pq.write_table(table, f"{place}/{part}.parquet", compression="none")
    spark = session({"options": {"spark.sql.files.maxPartitionBytes": "128m"}})
    ship(spark)
    df = with_positions(spark.read.parquet(place))
    names = [f"x{k}" for k in range(1, features + 1)]

    def only(work):
        def job():
            return df.select(*names, "y").mapInArrow(work, "sums binary").collect()

        return job

    def read(batches):
        import pyarrow

        count = sum(batch.num_rows for batch in batches)
        yield pyarrow.RecordBatch.from_arrays([pyarrow.array([bytes(count % 2)])], ["sums"])

    def add(batches):
        import pyarrow

        total = 0.0
        for batch in batches:
            total = total + np.stack([column.to_numpy() for column in batch.columns]).sum(axis=1)
        yield pyarrow.RecordBatch.from_arrays([pyarrow.array([np.asarray(total).tobytes()])], ["sums"])

    ways = {"read": only(read), "numpy": only(add)}
    for recipe in ("pftal-convex", "pqftl"):
        learner = hushstream.Classifier(
            epsilon=1, delta=1e-6, bounds=(-1, 1), norm=1, recipe=recipe, batch=rows, seed_insecure=1
        )
        authority = elsewhere.Authority(learner, names, target="y", batches=2)
        question = authority.question()
        ways[recipe] = lambda q=question, r=authority.reading: partials(df, q, r)
    for job in ways.values():
        job()
    print(f"{rows} rows of {features} features; processor seconds (clock)")
    least = dict.fromkeys(ways, float("inf"))
    for _ in range(3):
        told = []
        for name, job in ways.items():
            before, clock = used(), time.monotonic()
            job()
            took, clock = used() - before, time.monotonic() - clock
            least[name] = min(least[name], took)
            told.append(f"{name} {took:.2f} ({clock:.2f})")
        print("  " + ", ".join(told), flush=True)
    millions = rows / 1e6
    print(f"processor seconds per million rows; load average {os.getloadavg()[0]:.1f}")
    for name, took in least.items():
        beyond = (took - least["read"]) / millions
        print(f"  {name}: {took / millions:.2f} in all, {beyond:.2f} beyond reading")
    # The same rows in this process, without Spark.
    batches = pq.read_table(place).to_batches(max_chunksize=10_000)
    for recipe in ("pftal-convex", "pqftl"):
        learner = hushstream.Classifier(
            epsilon=1, delta=1e-6, bounds=(-1, 1), norm=1, recipe=recipe, batch=rows, seed_insecure=1
        )
        authority = elsewhere.Authority(learner, names, target="y", batches=2)
        took = []
        for _ in range(3):
            before = resource.getrusage(resource.RUSAGE_SELF).ru_utime
            elsewhere.partial(authority.question(), authority.reading, batches, [("all", 0, rows)])
            took.append(resource.getrusage(resource.RUSAGE_SELF).ru_utime - before)
        print(f"  {recipe} in one process, without Spark: {min(took) / millions:.2f}")
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
