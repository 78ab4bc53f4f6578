"""Classifiers and regressors with the verbs of scikit-learn and of River.

They inherit from nothing: scikit-learn is imported only where it is in use already.
"""

from __future__ import annotations

import inspect
import json
import sys
import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np

from hushstream import _input, _native
from hushstream._model import Model
from hushstream._told import Guarantee, OperatorOnly
from hushstream.ledger import Ledger
from hushstream.schema import Schema

__all__ = ["Classifier", "Regressor"]


class NotFitted(ValueError, AttributeError):
    """The estimator has learned nothing yet."""


def _of_sklearn(module: str, name: str, other: type) -> Any:
    """A class of scikit-learn where a program uses it, or else our own."""
    if "sklearn" not in sys.modules:
        return other
    try:
        return getattr(__import__(module, fromlist=[name]), name)
    except (ImportError, AttributeError):
        return other


def described(
    names: list[str],
    schema: Schema | None,
    bounds: Any,
    norm: float | None,
) -> dict[str, Any]:
    """The public facts about these columns."""
    if schema is not None and not isinstance(schema, Schema):
        raise TypeError("schema= takes a Schema, or nothing")
    stated = schema.described() if schema is not None else {}
    if norm is not None:
        norm = float(norm)
        if not norm > 0:
            raise ValueError(f"norm={norm} is not allowed; allowed: a positive number")
        if schema is None and bounds is None:
            # Numbers as they are: each lies within the length of the record.
            return {"bounds": {"*": [-norm, norm]}, "norm": 1.0}
        stated["norm"] = norm
    if bounds is not None:
        stated["bounds"] = {**stated.get("bounds", {}), **_bounds(names, bounds)}
    return stated


def _bounds(names: list[str], bounds: Any) -> dict[str, list[float]]:
    if isinstance(bounds, dict):
        return Schema(bounds=bounds).described().get("bounds", {})
    pairs = np.asarray(bounds, dtype=np.float64)
    if pairs.shape == (2,):
        return {"*": pairs.tolist()}
    if pairs.shape == (len(names), 2):
        return dict(zip(names, pairs.tolist()))
    raise ValueError(
        f"bounds are one pair (smallest, largest), a pair for each of the {len(names)} columns, or "
        "a dict of pairs by column"
    )


def facts_of(X: _input.Table) -> dict[str, Any]:
    """Bounds and categories from the data itself: only for simulated noise."""
    bounds: dict[str, list[float]] = {}
    vocabulary: dict[str, list[str]] = {}
    place = 0
    for part in X.parts:
        for column in part[:, None].T if part.ndim == 1 else part.T:
            name, texts = X.names[place], X.texts[place]
            if texts is not None:
                vocabulary[name] = sorted(texts) or ["none"]
            else:
                known = column[np.isfinite(column)]
                low, high = (known.min(), known.max()) if len(known) else (-1.0, 1.0)
                if not high > low or not np.isfinite(high - low):
                    low, high = low - max(0.5, abs(low) / 2), low + max(0.5, abs(low) / 2)
                bounds[name] = [float(low), float(high)]
            place += 1
    return {"bounds": bounds, "vocabulary": vocabulary}


class _Estimator:
    """What both estimators share."""

    _run: Any = None
    _model: Model | None = None
    _is_copy = False
    _task = ""
    epsilon: float | None
    delta: float
    schema: Schema | None
    bounds: Any
    norm: float | None
    rounds: int | str | None
    ledger: Any
    state: Any
    every_release: bool
    progress: bool
    seed_insecure: int | None

    def _know_target(self, y: np.ndarray, classes: Any, *, may_look: bool = True) -> None:
        raise NotImplementedError

    def _target_facts(self) -> dict[str, Any]:
        raise NotImplementedError

    def _coded(self, y: np.ndarray, *, strictly: bool) -> tuple[np.ndarray, list[str] | None]:
        raise NotImplementedError

    # Parameters, as scikit-learn has them.

    @classmethod
    def _parameters(cls) -> list[str]:
        return [name for name in inspect.signature(cls.__init__).parameters if name != "self"]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name."""
        return {name: getattr(self, name) for name in self._parameters()}

    def set_params(self, **parameters: Any) -> Any:
        """Sets parameters by name."""
        known = self._parameters()
        for name, value in parameters.items():
            if name not in known:
                raise ValueError(
                    f"Invalid parameter {name!r} for estimator {self!r}. Valid parameters are: "
                    f"{sorted(known)!r}."
                )
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        defaults = inspect.signature(type(self).__init__).parameters
        changed = {
            name: value
            for name, value in self.get_params().items()
            if value is not defaults[name].default and repr(value) != repr(defaults[name].default)
        }
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in changed.items())})"

    def __sklearn_is_fitted__(self) -> bool:
        return self._run is not None or self._model is not None

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import InputTags, Tags, TargetTags

        tags = Tags(
            estimator_type=None,
            target_tags=TargetTags(required=True),
            input_tags=InputTags(sparse=True, allow_nan=True),
        )
        tags.non_deterministic = self.seed_insecure is None
        return tags

    # The description of a run.

    def _settings(self, schema: dict[str, Any], **more: Any) -> str:
        named = ("recipe", "sum")
        settings: dict[str, Any] = {
            name: getattr(self, name)
            for name in (
                "epsilon delta adjacency batch loss noise radius learning_rate ridge tables passes "
                "max_per_person min_separation window quiet"
            ).split()
        }
        settings.update({name: getattr(self, name) for name in named if getattr(self, name) != "auto"})
        settings["loss"] = None if settings["loss"] in (None, "auto") else str(settings["loss"])
        settings["schema"] = schema
        if self.rounds == "unknown":
            settings["horizon_unknown"] = True
        elif self.rounds is not None:
            settings["rounds"] = int(self.rounds)
        if self.seed_insecure is not None:
            settings["seed_insecure"] = int(self.seed_insecure)
        settings.update(ledger_settings(self.ledger))
        if self.state is not None:
            settings["state"] = str(self.state)
        settings["every"] = bool(self.every_release)
        settings.update({name: value for name, value in more.items() if value is not None})
        return json.dumps(settings, default=_plain)

    def _open(self, schema: dict[str, Any], features: int, **more: Any) -> Any:
        return _native.Run(self._settings(schema, **more), features, self._two_names())

    def _two_names(self) -> list[str] | None:
        return None

    def _schema(self, X: _input.Table, target: str, has_person: bool) -> dict[str, Any]:
        """The schema of the columns, and of the target after them."""
        stated = described(X.names, self.schema, self.bounds, self.norm)
        self._from_data = self._elsewhere = False
        if self.seed_insecure is not None and self.schema is None and self.bounds is None:
            if self.norm is None:
                stated = {**facts_of(X), **stated}
                self._from_data = True
        elif self.schema is None and self.bounds is None and self.norm is None:
            raise _native.HushstreamError(
                "what is known about the columns must be stated, because what is read from the data "
                "is somebody's: schema=Schema(bounds={...}, vocabulary={...}), or bounds=(LOW, HIGH) "
                "for all columns, or norm= for a linear model"
            )
        stated["target"] = target
        stated["names"] = [*X.names, target]
        stated["no_header"] = False
        if has_person:
            stated["person"] = _unused("person", stated["names"])
            stated["names"].append(stated["person"])
        return stated

    # Input.

    def _read(self, X: Any, y: Any, person: Any, *, is_first: bool) -> tuple[Any, Any, Any, str]:
        """The columns, the target and the person of some rows, and the target's name."""
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None"
            )
        X, target = _input.frame(X), "y"
        self._taken: list[str] = []
        if isinstance(y, str) or isinstance(person, str):
            if not _input.is_frame(X):
                raise ValueError("a target or a person by name is for a DataFrame")
            taken = [name for name in (y, person) if isinstance(name, str)]
            for name in taken:
                if name not in list(getattr(X, "column_names", None) or X.columns):
                    raise ValueError(f"the DataFrame has no column {name!r}")
            if isinstance(y, str):
                target, y = y, X[y]
            if isinstance(person, str):
                person = X[person]
            X = _without(X, taken)
            self._taken = taken
        elif isinstance(getattr(y, "name", None), str) and y.name:
            target = y.name
        name = type(self).__name__
        if is_first:
            known = _input.feature_names(X)
            if known is not None:
                self.feature_names_in_ = np.asarray(known, dtype=object)
            elif "feature_names_in_" in self.__dict__:
                del self.feature_names_in_
        if _input.is_sparse(X):
            read: Any = _input.sparse(X)
            rows, width = read.shape
        else:
            read = _input.table(X, estimator=name)
            rows, width = read.rows, len(read.names)
            if is_first:
                target = _unused(target, read.names)
        if is_first:
            self.n_features_in_ = width
        else:
            self._same_features(X, width)
        y = self._target(y)
        if len(y) != rows:
            raise ValueError(
                f"Found input variables with inconsistent numbers of samples: [{rows}, {len(y)}]"
            )
        if person is not None:
            person, texts = _input.column(person)
            if len(person) != rows:
                raise ValueError("person has another number of rows than X")
            person = (person, texts)
        return read, y, person, target

    def _same_features(self, X: Any, width: int) -> None:
        """Refuses other columns than those that the model knows, in scikit-learn's words."""
        names = _input.feature_names(X)
        known = self.__dict__.get("feature_names_in_")
        own = type(self).__name__
        if known is not None and names is None and not _input.is_sparse(X):
            warnings.warn(
                f"X does not have valid feature names, but {own} was fitted with feature names",
                stacklevel=4,
            )
        elif known is None and names is not None:
            warnings.warn(
                f"X has feature names, but {own} was fitted without feature names", stacklevel=4
            )
        elif known is not None and names is not None and list(known) != names:
            raise ValueError(_other_names(list(known), names))
        if width != self.n_features_in_:
            raise ValueError(
                f"X has {width} features, but {own} is expecting {self.n_features_in_} features as "
                "input"
            )

    def _target(self, y: Any) -> np.ndarray:
        if _input.is_sparse(y):
            raise ValueError("a sparse y is not supported: give a dense array with one dimension")
        known = hasattr(y, "dtype") or hasattr(y, "to_pylist")
        try:
            array = _input._array(y) if known else np.asarray(y)
        except UnicodeDecodeError:  # its text would quote a byte of a label
            raise ValueError("y mixes texts and bytes: give labels of one kind") from None
        if not known and array.dtype.kind in "US":
            # numpy turned every label into a text because one of them is.
            array = np.asarray(y, dtype=object)
        if array.ndim == 2 and array.shape[1] == 1:
            warnings.warn(
                "A column-vector y was passed when a 1d array was expected. Please change the shape "
                "of y to (n_samples,), for example using ravel().",
                _of_sklearn("sklearn.exceptions", "DataConversionWarning", UserWarning),
                stacklevel=5,
            )
            array = array.ravel()
        if array.ndim != 1:
            raise ValueError(f"y should be a 1d array, got an array of shape {array.shape} instead.")
        return array

    # Learning.

    def fit(
        self, X: Any, y: Any = None, *, person: Any = None, resume: bool = False, **refused: Any
    ) -> Any:
        """Checks all rows, charges the ledger, and learns from them: one whole run.

        A second ``fit`` is a second run: it is charged again, or refused if the people in the data
        were promised less. ``y`` and ``person`` are arrays, or names of columns of a DataFrame.
        With ``resume`` a run that stopped goes on from its ``state`` folder, on the same rows.
        """
        _refuse(refused)
        before = dict(self.__dict__)
        try:
            self._fit(X, y, person, resume)
        except BaseException:
            # A run that was refused leaves the estimator as it was, with what it has released.
            if self._run is before.get("_run"):
                self.__dict__.clear()
                self.__dict__.update(before)
            raise
        return self

    def _fit(self, X: Any, y: Any, person: Any, resume: bool) -> None:
        X, y, person, target = self._read(X, y, person, is_first=True)
        rows = X.shape[0] if isinstance(X, _input.Sparse) else X.rows
        if rows == 0:
            raise ValueError(
                f"Found array with 0 sample(s) (shape=(0, {self.n_features_in_})) while a minimum "
                f"of 1 is required by {type(self).__name__}."
            )
        if rows == 1:
            raise ValueError("a run needs at least 2 records, and this is 1 sample")
        self._know_target(y, None)
        y, texts = self._coded(y, strictly=True)
        rounds = rows if self.rounds in (None, "unknown") else None
        more = {"rounds": rounds, "horizon_unknown": False, "resume": resume or None}
        if isinstance(X, _input.Sparse):
            if not np.isfinite(X.values).all():
                row = int(np.searchsorted(X.ends, np.flatnonzero(~np.isfinite(X.values))[0], "right"))
                raise ValueError(
                    f"Input X contains NaN or infinity: row {row - 1} (from 0). Nothing is charged: "
                    "mend it, or let it be a round without a record: partial_fit"
                )
            run = self._open(self._sparse_schema(X), 0, at_rest=True, **more)
            self._begin(run)
            self._learn_all(run, (X, y, texts), rows)
        else:
            schema = self._schema(X, target, person is not None)
            parts, all_texts = self._columns(X, y, texts, person)
            if not resume:
                _native.check(json.dumps({**schema, **self._target_facts()}, default=_plain), parts, all_texts)
            run = self._open({**schema, **self._target_facts()}, len(X.names), at_rest=True, **more)
            self._begin(run)
            self._learn_all(run, (parts, all_texts), rows)
        if self.every_release:
            self.releases_ = [Model(model) for model in run.publish()]
        model = Model(run.model())
        outcome = json.loads(run.finish())
        self._run = None
        self._finish(model, outcome)

    def _learn_all(self, run: Any, given: tuple[Any, ...], rows: int) -> None:
        """Every pass, from where a resumed run stopped; a stop leaves everything durable."""
        total, done = run.passes * rows, run.records
        with _progress(self.progress, total, done) as tell:
            try:
                while done < total:
                    first = done % rows
                    if isinstance(given[0], _input.Sparse):
                        X, y, texts = given
                        labels = (y[first:], texts)
                        run.learn_sparse(X.ends[first:], X.indices, X.values, labels, tell)
                    else:
                        parts, texts = given
                        run.learn([part[first:] for part in parts], texts, tell)
                    done += rows - first
            except BaseException:
                run.publish()
                raise

    def partial_fit(
        self,
        X: Any,
        y: Any = None,
        classes: Any = None,
        *,
        person: Any = None,
        resume: bool = False,
        **refused: Any,
    ) -> Any:
        """Learns from some rows of one long run, which begins and is charged at the first call.

        The run needs ``rounds``: how many records will come, or ``"unknown"``. A row that cannot
        be read is a round without a record: what one person states does not stop a run.
        """
        _refuse(refused)
        is_first = self._run is None
        self._refuse_copy()
        X, y, person, target = self._read(X, y, person, is_first=is_first)
        if is_first:
            # The first rows of a stream say nothing about the classes of the others.
            self._know_target(y, classes, may_look=self._task == "regress")
        y, texts = self._coded(y, strictly=False)
        if is_first:
            more = {"resume": resume or None, **self._open_horizon()}
            if isinstance(X, _input.Sparse):
                run = self._open(self._sparse_schema(X), 0, **more)
            else:
                schema = self._schema(X, target, person is not None)
                run = self._open({**schema, **self._target_facts()}, len(X.names), **more)
            self._has_person = person is not None
            self._begin(run)
        if (person is not None) != self._has_person:
            raise ValueError("give the person of every row, or of none")
        run = self._run
        try:
            if isinstance(X, _input.Sparse):
                run.learn_sparse(X.ends, X.indices, X.values, (y, texts), None)
            elif len(y):
                run.learn(*self._columns(X, y, texts, person), None)
        except KeyboardInterrupt:
            run.publish()
            raise
        return self

    def learn_one(self, x: dict[str, Any], y: Any, *, person: Any = None) -> None:
        """Learns from one row, a dict by column: the same run as ``partial_fit`` makes."""
        if self._run is None:
            self._open_for(x, y, person)
        self._run.learn_one(x, y, _input.name_of(person))

    def learn_many(self, X: Any, y: Any, *, person: Any = None) -> None:
        """Learns from the rows of a frame, as ``partial_fit`` does."""
        self.partial_fit(X, y, person=person)

    def _open_for(self, x: dict[str, Any], y: Any, person: Any) -> None:
        if not isinstance(x, dict):
            raise TypeError("x is a dict: a value for every column, by name")
        self._refuse_copy()
        names = [str(name) for name in x]
        read = [_input.column([value]) for value in x.values()]
        table = _input.Table(names, [part for part, _ in read], [text for _, text in read], 1)
        labels = np.asarray([y])
        self._know_target(labels, None, may_look=False)
        self.n_features_in_ = len(names)
        self.feature_names_in_ = np.asarray(names, dtype=object)
        target = _unused("y", names)
        if self.seed_insecure is not None and self.schema is None and self.bounds is None:
            if self.norm is None:
                raise _native.HushstreamError(
                    "a stream needs bounds before its first row: schema=, bounds= or norm="
                )
        schema = self._schema(table, target, person is not None)
        self._has_person = person is not None
        run = self._open({**schema, **self._target_facts()}, len(names), **self._open_horizon())
        self._begin(run)

    def _open_horizon(self) -> dict[str, Any]:
        # An experiment may leave the number of records open.
        if self.rounds is None and self.seed_insecure is not None:
            return {"horizon_unknown": True}
        return {}

    def _refuse_copy(self) -> None:
        if self._is_copy:
            raise _native.HushstreamError(
                "this is a copy: it holds the released model and not the run, so it predicts and "
                "does not learn on. Use the estimator that learned, or fit a new one"
            )

    def _columns(self, X: _input.Table, y: np.ndarray, texts: Any, person: Any) -> tuple[list, list]:
        parts, all_texts = [*X.parts, y], [*X.texts, texts]
        if person is not None:
            parts.append(person[0])
            all_texts.append(person[1])
        return parts, all_texts

    def _sparse_schema(self, X: _input.Sparse) -> dict[str, Any]:
        norm = self.norm
        self._from_data = False
        if norm is None and self.seed_insecure is not None:
            squares = np.add.reduceat(np.append(X.values**2, 0.0), X.ends[:-1]) if X.shape[0] else [0]
            squares = np.where(np.diff(X.ends) > 0, squares, 0.0)
            norm, self._from_data = float(np.sqrt(np.max(squares, initial=0.0))) or 1.0, True
        if norm is None:
            raise _native.HushstreamError(
                "a sparse matrix needs the greatest length of a row, which cannot be read from the "
                "data: norm="
            )
        if self.schema is not None or self.bounds is not None:
            raise ValueError("a sparse matrix has no columns with bounds: state norm= alone")
        return {"dimension": X.shape[1], "index_base": 0, "norm": norm, **self._target_facts()}

    def _begin(self, run: Any) -> None:
        self._run = run
        self._model = None
        self._is_copy = False

    def _finish(self, model: Model, outcome: dict[str, Any]) -> None:
        self._model = model
        private = set(outcome.pop("operator_only"))
        self.outcome_ = {name: value for name, value in outcome.items() if name not in private}
        figures = {name: outcome[name] for name in private if outcome.get(name) is not None}
        self._figures = OperatorOnly(figures)

    # What was learned.

    @property
    def model_(self) -> Model:
        """The last released model, which may be published; of a run, after a disk sync."""
        if self._run is not None:
            return Model(self._run.model())
        if self._model is None:
            kind = _of_sklearn("sklearn.exceptions", "NotFittedError", NotFitted)
            raise kind(
                f"This {type(self).__name__} instance is not fitted yet. Call 'fit' with appropriate "
                "arguments before using this estimator."
            )
        return self._model

    def _linear(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        told = self.model_._native.linear()
        if told is None:
            raise AttributeError(
                f"{name} is for linear models in which every column is one number, and this model "
                f"was learned by {self.model_.recipe}: see model_.explain() for curves and tables, "
                "model_.weights and model_.feature_names for columns of texts; state norm= to learn a "
                "linear model"
            )
        return told

    @property
    def coef_(self) -> np.ndarray:
        """The coefficients of a linear model, for values within their bounds as they are given.

        Rows longer than the model's length are scaled down to it before.
        """
        coefficients = self._linear("coef_")[0]
        return coefficients[0] if self._task == "regress" else coefficients

    @property
    def intercept_(self) -> Any:
        """What a linear model adds to the scores."""
        intercepts = self._linear("intercept_")[1]
        return float(intercepts[0]) if self._task == "regress" else intercepts

    @property
    def guarantee_(self) -> Guarantee:
        """What all releases of the run promise."""
        facts = []
        ledger = self.ledger
        if ledger is not None and not isinstance(ledger, Ledger):
            ledger = Ledger(ledger)
        if ledger is not None and ledger.exists:
            facts.append(ledger._fact())
        if self.__dict__.get("_from_data"):
            facts.append(("read from the data", "bounds, categories or classes: nobody is protected"))
        if self.__dict__.get("_elsewhere"):
            facts.append(
                ("computed elsewhere", "workers saw rows; the promise is about what is published")
            )
        told = self._run.guarantee() if self._run is not None else self.model_._native.guarantee()
        return Guarantee(told, facts)

    @property
    def records_(self) -> int:
        """Records that the run has learned so far."""
        if self._run is not None:
            return int(self._run.records)
        return int(self.outcome_["rounds"])

    @property
    def operator_(self) -> OperatorOnly:
        """Figures from private data, such as accuracy: not to be published."""
        if self._run is not None:
            told = self._run.figures()
            return OperatorOnly(None if told is None else json.loads(told))
        self.model_  # noqa: B018
        return self.__dict__.get("_figures", OperatorOnly(None))

    def sync(self) -> list[Model]:
        """Makes everything durable, and gives the models that may leave since the last call."""
        if self._run is None:
            return [self.model_]
        return [Model(model) for model in self._run.publish()]

    def save(self, path: Any) -> None:
        """Writes the released model to a file, which may be published."""
        self.model_.save(path)

    def plan(self, X: Any, *, target: str = "y") -> Any:
        """The plan of ``fit`` on rows like these: what was chosen, and why. It spends nothing."""
        from hushstream.planning import Plan

        table = _input.table(X)
        planned = type(self)(**self.get_params())
        planned._know_target(np.asarray([0, 1]), None)
        schema = {**planned._schema(table, target, False), **planned._target_facts()}
        rounds = table.rows if self.rounds in (None, "unknown") else None
        settings = planned._settings(schema, rounds=rounds, at_rest=True)
        return Plan(json.loads(_native.plan(settings)))

    def _scores(self, X: Any) -> np.ndarray:
        model, X = self.model_, _input.frame(X)
        # The target of new rows, and their persons, may stand beside the features, as they did in fit.
        if (taken := self.__dict__.get("_taken")) and _input.is_frame(X):
            X = _without(X, taken)
        if _input.is_sparse(X):
            read = _input.sparse(X)
            self._same_features(X, read.shape[1])
            return model._native.scores_sparse(read.ends, read.indices, read.values)
        table = _input.table(X, estimator=type(self).__name__)
        self._same_features(X, len(table.names))
        if table.rows == 0:
            raise ValueError(
                f"Found array with 0 sample(s) (shape=(0, {len(table.names)})) while a minimum of 1 "
                f"is required by {type(self).__name__}."
            )
        if model._native.is_sparse:
            import scipy.sparse

            rows = _input.sparse(scipy.sparse.csr_matrix(_input.matrix(X, type(self).__name__)))
            return model._native.scores_sparse(rows.ends, rows.indices, rows.values)
        return model._scores(table)

    # Copies.

    def __getstate__(self) -> dict[str, Any]:
        """A copy has the parameters and the released model: no run, no key, no journal."""
        state = {name: value for name, value in self.__dict__.items() if name not in _OF_A_RUN}
        if self._run is not None or self._model is not None:
            state["_model"] = self.model_
            state["_is_copy"] = True
        return state

    def _repr_html_(self) -> str:
        if not self.__sklearn_is_fitted__():
            return f"<pre>{repr(self)}</pre>"
        return self.model_._repr_html_()


_OF_A_RUN = ("_run", "_figures", "_has_person")


def ledger_settings(ledger: Any) -> dict[str, Any]:
    """The settings of a ledger, or of the path of one."""
    if ledger is None:
        return {}
    if not isinstance(ledger, Ledger):
        ledger = Ledger(ledger)
    return ledger._settings()


def _plain(value: Any) -> Any:
    """Numbers of numpy as those of Python."""
    if hasattr(value, "item"):
        return value.item()
    raise TypeError(f"a parameter of type {type(value).__name__} is not allowed")


def _refuse(refused: dict[str, Any]) -> None:
    for name, value in refused.items():
        if name == "sample_weight" and value is None:
            continue
        if name == "sample_weight":
            raise ValueError(
                "sample_weight is not supported: one person's weight would change what all others "
                "are promised. Leave it out"
            )
        raise TypeError(f"got an unexpected keyword argument {name!r}")


def _without(X: Any, taken: list[str]) -> Any:
    """A frame without these columns."""
    names = list(getattr(X, "column_names", None) or X.columns)
    kept = [name for name in names if name not in taken]
    if len(kept) == len(names):
        return X
    return X.select(kept) if hasattr(X, "select") else X[kept]


def _other_names(known: list[str], given: list[str]) -> str:
    unseen = [name for name in given if name not in known]
    missing = [name for name in known if name not in given]
    told = "The feature names should match those that were passed during fit.\n"
    if unseen:
        told += "Feature names unseen at fit time:\n" + "".join(f"- {n}\n" for n in unseen[:5])
    if missing:
        told += "Feature names seen at fit time, yet now missing:\n"
        told += "".join(f"- {n}\n" for n in missing[:5])
    if not unseen and not missing:
        told += "Feature names must be in the same order as they were in fit.\n"
    return told


def _unused(name: str, names: list[str]) -> str:
    """A name that no column has."""
    while name in names:
        name += "_"
    return name


class _progress:
    """A bar of tqdm, if it is asked for and installed."""

    def __init__(self, shown: bool, total: int, done: int) -> None:
        self.bar = None
        if shown:
            try:
                from tqdm.auto import tqdm
            except ImportError:
                return
            self.bar = tqdm(total=total, initial=done, unit="rows")

    def __enter__(self) -> Any:
        return None if self.bar is None else self.bar.update

    def __exit__(self, *_: Any) -> None:
        if self.bar is not None:
            self.bar.close()


_PARAMETERS = """
    Parameters
    ----------
    epsilon, delta : what every person is promised by this run; delta=0 is pure privacy.
    schema, bounds, norm : what is known about the columns: a Schema; or a pair (smallest, largest)
        for all columns, one for each, or a dict; or the greatest length of a row.
    rounds : how many records come, or "unknown"; ``fit`` counts its rows.
    ledger : the Ledger of the people in the data, or its path. It is needed unless the noise is
        simulated.
    state : a secret folder from which a stopped run goes on.
    max_per_person, min_separation : protects persons, of whom ``fit`` is told by ``person=``.
    recipe, sum, noise, batch, loss, ... : the method; what is not stated is chosen from public
        numbers. See ``hushstream.recipes()``.
    adjacency : "replace-one" or "zero-out".
    every_release : keeps every released model in ``releases_``, not only the last.
    quiet : computes no figures for the operator.
    progress : shows a bar, if tqdm is installed.
    seed_insecure : draws simulated noise from a seed, for experiments: it protects nobody. Only then
        bounds, categories and classes may be left out and are read from the data.
"""


class Classifier(_Estimator):
    __doc__ = f"""A private classifier of two or more classes.

    By default it learns curves of single columns and tables of several; with ``norm`` a linear
    model.
{_PARAMETERS}    classes : the labels, which are public; by default 0 and 1. Of two, the second is positive.

    >>> import numpy as np
    >>> X = np.random.default_rng(0).uniform(-1, 1, (2000, 2))
    >>> y = (X[:, 0] > 0).astype(int)
    >>> model = Classifier(epsilon=1, delta=1e-6, bounds=(-1, 1), seed_insecure=1).fit(X, y)
    >>> bool((model.predict(X) == y).mean() > 0.8)
    True
    """

    _task = "classify"

    def __init__(
        self,
        *,
        epsilon: float | None = None,
        delta: float = 0.0,
        classes: Iterable[Any] | None = None,
        schema: Schema | None = None,
        bounds: Any = None,
        norm: float | None = None,
        rounds: int | str | None = None,
        batch: int | None = None,
        recipe: str = "auto",
        sum: str = "auto",
        loss: str | None = None,
        noise: str | None = None,
        radius: float | None = None,
        learning_rate: float | None = None,
        ridge: float | None = None,
        tables: int | None = None,
        passes: int | None = None,
        window: int | None = None,
        max_per_person: int | None = None,
        min_separation: int = 1,
        adjacency: str = "replace-one",
        ledger: Ledger | str | None = None,
        state: Any = None,
        every_release: bool = False,
        quiet: bool = False,
        progress: bool = False,
        seed_insecure: int | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.classes = classes
        self.schema = schema
        self.bounds = bounds
        self.norm = norm
        self.rounds = rounds
        self.batch = batch
        self.recipe = recipe
        self.sum = sum
        self.loss = loss
        self.noise = noise
        self.radius = radius
        self.learning_rate = learning_rate
        self.ridge = ridge
        self.tables = tables
        self.passes = passes
        self.window = window
        self.max_per_person = max_per_person
        self.min_separation = min_separation
        self.adjacency = adjacency
        self.ledger = ledger
        self.state = state
        self.every_release = every_release
        self.quiet = quiet
        self.progress = progress
        self.seed_insecure = seed_insecure

    _estimator_type = "classifier"

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags

        tags = super().__sklearn_tags__()
        tags.estimator_type = "classifier"
        tags.classifier_tags = ClassifierTags()
        return tags

    def _know_target(self, y: np.ndarray, classes: Any, *, may_look: bool = True) -> None:
        stated = classes if classes is not None else self.classes
        if stated is not None:
            known = np.asarray(stated)
        elif self.seed_insecure is not None and may_look:
            known = _labels_of(y)
        elif y.dtype.kind == "b":
            known = np.asarray([False, True])
        else:
            known = np.asarray([0, 1])
        if known.ndim != 1 or len(known) < 2:
            raise ValueError(
                f"Classifier needs at least 2 classes, and there is {len(known)} class: state all of "
                "them, classes=[...]"
            )
        if len({str(_item(label)) for label in known}) < len(known):
            raise ValueError("two classes have the same name: state each once")
        self.classes_ = known

    def _is_plain(self) -> bool:
        """Whether the labels are 0 and 1, as most tables write them."""
        if len(self.classes_) != 2 or self.classes_.dtype.kind not in "biuf":
            return False
        return [float(label) for label in self.classes_] in ([0.0, 1.0], [-1.0, 1.0])

    def _names(self) -> list[str]:
        return [str(_item(label)) for label in self.classes_]

    def _two_names(self) -> list[str] | None:
        return self._names() if len(self.classes_) == 2 and not self._is_plain() else None

    def _target_facts(self) -> dict[str, Any]:
        if len(self.classes_) > 2:
            return {"task": "multiclass", "classes": self._names()}
        if self._is_plain():
            return {"task": "classify"}
        return {"task": "classify", "positive": self._names()[1]}

    def _coded(self, y: np.ndarray, *, strictly: bool) -> tuple[np.ndarray, list[str] | None]:
        """The place of each label among the classes; NaN for one that is none of them."""
        known = self.classes_
        are_numbers = known.dtype.kind in "biuf" and y.dtype.kind in "biuf"
        if are_numbers and len(known) == 2:
            second = y == known[1:]
            codes = second.astype(np.float64)
            neither = ~(second | (y == known[:1]))
            if neither.any():
                codes[neither] = np.nan
        elif are_numbers:
            order = np.argsort(known)
            found = np.minimum(np.searchsorted(known[order], y), len(known) - 1)
            places = order[found]
            codes = np.where(known[places] == y, places, np.nan).astype(np.float64)
        else:
            by_label: dict[Any, float] = {_item(label): k for k, label in enumerate(known)}
            codes = np.full(len(y), np.nan)
            for row, label in enumerate(y.tolist()):
                try:
                    codes[row] = by_label.get(_item(label), np.nan)
                except TypeError:
                    if strictly:
                        told = "Unknown label type: labels are numbers, texts or truths"
                        raise ValueError(told) from None
        if strictly and np.isnan(codes).any():
            row = int(np.flatnonzero(np.isnan(codes))[0])
            raise _native.HushstreamError(
                f"row {row} (from 0) has a label that is none of the {len(known)} classes: state all "
                "classes=[...], or leave the row out. Nothing is charged"
            )
        return codes, None if self._is_plain() else self._names()

    def decision_function(self, X: Any) -> np.ndarray:
        """The score of every row: positive for the second of two classes, or one for each."""
        scores = self._scores(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X: Any) -> np.ndarray:
        """The class of every row."""
        best = _best(self._scores(X))
        return self.classes_[best]

    @property
    def predict_proba(self) -> Any:
        """The probability of every class, in the order of ``classes_``."""
        if self.loss not in (None, "auto", "logistic", "squared"):
            raise AttributeError(f"the loss {self.loss!r} gives no probabilities")
        return self._predict_proba

    def _predict_proba(self, X: Any) -> np.ndarray:
        chances = self.model_._native.probabilities(self._scores(X))
        if chances is None:
            raise AttributeError("the loss of this model gives no probabilities")
        return chances

    def predict_one(self, x: dict[str, Any]) -> Any:
        """The class of one row, a dict by column."""
        scores = np.asarray([self.model_._native.scores_one(x)])
        return _item(self.classes_[_best(scores)][0])

    def predict_proba_one(self, x: dict[str, Any]) -> dict[Any, float]:
        """The probability of every class for one row."""
        model = self.model_._native
        chances = model.probabilities(np.asarray([model.scores_one(x)]))
        if chances is None:
            raise AttributeError("the loss of this model gives no probabilities")
        labels = [_item(label) for label in self.classes_]
        return dict(zip(labels, chances[0].tolist()))

    def score(self, X: Any, y: Any) -> float:
        """The accuracy on these rows: of rows that it learned from, a figure for the operator."""
        y = X[y] if isinstance(y, str) else y
        return float(np.mean(self.predict(X) == self._target(y)))


class Regressor(_Estimator):
    __doc__ = f"""A private model of a number.

    By default it learns curves of single columns and tables of several; with ``norm`` a linear
    model.
{_PARAMETERS}    target_bounds : the smallest and largest value of the target, which is clipped to them.

    >>> import numpy as np
    >>> X = np.random.default_rng(0).uniform(-1, 1, (2000, 2))
    >>> model = Regressor(
    ...     epsilon=4, delta=1e-6, bounds=(-1, 1), target_bounds=(-1, 1), seed_insecure=1
    ... ).fit(X, X[:, 0])
    >>> bool(model.score(X, X[:, 0]) > 0.5)
    True
    """

    _task = "regress"

    def __init__(
        self,
        *,
        epsilon: float | None = None,
        delta: float = 0.0,
        target_bounds: Any = None,
        schema: Schema | None = None,
        bounds: Any = None,
        norm: float | None = None,
        rounds: int | str | None = None,
        batch: int | None = None,
        recipe: str = "auto",
        sum: str = "auto",
        loss: str | None = None,
        noise: str | None = None,
        radius: float | None = None,
        learning_rate: float | None = None,
        ridge: float | None = None,
        tables: int | None = None,
        passes: int | None = None,
        window: int | None = None,
        max_per_person: int | None = None,
        min_separation: int = 1,
        adjacency: str = "replace-one",
        ledger: Ledger | str | None = None,
        state: Any = None,
        every_release: bool = False,
        quiet: bool = False,
        progress: bool = False,
        seed_insecure: int | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.target_bounds = target_bounds
        self.schema = schema
        self.bounds = bounds
        self.norm = norm
        self.rounds = rounds
        self.batch = batch
        self.recipe = recipe
        self.sum = sum
        self.loss = loss
        self.noise = noise
        self.radius = radius
        self.learning_rate = learning_rate
        self.ridge = ridge
        self.tables = tables
        self.passes = passes
        self.window = window
        self.max_per_person = max_per_person
        self.min_separation = min_separation
        self.adjacency = adjacency
        self.ledger = ledger
        self.state = state
        self.every_release = every_release
        self.quiet = quiet
        self.progress = progress
        self.seed_insecure = seed_insecure

    _estimator_type = "regressor"

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import RegressorTags

        tags = super().__sklearn_tags__()
        tags.estimator_type = "regressor"
        tags.regressor_tags = RegressorTags()
        return tags

    def _know_target(self, y: np.ndarray, classes: Any, *, may_look: bool = True) -> None:
        if classes is not None:
            raise ValueError("a Regressor has no classes")
        bounds = self.target_bounds
        if bounds is None and self.seed_insecure is not None and may_look and len(y):
            known = _numbers(y)
            known = known[np.isfinite(known)]
            low, high = (known.min(), known.max()) if len(known) else (-1.0, 1.0)
            bounds = (low, high) if high > low else (low - 1.0, low + 1.0)
        if bounds is None:
            raise _native.HushstreamError(
                "the bounds of the target must be stated, because the greatest value in the data is "
                "somebody's: target_bounds=(LOW, HIGH)"
            )
        try:
            low, high = (float(end) for end in bounds)
        except (TypeError, ValueError):
            raise ValueError("target_bounds is a pair: (smallest, largest)") from None
        self._bounds_of_target = [low, high]

    def _target_facts(self) -> dict[str, Any]:
        return {"task": "regress", "target_bounds": self._bounds_of_target}

    def _coded(self, y: np.ndarray, *, strictly: bool) -> tuple[np.ndarray, list[str] | None]:
        numbers = _numbers(y) if strictly else _numbers_of_rows(y)
        if strictly and not np.isfinite(numbers).all():
            problem = "NaN" if np.isnan(numbers).any() else "infinity or a value too large"
            raise ValueError(
                f"Input y contains {problem} for dtype('float64'). Leave these rows out: nothing is "
                "charged"
            )
        return numbers, None

    def predict(self, X: Any) -> np.ndarray:
        """The number for every row, within the bounds of the target."""
        return self.model_._numbers(self._scores(X))

    def predict_one(self, x: dict[str, Any]) -> float:
        """The number for one row, a dict by column."""
        model = self.model_
        return float(model._numbers(np.asarray([model._native.scores_one(x)]))[0])

    def score(self, X: Any, y: Any) -> float:
        """R² on these rows: of rows that it learned from, a figure for the operator."""
        y = _numbers(self._target(X[y] if isinstance(y, str) else y))
        left = np.sum((y - self.predict(X)) ** 2)
        around = np.sum((y - y.mean()) ** 2)
        return float(1.0 - left / around) if around > 0 else 0.0


def _numbers(y: np.ndarray) -> np.ndarray:
    if y.dtype.kind == "c":
        raise ValueError("Complex data not supported: give real numbers")
    try:
        return y.astype(np.float64, copy=False)
    except (TypeError, ValueError):
        raise ValueError("the target of a Regressor is a number: convert y first") from None


def _numbers_of_rows(y: np.ndarray) -> np.ndarray:
    """The same row by row: NaN where there is no number, whatever other rows hold."""
    if y.dtype.kind in "biufc":
        return _numbers(y)
    numbers = np.full(len(y), np.nan)
    for row, value in enumerate(y.tolist()):
        try:
            numbers[row] = value
        except (TypeError, ValueError):
            pass
    return numbers


def _labels_of(y: np.ndarray) -> np.ndarray:
    """The labels in the data: only for simulated noise."""
    if y.dtype.kind == "f" and len(y) and not np.all(np.isfinite(y) & (y == np.floor(y))):
        raise ValueError(
            "Unknown label type: continuous. A classifier learns classes; for numbers use a Regressor"
        )
    if y.dtype.kind == "c":
        raise ValueError("Complex data not supported: give real numbers")
    return np.unique(y)


def _best(scores: np.ndarray) -> np.ndarray:
    if scores.shape[1] == 1:
        return (scores[:, 0] > 0).astype(np.intp)
    return np.argmax(scores, axis=1)


def _item(label: Any) -> Any:
    return label.item() if hasattr(label, "item") else label
