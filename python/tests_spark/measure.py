"""What Spark costs: rows from Parquet, summed by hushstream on executors, and only added by numpy.

    python measure.py PACKAGE ROWS (in thousands) [FEATURES]

Seconds of processor time of all processes that it starts, and of the clock, warm, for each:
`read` brings the rows to Python and looks at nothing, `numpy` adds columns, `hushstream` makes the
partial sums of one batch.
"""

import os
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
    from driver import session

    import hushstream
    from hushstream import elsewhere
    from hushstream.spark import partials, ship, with_positions

    rows, features = int(thousands) * 1000, int(features)
    place = tempfile.mkdtemp()
    draw = np.random.default_rng(0)
    for part in range(max(1, rows // 500_000)):
        count = min(rows, 500_000)
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
    for turn in range(3):
        told = []
        for name, job in ways.items():
            before, clock = used(), time.monotonic()
            job()
            told.append(f"{name} {used() - before:.2f} ({time.monotonic() - clock:.2f})")
        print("  " + ", ".join(told), flush=True)
    # The same rows in this process, without Spark.
    table = pq.read_table(place)
    for recipe in ("pftal-convex", "pqftl"):
        learner = hushstream.Classifier(
            epsilon=1, delta=1e-6, bounds=(-1, 1), norm=1, recipe=recipe, batch=rows, seed_insecure=1
        )
        authority = elsewhere.Authority(learner, names, target="y", batches=2)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_utime
        elsewhere.partial(authority.question(), authority.reading, [table], [("all", 0, rows)])
        told = resource.getrusage(resource.RUSAGE_SELF).ru_utime - before
        print(f"  in one process, {recipe}: {told:.2f}")
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
