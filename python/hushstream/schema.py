"""What is known about columns without looking at the rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

__all__ = ["Schema"]


class Schema:
    """Public facts about columns: bounds, categories, and how long a record can be.

    Names may contain ``*``; a column's own name goes before a pattern. Everything here is public
    and becomes part of the model, so it is stated and never read from the data: the greatest wage
    in a table is somebody's wage.

    Parameters
    ----------
    bounds : smallest and largest value of numeric columns; values beyond them are clipped.
    vocabulary : the categories of text columns.
    one_hot : groups of 0/1 columns of which at most one is set, such as ``"soil_*"``.
    dates : columns of dates, with or without the time of day.
    hashed : text columns to be hashed into so many bits.
    ignore, features : columns to leave out, or the only ones to take.
    norm : the greatest length of a record; only for linear models.
    names : the columns of a table that has no header, to read it with.
    knots, in_time_order, intercept, missing : as in the program's schema files.

    >>> Schema(bounds={"age": (0, 100)}, vocabulary={"job": ["clerk", "cook"]})
    Schema(bounds={'age': (0, 100)}, vocabulary={'job': ['clerk', 'cook']})
    """

    def __init__(
        self,
        *,
        bounds: Mapping[str, Sequence[float]] | None = None,
        vocabulary: Mapping[str, Iterable[Any]] | None = None,
        one_hot: Iterable[str] = (),
        dates: Iterable[str] = (),
        hashed: Mapping[str, int] | None = None,
        ignore: Iterable[str] = (),
        features: Iterable[str] = (),
        norm: float | None = None,
        knots: int | None = None,
        in_time_order: bool | None = None,
        intercept: bool | None = None,
        missing: Iterable[str] = (),
        names: Iterable[str] = (),
    ) -> None:
        self.bounds = dict(bounds or {})
        self.vocabulary = {name: list(values) for name, values in (vocabulary or {}).items()}
        self.one_hot = list(one_hot)
        self.dates = list(dates)
        self.hashed = dict(hashed or {})
        self.ignore = list(ignore)
        self.features = list(features)
        self.norm = norm
        self.knots = knots
        self.in_time_order = in_time_order
        self.intercept = intercept
        self.missing = list(missing)
        self.names = list(names)

    @classmethod
    def from_toml(cls, path: Any) -> Schema:
        """Reads a schema file of the program; its task and target are the estimator's matter."""
        import sys

        if sys.version_info < (3, 11):
            raise ImportError("schema files need Python 3.11 or later: state the Schema in Python")
        import tomllib

        with open(path, "rb") as file:
            stated = tomllib.load(file)
        for other in ("task", "target", "positive", "classes", "target_bounds", "person", "no_header"):
            stated.pop(other, None)
        known = {name for name in cls().__dict__}
        unknown = sorted(set(stated) - known)
        if unknown:
            raise ValueError(
                f"a schema of Python does not know {unknown[0]}; it knows {', '.join(sorted(known))}"
            )
        return cls(**stated)

    def described(self) -> dict[str, Any]:
        """What is stated, as plain values."""
        stated: dict[str, Any] = {}
        for name, value in self.__dict__.items():
            if value is None or value == [] or value == {} or name == "names":
                continue
            stated[name] = value
        if "bounds" in stated:
            pairs = stated["bounds"].items()
            stated["bounds"] = {name: _pair(name, pair) for name, pair in pairs}
        if "vocabulary" in stated:
            texts = stated["vocabulary"].items()
            stated["vocabulary"] = {name: [str(value) for value in values] for name, values in texts}
        return stated

    def __repr__(self) -> str:
        stated = {k: v for k, v in self.__dict__.items() if v is not None and v != [] and v != {}}
        return f"Schema({', '.join(f'{name}={value!r}' for name, value in stated.items())})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Schema) and self.__dict__ == other.__dict__

    __hash__ = None  # type: ignore[assignment]


def _pair(name: str, pair: Sequence[float]) -> list[float]:
    try:
        low, high = (float(end) for end in pair)
    except (TypeError, ValueError):
        raise ValueError(f"the bounds of {name!r} are a pair: (smallest, largest)") from None
    return [low, high]
