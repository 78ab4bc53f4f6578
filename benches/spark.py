"""What Spark costs: rows from Parquet, summed by hushstream on executors, and only added by numpy.

    target/spark/bin/python benches/spark.py PACKAGE ROWS (in thousands) [FEATURES]

PACKAGE is the folder of an installed release of the package. Seconds of processor time of all
processes that it starts, and of the clock, warm, for each: `rows` brings the rows to Python and looks
at nothing, `positions` brings where each row stands in its file as well, `numpy` adds columns, the
names of recipes make the partial sums of one batch, for which positions are needed. The least of the
turns of each counts: what else the machine does can only add to them. Differences of two such jobs are
small beside what Spark itself varies by, so the seconds that executors spend in our code are counted
there too, without those in which they wait for Spark's next batch of rows.
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
    from hushstream.spark import _END, _FILE, _START, _worker, partials, ship, with_positions

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

    def timed(question, reading):
        """Processor seconds of all executors in our code."""
        work = _worker(question, reading, _FILE)

        def job(batches):
            import time

            import pyarrow

            waited = 0.0

            def given():
                nonlocal waited
                batches_left = iter(batches)
                while True:
                    before = time.process_time()
                    batch = next(batches_left, None)
                    waited += time.process_time() - before
                    if batch is None:
                        return
                    yield batch

            before = time.process_time()
            list(work(given()))
            spent = time.process_time() - before - waited
            yield pyarrow.RecordBatch.from_arrays([pyarrow.array([spent])], ["spent"])

        needed = df.select(*names, "y", _FILE, _START, _END)
        return sum(row[0] for row in needed.mapInArrow(job, "spent double").collect())

    rows_alone = df.select(*names, "y")

    def only(rows, work):
        return lambda: rows.mapInArrow(work, "sums binary").collect()

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

    ways = {"rows": only(rows_alone, read), "positions": only(df, read), "numpy": only(rows_alone, add)}
    authorities = {}
    for recipe in ("pftal-convex", "pqftl"):
        learner = hushstream.Classifier(
            epsilon=1, delta=1e-6, bounds=(-1, 1), norm=1, recipe=recipe, batch=rows, seed_insecure=1
        )
        authorities[recipe] = elsewhere.Authority(learner, names, target="y", batches=2)
        asked = authorities[recipe].question(), authorities[recipe].reading
        ways[recipe] = lambda asked=asked: partials(df, *asked)
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
        beyond = (took - least["positions"]) / millions
        print(f"  {name}: {took / millions:.2f} in all, {beyond:.2f} beyond rows with positions")
    for recipe, authority in authorities.items():
        own = min(timed(authority.question(), authority.reading) for _ in range(2)) / millions
        print(f"  {recipe}: {own:.2f} in our own code on executors")
    # The same rows in this process, without Spark.
    batches = pq.read_table(place).to_batches(max_chunksize=10_000)
    for recipe, authority in authorities.items():
        took = []
        for _ in range(3):
            before = resource.getrusage(resource.RUSAGE_SELF).ru_utime
            elsewhere.partial(authority.question(), authority.reading, batches, [("all", 0, rows)])
            took.append(resource.getrusage(resource.RUSAGE_SELF).ru_utime - before)
        print(f"  {recipe} in one process, without Spark: {min(took) / millions:.2f}")
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
