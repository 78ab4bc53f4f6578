"""Learning where the rows are: Apache Spark makes the sums, and the driver draws the noise.

Executors turn rows into sums of integers (``mapInArrow``) and send those back. The driver holds the
run, its key, its journal and its ledger, and takes every batch exactly once: by the id of the query,
by the number of the batch and by the positions of its rows. So tasks may be tried again or run twice,
and executors and the driver may die at any time; the releases are those of one process, bit for bit.

What is promised is about what is *published*: executors, their disks and their connections see rows
and sums of rows. Use Spark's encryption (``spark.network.crypto.enabled``,
``spark.io.encryption.enabled``).

Any version of pyspark with ``mapInArrow`` will do (3.3 or later); nothing is pinned.
"""

from __future__ import annotations

import atexit
import hashlib
import json
import os
import shutil
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from hushstream import _native
from hushstream._model import Model
from hushstream.elsewhere import Authority, Committed, Reading, Remote, Span, covered
from hushstream.statistics import Tracker

__all__ = ["SparkLearner", "partials", "ship", "with_positions"]

# Columns of positions: the number of the file, or of the partition of a log; the position of the row,
# and the one after it. Rows of a block of bytes share theirs.
_FILE, _LOG, _START, _END = "_hush_file", "_hush_log", "_hush_start", "_hush_end"
_ARCHIVE = "hushstream_package"
# Applications that have this package.
_SHIPPED: set[str] = set()


def with_positions(df: Any, partition: str | None = None, offset: str | None = None) -> Any:
    """The same rows with their positions in the source, which are public.

    Files have them: the row in a Parquet file, the block of bytes in others. For a log, name the
    columns of the ``partition`` and the ``offset``. Call it on the source, before anything else is
    done with its rows; :class:`SparkLearner` does it itself where the source is still in reach.
    """
    from pyspark.sql import functions as F

    if offset is not None:
        name = F.lit(0) if partition is None else F.col(partition)
        start = F.col(offset).cast("long")
        return df.select("*", _number(name).alias(_LOG), start.alias(_START), (start + 1).alias(_END))
    path = _number(F.col("_metadata.file_path"))
    row, block = F.col("_metadata.row_index"), F.col("_metadata.file_block_start")
    ways = [
        (row, row + 1),
        (block, block + F.col("_metadata.file_block_length")),
    ]
    for start, end in ways:
        try:
            return df.select(
                "*", path.alias(_FILE), start.cast("long").alias(_START), end.cast("long").alias(_END)
            )
        except Exception as error:  # each version of Spark has a class of its own for this
            if "Analysis" not in type(error).__name__:
                raise
    raise _native.HushstreamError(
        "rows of this source have no positions, so nobody could tell whether a person is counted "
        "twice. Use files, or state the columns of the partition and the offset: "
        "with_positions(df, partition=..., offset=...), before other steps"
    )


def _number(name: Any) -> Any:
    from pyspark.sql import functions as F

    return F.xxhash64(name.cast("string"))


def _partition(df: Any) -> str | None:
    """The column of partitions, if the rows have positions."""
    return next((name for name in (_FILE, _LOG) if name in df.columns), None)


def partition_name(number: int) -> str:
    """The name of a partition in messages, from its number in the column of partitions."""
    return f"{number & (2**64 - 1):016x}"


class _Places:
    """Positions of rows, joined to ranges."""

    def __init__(self) -> None:
        self.rows: dict[int, list[tuple[int, int]]] = {}
        self.blocks: set[tuple[int, int, int]] = set()

    def add(self, partition: np.ndarray, start: np.ndarray, end: np.ndarray) -> None:
        if not len(start):
            return
        if not all(np.issubdtype(part.dtype, np.integer) for part in (partition, start, end)):
            raise _native.HushstreamError("rows without a position: every row needs one")
        if (end - start != 1).any():
            stacked = np.unique(np.stack([partition, start, end]), axis=1)
            self.blocks.update(map(tuple, stacked.T.tolist()))
            return
        if partition[0] != partition[-1] or start[-1] - start[0] + 1 != len(start):
            order = np.lexsort((start, partition))
            partition, start = partition[order], start[order]
        breaks = (np.diff(partition) != 0) | (np.diff(start) != 1)
        firsts = np.concatenate([[0], np.flatnonzero(breaks) + 1])
        lasts = np.concatenate([np.flatnonzero(breaks), [len(start) - 1]])
        for first, last in zip(firsts.tolist(), lasts.tolist()):
            runs = self.rows.setdefault(int(partition[first]), [])
            begin, stop = int(start[first]), int(start[last]) + 1
            if runs and runs[-1][1] == begin:
                runs[-1] = (runs[-1][0], stop)
            else:
                runs.append((begin, stop))

    def spans(self) -> list[Span]:
        spans = [(partition_name(p), start, end) for p, runs in self.rows.items() for start, end in runs]
        return spans + [(partition_name(p), start, end) for p, start, end in sorted(self.blocks)]


def _worker(question: bytes, reading: Reading, partition: str) -> Callable[[Iterable[Any]], Iterable[Any]]:
    """The function that executors run. It travels by value: they need not know this module before."""
    stated, columns, archive = tuple(reading), (partition, _START, _END), _ARCHIVE

    def work(batches: Iterable[Any]) -> Iterable[Any]:
        import os
        import sys

        import pyarrow

        # Errors of other libraries may quote values: only places leave an executor.
        problem, rows, answer = None, 0, b""
        try:
            try:
                import hushstream.elsewhere
            except ImportError:
                from pyspark import SparkFiles

                sys.path.insert(0, os.path.abspath(SparkFiles.get(archive)))
                import hushstream.elsewhere
            from hushstream.spark import _Places

            sums = hushstream.elsewhere.Answer(question, hushstream.elsewhere.Reading(*stated))
            places = _Places()
            for batch in batches:
                found = {name: batch.column(i) for i, name in enumerate(batch.schema.names)}
                sums.add(found)
                places.add(*(found[name].to_numpy(zero_copy_only=False) for name in columns))
                rows += batch.num_rows
            answer = sums.finish(places.spans())
        except ImportError as error:
            problem = (
                f"an executor cannot import {error.name or 'the package'}: install hushstream where "
                "Python of the executors finds it, or call hushstream.spark.ship(spark) before"
            )
        except Exception as error:
            kind = type(error).__name__
            problem = str(error) if kind in ("HushstreamError", "BudgetExceeded") else kind
            problem += f" (after {rows} rows of this task; no value is shown)"
        if problem is not None:
            raise RuntimeError("hushstream: " + problem)
        parts = pyarrow.array([answer], pyarrow.binary())
        yield pyarrow.RecordBatch.from_arrays([parts], ["partial"])

    return work


def partials(df: Any, question: bytes, reading: Reading) -> list[bytes]:
    """The partial sums of a DataFrame with positions, one of every task: **as private as its rows**.

    Only what tasks return counts: one result for each part of the data, however often it was tried.
    """
    partition = _partition(df)
    if partition is None:
        raise ValueError("rows without positions: with_positions(df)")
    given = [reading.vector] if reading.vector else [n for n in reading.features if n in df.columns]
    more = [name for name in (reading.target, reading.person) if name is not None]
    needed = dict.fromkeys([*given, *more])
    rows = df.select(*(f"`{name}`" for name in needed), partition, _START, _END)
    if reading.person is not None:
        # All rows of a person meet in one task, and the first of them counts.
        rows = rows.repartition(f"`{reading.person}`").sortWithinPartitions(partition, _START)
    answers = rows.mapInArrow(_worker(question, reading, partition), "partial binary").collect()
    return [bytes(answer[0]) for answer in answers]


class _Batch(NamedTuple):
    """Rows of a table at rest that are learned at once: partition, first and end."""

    ranges: list[tuple[int, int, int]]


class SparkLearner:
    """An estimator that learns from Spark's DataFrames and streams.

    Parameters
    ----------
    estimator : a Classifier or Regressor. It needs ``batch``, the most rows of a batch; ``ledger``;
        and ``state``, a secret folder on the driver's own disk, never beside Spark's checkpoint. Or
        a Tracker: every micro-batch is a tick. Or a :class:`~hushstream.elsewhere.Remote`: then a
        server holds the run, and its schema names the columns.
    target : the column of the target.
    features : the columns to learn from, by default all others; or one column of arrays, with
        ``dim``, their length.
    person : the column that tells persons apart, with ``max_per_person`` and ``min_separation`` of the
        estimator.
    batches : how many batches will come; ``fit`` counts them.
    on_release : is called with the model, or the statistics, after every batch, and with the number
        of the batch. After a crash it may be called again with the same release.

    The driver must be one process at a time, and executors need this package: installed, or by
    :func:`ship`.
    """

    def __init__(
        self,
        estimator: Any,
        *,
        target: str | None = None,
        features: Iterable[str] | str | None = None,
        dim: int | None = None,
        person: str | None = None,
        batches: int | None = None,
        on_release: Callable[[Any, int], Any] | None = None,
    ) -> None:
        if isinstance(features, str) and dim is None:
            raise ValueError("one column of arrays needs their length: dim=")
        self.estimator = estimator
        self.target = target
        self.features = features if isinstance(features, str) or features is None else list(features)
        self.dim = dim
        self.person = person
        self.batches = batches
        self.on_release = on_release
        self._authority: Authority | Remote | None = None

    def _open(self, df: Any, batches: int | None) -> Authority | Remote:
        if self._authority is not None:
            raise _native.HushstreamError("this learner has begun: make another, with its own estimator")
        if isinstance(self.estimator, Remote):
            self._authority = self.estimator
            return self._authority
        if isinstance(self.estimator, Tracker):
            self._authority = Authority(self.estimator, person=self.person)
            return self._authority
        others = {self.target, self.person, _partition(df), _START, _END}
        vector = self.features if isinstance(self.features, str) else None
        names = self.features or [name for name in df.columns if name not in others]
        if vector is not None:
            names = [f"x{place}" for place in range(1, int(self.dim or 0) + 1)]
        missing = {vector or "", *([] if vector else names), *others} - {None, "", *df.columns}
        if missing:
            raise ValueError(f"the DataFrame has no column {sorted(missing)[0]!r}")
        self._authority = Authority(
            self.estimator, names, target=self.target, person=self.person, batches=batches, vector=vector
        )
        return self._authority

    def _take(
        self,
        df: Any,
        source: str,
        number: int,
        planned: list[Span] | None,
        accept: Mapping[str, int] | None,
    ) -> Committed:
        """Learns one batch, unless it was taken before."""
        authority = self._authority
        assert authority is not None
        last = authority.delivered
        if last is not None and last[0] == source and number <= last[1]:
            if number < last[1] and planned is None:
                warnings.warn(
                    f"batch {number} comes again, and batch {last[1]} is learned: the checkpoint was "
                    "restored from an old copy. Nobody is counted twice, but batches that are cut anew "
                    "may leave people out",
                    stacklevel=2,
                )
            taken = authority.commit(source, number, [])
        else:
            question = authority.question()
            parts = partials(df, question, authority.reading)
            # Positions between rows that no row has: rows that were left out before, or the rest of
            # a block. Nobody's record is there. And a batch of nobody says so, by a part without any.
            empty = _between(covered(parts), planned, from_zero=_FILE in df.columns)
            if empty or not parts:
                worker = _native.Worker(question)
                parts.append(worker.finish(empty))
            taken = authority.commit(source, number, parts, accept_new_source=accept)
        if taken.release is not None and self.on_release is not None:
            self.on_release(taken.release, number)
        return taken

    # A table at rest.

    def fit(self, df: Any, *, accept_new_source: Mapping[str, int] | None = None) -> Any:
        """Learns from every row of a DataFrame at rest, once, and gives the estimator.

        Rows are cut into batches by their positions. After a crash the same call goes on behind the
        last batch that was taken, on the same files.
        """
        from pyspark.sql import functions as F

        df = df if _partition(df) else with_positions(df)
        most = getattr(self.estimator, "batch", None)
        if isinstance(self.estimator, Tracker):
            raise ValueError("a Tracker has ticks: give it a stream, start()")
        if most is None:
            raise ValueError("state the most rows of a batch: batch= of the estimator")
        partition = _partition(df)
        by_block = F.when(F.col(_END) - F.col(_START) == 1, F.lit(-1)).otherwise(F.col(_START))
        counted = (
            df.groupBy(partition, by_block.alias("block"))
            .agg(F.min(_START), F.max(_END), F.count(F.lit(1)))
            .collect()
        )
        units = sorted((p, low, high, rows, block >= 0) for p, block, low, high, rows in counted)
        batches = _cut(units, int(most))
        # The same files in the same parts are the same source.
        digest = hashlib.sha256(repr([batch.ranges for batch in batches]).encode()).hexdigest()
        source = f"table-{digest[:32]}"
        authority = self._open(df, self.batches or max(1, len(batches)))
        for number, batch in enumerate(batches):
            last = authority.delivered
            if last is not None and last[0] == source and number < last[1]:
                continue
            planned = [(partition_name(p), low, high) for p, low, high in batch.ranges]
            part = df.where(_within(batch, partition))
            self._take(part, source, number, planned, accept_new_source)
        self.finish()
        return self.estimator

    def finish(self) -> Any:
        """Ends the run: the estimator keeps the last model, and its ledger and state are free."""
        estimator = self.estimator
        if isinstance(estimator, Remote):
            return estimator
        if isinstance(estimator, Tracker):
            estimator.close()
            return estimator
        model = Model(estimator._run.model())
        outcome = json.loads(estimator._run.finish())
        estimator._run = None
        estimator._finish(model, outcome)
        return estimator

    # A stream.

    def start(
        self,
        stream: Any,
        *,
        checkpoint: str,
        trigger: Mapping[str, Any] | None = None,
        accept_new_source: Mapping[str, int] | None = None,
    ) -> Any:
        """Learns from a stream, one release for every micro-batch, and gives Spark's query.

        ``checkpoint`` is Spark's own folder, and must be kept: a new one reads everybody again, and
        is refused. Bound micro-batches by rows, files or offsets (``maxFilesPerTrigger``,
        ``maxOffsetsPerTrigger``), never by what rows hold: no watermark on their own times, no
        ``maxBytesPerTrigger``. An empty micro-batch is a batch too. The same call goes on after a
        crash, with the run in ``state``.
        """
        if not getattr(stream, "isStreaming", False):
            raise ValueError("start() takes a stream: spark.readStream; a DataFrame at rest is for fit()")
        if not isinstance(self.estimator, (Remote, Tracker)) and self.estimator.state is None:
            raise ValueError("a stream needs state=, a folder on the driver's disk: it outlives a crash")
        if "connect" in type(stream).__module__:
            raise ValueError("streams need the driver's own process, not Spark Connect")
        stream = stream if _partition(stream) else with_positions(stream)
        self._open(stream, self.batches)
        named, names = threading.Event(), []

        def take(df: Any, number: int) -> None:
            named.wait()
            self._take(df, names[0], int(number), None, accept_new_source)

        writer = stream.writeStream.foreachBatch(take).option("checkpointLocation", checkpoint)
        if trigger is not None:
            writer = writer.trigger(**trigger)
        query = writer.start()
        names.append(str(query.id))
        named.set()
        return query


def _between(spans: list[Span], planned: list[Span] | None, *, from_zero: bool) -> list[Span]:
    """The positions that no row has, within a plan or up to the last row of every partition."""
    found: dict[str, list[tuple[int, int]]] = {}
    for name, start, end in spans:
        found.setdefault(name, []).append((start, end))
    if planned is None:
        wanted = [
            (name, 0 if from_zero else runs[0][0], max(end for _, end in runs))
            for name, runs in found.items()
        ]
    else:
        wanted = planned
    empty = []
    for name, start, end in wanted:
        at = start
        for low, high in sorted(found.get(name, [])):
            if low >= end or high <= at:
                continue
            if low > at:
                empty.append((name, at, low))
            at = max(at, high)
        if at < end:
            empty.append((name, at, end))
    return empty


def _cut(units: list[tuple[int, int, int, int, bool]], most: int) -> list[_Batch]:
    """Batches of at most so many rows, from (partition, low, high, rows, whether it is a block)."""
    batches: list[_Batch] = []
    ranges: list[tuple[int, int, int]] = []
    room = most
    ends: dict[int, int] = {}  # where each partition ended; it begins at 0, and holds nobody before
    for partition, low, high, rows, is_block in units:
        if is_block and rows > most:
            raise _native.HushstreamError(
                f"a block of a file holds {rows} rows, and a batch at most {most}: state a larger "
                "batch=, or smaller blocks: spark.sql.files.maxPartitionBytes"
            )
        first, at = ends.get(partition, 0), low
        while at < high:
            if room < (rows if is_block else 1):
                batches.append(_Batch(ranges))
                ranges, room = [], most
            stop = high if is_block else min(high, at + room)
            ranges.append((partition, first, stop))
            room -= rows if is_block else stop - at
            first = at = stop
        ends[partition] = high
    if ranges:
        batches.append(_Batch(ranges))
    return batches


def _within(batch: _Batch, partition: str) -> Any:
    """The condition for the rows of a batch."""
    from functools import reduce

    from pyspark.sql import functions as F

    by_partition: dict[int, list[tuple[int, int]]] = {}
    for number, low, high in batch.ranges:
        by_partition.setdefault(number, []).append((low, high))
    inside = [
        (F.col(partition) == p) & (F.col(_START) >= runs[0][0]) & (F.col(_START) < runs[-1][1])
        for p, runs in by_partition.items()
    ]
    return reduce(lambda one, other: one | other, inside)


def ship(spark: Any) -> None:
    """Gives executors this package, where it is not installed; they need numpy and pyarrow."""
    import hushstream

    # Spark takes a file of one name once.
    if spark.sparkContext.applicationId in _SHIPPED:
        return
    folder = os.path.dirname(os.path.abspath(hushstream.__file__))
    # Executors fetch it when they begin, and they may begin at any time.
    place = tempfile.mkdtemp(prefix="hushstream-")
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    copy = os.path.join(place, "package", "hushstream")
    shutil.copytree(folder, copy, ignore=shutil.ignore_patterns("__pycache__"))
    archive = shutil.make_archive(os.path.join(place, "hushstream"), "zip", os.path.dirname(copy))
    spark.sparkContext.addArchive(f"{archive}#{_ARCHIVE}")
    _SHIPPED.add(spark.sparkContext.applicationId)
