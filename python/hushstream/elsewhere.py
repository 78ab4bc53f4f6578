"""Learning where the rows are: four functions on bytes, for clusters of any kind.

An :class:`Authority` holds the run, its key and its ledger, and draws the noise. Workers turn rows
into sums of integers; they hold no key, but they see rows. The protocol, and what is private in it,
is in ``docs/partial-sums.md``; ``hushstream.spark`` is built on this module.

>>> import numpy as np
>>> from hushstream import Classifier
>>> from hushstream.elsewhere import Authority, partial
>>> learner = Classifier(
...     epsilon=4, delta=1e-6, bounds=(-1, 1), norm=1, batch=100, seed_insecure=1
... )
>>> authority = Authority(learner, ["a", "b"], target="y", batches=3)
>>> draw = np.random.default_rng(0)
>>> for batch in range(3):
...     question = authority.question()  # public bytes, for any number of workers
...     parts = []
...     for worker in range(2):  # on other machines
...         rows = {"a": draw.uniform(-1, 1, 50), "b": np.zeros(50)}
...         rows["y"] = (rows["a"] > 0).astype(int)
...         first = batch * 100 + worker * 50
...         parts.append(partial(question, authority.reading, [rows], [("log", first, first + 50)]))
...     taken = authority.commit("clicks", batch, parts)
>>> taken.is_new, authority.commit("clicks", 2, []).is_new
(True, False)
>>> learner.predict([[0.9, 0.0], [-0.9, 0.0]]).tolist()
[1, 0]
"""

from __future__ import annotations

import base64
import os
import tempfile
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from hushstream import _input, _native
from hushstream._estimators import Classifier, Regressor, _item
from hushstream._model import Model, load_model
from hushstream.statistics import _ROW, Tracker

__all__ = ["Answer", "Authority", "Committed", "Reading", "Remote", "covered", "merge", "partial"]

# A partition, the position of its first row, and the position after its last one.
Span = tuple[str, int, int]


class Reading(NamedTuple):
    """How workers read rows: names and classes. Public, and small enough to travel with a question."""

    features: list[str]
    target: str | None
    classes: list[Any] | None
    person: str | None
    #: One column of arrays that holds all features, where rows come so.
    vector: str | None


class Committed(NamedTuple):
    """What became of a batch."""

    #: Whether it was taken now; otherwise it was taken before, and was not added again.
    is_new: bool
    #: The model, or the statistics, after the batch: the same every time. Nothing if later batches
    #: were taken.
    release: Any


class Authority:
    """Holds the run of an estimator, and takes each batch of partial sums exactly once.

    Parameters
    ----------
    estimator : a Classifier or Regressor with ``batch``, the most rows of one batch; or a Tracker,
        for which every batch is a tick. With ``state`` where batches must survive a crash.
    features : the columns that are learned from, in order; a Tracker knows its own.
    target, person : the other columns.
    batches : how many batches come; by default as many as ``rounds`` of the estimator allow.
    vector : one column of arrays that holds all features.
    resume : goes on with the run in ``state``; by default if there is one.
    """

    def __init__(
        self,
        estimator: Classifier | Regressor | Tracker,
        features: Iterable[str] = (),
        *,
        target: str | None = None,
        person: str | None = None,
        batches: int | None = None,
        vector: str | None = None,
        resume: bool | None = None,
    ) -> None:
        self.estimator = estimator
        if isinstance(estimator, Tracker):
            if (person is None) != (estimator._person is None):
                raise ValueError("persons need both: person= here, and max_per_person= of the Tracker")
            self.reading = Reading(list(estimator._names), None, None, person, None)
            self._run: Any = estimator._run
        else:
            self._open(estimator, [str(name) for name in features], target, person, batches, vector, resume)

    def _open(
        self,
        estimator: Any,
        names: list[str],
        target: str | None,
        person: str | None,
        batches: int | None,
        vector: str | None,
        resume: bool | None,
    ) -> None:
        if target is None:
            raise ValueError("state the column that is predicted: target=")
        most = estimator.batch
        if most is None:
            raise ValueError("state the most rows of a batch: batch= of the estimator")
        if (person is None) != (estimator.max_per_person is None):
            raise ValueError("persons need both: person= here, and max_per_person= of the estimator")
        if estimator.schema is None and estimator.bounds is None and estimator.norm is None:
            raise _native.HushstreamError(
                "what is known about the columns must be stated before any row is read: schema=, "
                "bounds= or norm= of the estimator"
            )
        if batches is not None:
            # A run of T rounds releases a model before each: one more, so that the last batch counts.
            rounds: int | None = int(batches) * int(most) + 1
        elif estimator.rounds is None:
            raise ValueError("state how many batches come: batches=, or rounds= of the estimator")
        else:
            rounds = None
        estimator._know_target(np.empty(0), None, may_look=False)
        columns = _input.Table(names, [], [None] * len(names), 0)
        schema = estimator._schema(columns, target, person is not None)
        named = schema["names"]
        if resume is None:
            resume = estimator.state is not None and _holds_run(estimator.state)
        run = estimator._open(
            {**schema, **estimator._target_facts()}, len(names), rounds=rounds, resume=resume or None
        )
        estimator.n_features_in_ = len(names)
        if vector is None:
            estimator.feature_names_in_ = np.asarray(names, dtype=object)
        estimator._has_person = person is not None
        estimator._elsewhere = True
        estimator._begin(run)
        classes = estimator.__dict__.get("classes_")
        self.reading = Reading(
            names,
            target,
            None if classes is None else [_item(label) for label in classes],
            person,
            vector,
        )
        self._run = run
        assert list(run.columns) == named

    def question(self) -> bytes:
        """The question that workers answer next: public bytes."""
        return self._run.question()

    @property
    def asks(self) -> bool:
        """Whether there is another question: not all planned batches have been taken."""
        return bool(self._run.asks)

    @property
    def delivered(self) -> tuple[str, int] | None:
        """The source and the number of the last batch that was taken."""
        return self._run.delivered

    def commit(
        self,
        source: str,
        batch: int,
        parts: Iterable[bytes],
        *,
        accept_new_source: Mapping[str, int] | None = None,
    ) -> Committed:
        """Takes a batch of a source, exactly once; everything is durable when it returns.

        The batch has the positions that its parts cover. One that came before is not added again.
        A gap, another source or another beginning is refused, because people would be counted twice
        or left out. ``accept_new_source`` states the first position of every partition that was
        never learned; **if it is wrong, the guarantee does not hold for those people**.
        """
        parts = list(parts)
        first = None if accept_new_source is None else dict(accept_new_source)
        delivery = (str(source), int(batch), covered(parts))
        is_new, told = self._run.commit(delivery, parts, first)
        if told is None:
            return Committed(is_new, None)
        if not isinstance(self.estimator, Tracker):
            return Committed(is_new, Model(told))
        release = self.estimator._read(told)
        if is_new or not self.estimator.releases_:
            self.estimator.releases_.append(release)
        return Committed(is_new, release)


class Remote:
    """An :class:`Authority` on a server: the run of a model that was made with ``elsewhere``.

    Key, ledger and journal are the server's (`hushstream serve`). Rows are read as the model's
    schema says; if it protects persons, the column of persons is ``person``. A new source is an
    operator's statement: ``Client.accept_source``.

    Parameters
    ----------
    client : a ``hushstream.client.Client`` with the token of a client.
    model : the name of the model.
    """

    def __init__(self, client: Any, model: str) -> None:
        self.client, self.model = client, model
        told = client.model(model)
        #: The most rows of a batch.
        self.batch = int(told["batch"])
        person = "person" if told["settings"].get("per_person") else None
        self._told = client.question(model)
        columns = _native.Worker(self.question()).columns if self.asks else []
        self.reading = Reading(list(columns), None, None, person, None)

    def question(self) -> bytes:
        """The question that workers answer next: public bytes."""
        self._told = self.client.question(self.model)
        if self._told["question"] is None:
            raise _native.HushstreamError("all planned batches were taken: nothing more is asked")
        return base64.b64decode(self._told["question"])

    @property
    def asks(self) -> bool:
        """Whether there is another question, when it was last asked."""
        return self._told["question"] is not None

    @property
    def delivered(self) -> tuple[str, int] | None:
        """The source and the number of the last batch that was taken."""
        self._told = self.client.question(self.model)
        last = self._told["delivered"]
        return None if last is None else (last["source"], last["batch"])

    def commit(
        self,
        source: str,
        batch: int,
        parts: Iterable[bytes],
        *,
        accept_new_source: Mapping[str, int] | None = None,
    ) -> Committed:
        """Takes a batch of a source, as :meth:`Authority.commit` does."""
        if accept_new_source is not None:
            raise ValueError("a statement about people is the operator's: Client.accept_source")
        taken = self.client.batch(self.model, source, batch, parts)
        if taken["version"] is None:
            return Committed(taken["is_new"], None)
        return Committed(taken["is_new"], self._published(taken["version"]))

    def _published(self, version: int) -> Model:
        file = self.client.policy_file(self.model, version)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model.json")
            with open(path, "w", encoding="utf-8") as out:
                out.write(file)
            return load_model(path)


def _holds_run(state: Any) -> bool:
    return os.path.isdir(state) and bool(os.listdir(state))


class Answer:
    """Adds rows to the answer to a question: on a worker, without key and without noise."""

    def __init__(self, question: bytes, reading: Reading) -> None:
        reading = Reading(*reading)
        self._worker = _native.Worker(question)
        self._reading = reading
        self._labels: Any = Regressor() if reading.classes is None else Classifier()
        if reading.classes is not None:
            self._labels.classes_ = np.asarray(reading.classes)

    def add(self, rows: Any) -> int:
        """Adds the rows of a frame, of an Arrow batch or of a dict of columns: how many."""
        reading = self._reading
        parts: list[np.ndarray] = []
        texts: list[list[str] | None] = []

        def put(part: np.ndarray, text: list[str] | None) -> None:
            parts.append(part)
            texts.append(text)

        if reading.vector is not None:
            parts.append(_vectors(rows[reading.vector], len(reading.features)))
            texts.extend([None] * len(reading.features))
        else:
            # Once for all columns: asking a batch for its names costs as much as adding its rows.
            names = set(_names(rows))
            for name in reading.features:
                put(*(_input.column(rows[name]) if name in names else _nothing(rows, name)))
        if reading.target is not None:
            y = self._labels._target(rows[reading.target])
            put(*self._labels._coded(y, strictly=False))
        if reading.person is not None and reading.person not in reading.features:
            put(*_input.column(rows[reading.person]))
        count = len(parts[0]) if parts else 0
        if count:
            self._worker.add(parts, texts)
        return count

    def finish(self, spans: Iterable[Span]) -> bytes:
        """The partial sum, **as private as the rows**, which came from these positions."""
        return self._worker.finish([(str(name), int(start), int(end)) for name, start, end in spans])


def _names(rows: Any) -> list[str]:
    return list(rows) if isinstance(rows, Mapping) else _input.feature_names(rows) or []


def _nothing(rows: Any, name: str) -> tuple[np.ndarray, None]:
    """A column that is not read: that of a Tracker which counts rows, and asks nothing else."""
    if name != _ROW:
        raise KeyError(f"the rows have no column {name!r}")
    first = next(iter(rows.values())) if isinstance(rows, Mapping) else rows
    return np.zeros(len(first)), None


def _vectors(column: Any, width: int) -> np.ndarray:
    """Rows of a column of arrays; rows of another length have no value."""
    if hasattr(column, "chunks"):
        column = column.combine_chunks()
    if hasattr(column, "flatten") and hasattr(column, "offsets") and column.null_count == 0:
        values = column.flatten()
        if len(values) == len(column) * width and values.null_count == 0:
            lengths = np.diff(column.offsets.to_numpy(zero_copy_only=False))
            if (lengths == width).all():
                flat = values.to_numpy(zero_copy_only=False).astype(np.float64, copy=False)
                return flat.reshape(len(column), width)
    rows = np.full((len(column), width), np.nan)
    listed = column.to_pylist() if hasattr(column, "to_pylist") else list(column)
    for place, row in enumerate(listed):
        if row is not None and len(row) == width:
            rows[place] = [np.nan if value is None else value for value in row]
    return rows


def partial(
    question: bytes, reading: Reading, batches: Iterable[Any], spans: Iterable[Span]
) -> bytes:
    """The partial sum of rows, **as private as they are**, which came from these positions."""
    answer = Answer(question, reading)
    for rows in batches:
        answer.add(rows)
    return answer.finish(spans)


def merge(question: bytes, parts: Iterable[bytes]) -> bytes:
    """Adds up partial sums of one batch, on the way to the authority: as private as the rows."""
    return _native.merge(question, list(parts))


def covered(parts: Iterable[bytes]) -> list[Span]:
    """The positions that partial sums cover; an error if one is covered twice."""
    return _native.covered(list(parts))
