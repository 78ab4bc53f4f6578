"""A driver that may be killed: learns from files with Spark, and writes down every release.

It is a program of its own, so that a test can kill it for good.
"""

import json
import os
import signal
import subprocess
import sys
import threading
import time

SETTINGS = dict(epsilon=4, delta=1e-6, bounds=(-1, 1), norm=1, seed_insecure=7)

TRACKED = dict(
    ticks=4, means={"a": (-1, 1)}, groups={"y": ["0", "1"]}, last=[2], epsilon=1, delta=1e-6, seed_insecure=7
)


def session(stated):
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(stated.get("master", "local-cluster[2,1,1024]"))
    options = {
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "3",
        "spark.default.parallelism": "3",
        "spark.python.worker.reuse": "true",
        "spark.sql.files.maxPartitionBytes": "8k",
        "spark.sql.files.openCostInBytes": "0",
        "spark.executor.heartbeatInterval": "5s",
        **stated.get("options", {}),
    }
    for name, value in options.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def kill_driver():
    os.kill(os.getpid(), signal.SIGKILL)


def kill_executor():
    """Kills one executor: a process of the operating system."""
    listed = subprocess.run(["ps", "-eo", "pid,ppid,args"], capture_output=True, text=True).stdout
    rows = [line.split(None, 2) for line in listed.splitlines()[1:]]
    mine, grown = {os.getpid()}, True
    while grown:
        more = {int(pid) for pid, parent, _ in rows if int(parent) in mine} - mine
        mine, grown = mine | more, bool(more)
    executors = [int(pid) for pid, _, said in rows if int(pid) in mine and "CoarseGrainedExecutorBackend" in said]
    os.kill(executors[0], signal.SIGKILL)
    print("killed an executor", flush=True)


def with_kills(stated):
    """Wraps the steps of a batch with the kill that is asked for."""
    from hushstream import elsewhere, spark

    what, _, batch = stated.get("kill", "").partition(":")
    commit, partials, worker = elsewhere.Authority.commit, spark.partials, spark._worker

    def committed(authority, source, number, parts, **more):
        is_chosen = parts and what and number == int(batch)
        if is_chosen and what == "before":
            kill_driver()
        taken = commit(authority, source, number, parts, **more)
        if is_chosen and what == "after":
            kill_driver()
        return taken

    elsewhere.Authority.commit = committed
    if what == "executor":
        done = []

        def killing(df, question, reading):
            if len(done) == int(batch):
                threading.Thread(target=lambda: (time.sleep(0.2), kill_executor())).start()
            done.append(1)
            return partials(df, question, reading)

        def slowly(question, reading, partition):
            work = worker(question, reading, partition)

            def slow(batches):
                import time

                time.sleep(1)
                yield from work(batches)

            return slow

        spark.partials, spark._worker = killing, slowly
    if what == "task":

        def failing(question, reading, partition):
            work = worker(question, reading, partition)

            def once(batches):
                from pyspark import TaskContext

                yield from work(batches)
                if TaskContext.get().attemptNumber() == 0:
                    raise RuntimeError("a task that fails once, after its sum was made")

            return once

        spark._worker = failing


def learn(spark, stated):
    """Learns from a folder of files, as it is stated."""
    import hushstream
    from hushstream.spark import SparkLearner, with_positions

    folder = stated["folder"]

    def write(model, number):
        with open(folder + "/releases", "a") as out:
            print(json.dumps([number, model.release, model.weights.tolist()]), file=out, flush=True)

    if stated["how"] == "guide":
        os.chdir(folder)
        named = {
            "spark": spark,
            "schema": hushstream.Schema(bounds={"a": (-1, 1), "b": (-1, 1)}),
            "columns": "a double, b double, late long",
            "publish": write,
        }
        exec(stated["piece"], named)
        named["query"].processAllAvailable()
        named["query"].stop()
        estimator = named["learner"].finish()
        return {"records": estimator.records_, "card": estimator.guarantee_._repr_html_()}
    more = stated.get("estimator", {})
    if stated["how"] == "track":
        # Every micro-batch is a tick.
        tracker = hushstream.Tracker(
            **{**TRACKED, **more}, state=folder + "/state", ledger=folder + "/ledger",
            resume=os.path.exists(folder + "/state/run.json"),
        )

        def keep(table, number):
            with open(folder + "/releases", "a") as out:
                print(json.dumps([number, table.tick, table._rows]), file=out, flush=True)

        learner = SparkLearner(tracker, on_release=keep, **stated.get("learner", {}))
        stream = spark.readStream.schema(stated["columns"]).option("maxFilesPerTrigger", 1)
        query = learner.start(
            stream.parquet(stated["rows"]), checkpoint=folder + "/checkpoint",
            trigger={"availableNow": True},
        )
        try:
            query.awaitTermination()
        finally:
            learner.finish()
        return {"ticks": tracker.ticks_}
    kind = hushstream.Regressor if "target_bounds" in more else hushstream.Classifier
    paths = {"state": folder + "/state", "ledger": folder + "/ledger"}
    estimator = kind(**{**SETTINGS, **more, **paths})
    learner = SparkLearner(
        estimator, target="y", batches=stated.get("batches"), on_release=write, **stated.get("learner", {})
    )
    form, columns = stated.get("format", "parquet"), stated.get("columns", "a double, b double, y long")
    if stated["how"] == "fit":
        learner.fit(spark.read.schema(columns).format(form).load(stated["rows"]))
    else:
        reader = spark.readStream.schema(columns).option("maxFilesPerTrigger", stated.get("files", 1))
        stream = reader.format(form).load(stated["rows"])
        if stated.get("where"):
            stream = with_positions(stream).where(stated["where"])
        query = learner.start(
            stream, checkpoint=folder + "/" + stated.get("checkpoint", "checkpoint"),
            trigger={"availableNow": True}, accept_new_source=stated.get("accept"),
        )
        try:
            query.awaitTermination()
        finally:
            learner.finish()
    return {"records": estimator.records_, "card": estimator.guarantee_._repr_html_()}


def main(stated):
    sys.path.insert(0, stated["package"])
    from hushstream.spark import ship

    spark = session(stated)
    ship(spark)
    with_kills(stated)
    for job in stated["jobs"]:
        try:
            told = learn(spark, job)
        except Exception as error:
            told = {"error": f"{type(error).__name__}: {error}"}
        print("told " + json.dumps(told), flush=True)
    spark.stop()


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
