"""Released models."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from hushstream import _input, _native
from hushstream._told import Guarantee

__all__ = ["Model", "load_model"]


class Model:
    """A released model, which may be published: it predicts, and tells what it promises."""

    def __init__(self, native: Any) -> None:
        self._native = native

    @property
    def recipe(self) -> str:
        """How it was learned."""
        return str(self._native.recipe)

    @property
    def release(self) -> int:
        """Its number among the releases of its run."""
        return int(self._native.release)

    @property
    def classes(self) -> list[str]:
        """The names of its classes, the negative one of two first; none for a number."""
        return list(self._native.classes)

    @property
    def columns(self) -> list[str]:
        """The columns that it predicts from."""
        return list(self._native.columns)

    @property
    def weights(self) -> np.ndarray:
        """The weights, class after class."""
        return self._native.weights

    @property
    def feature_names(self) -> list[str]:
        """The name of every coordinate of a linear model."""
        return list(self._native.feature_names)

    @property
    def guarantee(self) -> Guarantee:
        """What this and all earlier releases promise."""
        return Guarantee(self._native.guarantee())

    def explain(self) -> dict[str, Any]:
        """What each column does: its curve, with the noise that privacy added."""
        return json.loads(self._native.explain())

    def _scores(self, table: _input.Table) -> np.ndarray:
        parts, texts = list(table.parts), list(table.texts)
        needed = self.columns
        if needed[: len(table.names)] != table.names and len(parts) == len(table.names):
            places = {name: place for place, name in enumerate(table.names)}
            if all(name in places for name in self._native.features):
                order = [places.get(name) for name in needed]
                nothing = np.full(table.rows, np.nan)
                parts = [nothing if place is None else parts[place] for place in order]
                texts = [None if place is None else texts[place] for place in order]
                return self._native.scores(parts, texts)
        # A column of persons is learned with and not predicted from.
        for _ in needed[len(table.names) :]:
            parts.append(np.full(table.rows, np.nan))
            texts.append(None)
        return self._native.scores(parts, texts)

    def decision_function(self, X: Any) -> np.ndarray:
        """The scores of rows: one column, or one for each class."""
        if _input.is_sparse(X):
            rows = _input.sparse(X)
            return self._native.scores_sparse(rows.ends, rows.indices, rows.values)
        return self._scores(_input.table(X, estimator="this model"))

    def predict(self, X: Any) -> np.ndarray:
        """The name of the class of every row, or the number."""
        scores = self.decision_function(X)
        names = self.classes
        if not names:
            return self._numbers(scores)
        if scores.shape[1] == 1:
            return np.asarray(names, dtype=object)[(scores[:, 0] > 0).astype(int)]
        return np.asarray(names, dtype=object)[np.argmax(scores, axis=1)]

    def predict_proba(self, X: Any) -> np.ndarray:
        """The probability of every class."""
        chances = self._native.probabilities(self.decision_function(X))
        if chances is None:
            raise AttributeError("this model gives no probabilities")
        return chances

    def _numbers(self, scores: np.ndarray) -> np.ndarray:
        low, offset, high = self._native.range
        return np.clip(scores[:, 0] + offset, low, high)

    def save(self, path: Any) -> None:
        """Writes the model to a file, whole or not at all; the program reads it too."""
        self._native.save(str(path))

    def to_sql(self, table: str, key: Any = ()) -> str:
        """A SQL query that predicts the rows of a table, in SQLite, DuckDB or PostgreSQL.

        The table has the columns of the training data; NULL is a missing value. The result has the
        columns of ``key`` (by default all that the model reads) and the predictions.
        """
        return self._native.to_sql(table, [key] if isinstance(key, str) else list(key))

    def to_onnx(self) -> bytes:
        """The model as an ONNX file: one input of shape (N, 1) for every column.

        Numbers are doubles, NaN where they are missing; categories are strings.
        """
        return self._native.to_onnx()

    def plot(self, most: int = 6) -> Any:
        """Draws the curves of the strongest columns, with the noise that privacy added."""
        import matplotlib.pyplot as plt

        told = self.explain()
        columns = told["columns"][:most]
        high, wide = -(-len(columns) // 3), min(3, len(columns))
        figure, axes = plt.subplots(high, wide, squeeze=False, figsize=(4 * wide, 3 * high))
        for axis, column in zip(axes.flat, columns):
            _draw(axis, column, told["unit"])
        for axis in list(axes.flat)[len(columns) :]:
            axis.set_visible(False)
        figure.tight_layout()
        return figure

    def __getstate__(self) -> dict[str, Any]:
        return {"bytes": self._native.to_bytes()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._native = _native.Model.from_bytes(state["bytes"])

    def __repr__(self) -> str:
        return f"Model({self.recipe}, release {self.release})\n{self.guarantee}"

    def _repr_html_(self) -> str:
        return str(self._native.html())


def _draw(axis: Any, column: dict[str, Any], unit: str) -> None:
    """One column: a line with a band for each output, or points with whiskers."""
    axis.set_title(column["name"])
    axis.set_ylabel(unit)
    axis.axhline(0, color="0.7", linewidth=0.8)
    [(kind, shape)] = column["shape"].items()
    if kind == "curve":
        x = [point["x"] for point in shape["points"]]
        effects_at = [point["effects"] for point in shape["points"]]
    else:
        names = [name for name, _ in shape["values"]]
        effects_at = [effects for _, effects in shape["values"]]
        x = list(range(len(names)))
        axis.set_xticks(x, names, rotation=60)
    for output in range(len(effects_at[0])):
        effects = [effects[output] for effects in effects_at]
        values = np.array([effect["value"] for effect in effects])
        margins = 2 * np.array([effect["sd"] or 0.0 for effect in effects])
        if kind == "curve":
            axis.plot(x, values)
            axis.fill_between(x, values - margins, values + margins, alpha=0.2)
        else:
            axis.errorbar(x, values, yerr=margins, fmt="o")


def load_model(path: Any) -> Model:
    """Reads a model file, of Python's or of the program's."""
    return Model(_native.Model.load(str(path)))
