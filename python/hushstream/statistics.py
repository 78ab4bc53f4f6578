"""Running statistics: counts, sums, means and histograms, released at every tick."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from hushstream import _input, _native
from hushstream._estimators import ledger_settings
from hushstream._told import Guarantee, OperatorOnly

__all__ = [
    "Estimate",
    "RunningCount",
    "RunningHistogram",
    "RunningMean",
    "RunningSum",
    "Statistics",
    "Tracker",
]

_VALUE = "value"
_GROUP = "group"
_ROW = "row"
OTHER = "(other)"


class Estimate(NamedTuple):
    """A released number, and an interval that holds the truth with the stated probability."""

    value: float
    low: float
    high: float


class Statistics:
    """What one tick released: an estimate for every span, group and statistic. Publishable.

    ``span`` is "total" (since the beginning), "tick", "last N" or "decay F".
    """

    def __init__(self, told: dict[str, Any], groups: list[str]) -> None:
        self.tick: int = told["tick"]
        self._groups = groups
        self._rows = told["rows"]

    @property
    def names(self) -> list[str]:
        """The statistics: "count", "sum age", "mean age", "age 0..10", "age quantile 0.5"."""
        return [name for name in self._rows[0] if name not in ("span", "group")]

    def get(self, name: str, group: Any = None, span: str = "total") -> Estimate:
        """The estimate of a statistic: of all rows, or of a group (its value, or a dict)."""
        if group is not None and not isinstance(group, Mapping):
            if len(self._groups) != 1:
                raise ValueError(f"a group is a dict with {', '.join(self._groups) or 'nothing'}")
            group = {self._groups[0]: str(group)}
        for row in self._rows:
            if row["span"] == span and row.get("group") == group and name in row:
                return Estimate(*row[name])
        raise KeyError(f"no statistic {name!r} of this group and span; there are {self.names}")

    def to_rows(self) -> list[dict[str, Any]]:
        """A dict for every number: tick, span, the groups, statistic, value, low, high."""
        rows = []
        for row in self._rows:
            group = row.get("group", {})
            place = {"tick": self.tick, "span": row["span"]}
            place.update({name: group.get(name) for name in self._groups})
            for name in self.names:
                value, low, high = row[name]
                rows.append({**place, "statistic": name, "value": value, "low": low, "high": high})
        return rows

    def to_pandas(self) -> Any:
        """The numbers as a DataFrame of pandas."""
        import pandas as pd

        return pd.DataFrame(self.to_rows())

    def __repr__(self) -> str:
        total = self._rows[0]
        shown = ", ".join(f"{name} {total[name][0]:.6g}" for name in self.names[:4])
        return f"Statistics(tick {self.tick}: {shown})"

    def _repr_html_(self) -> str:
        head = ["span", *self._groups, *self.names]
        body = []
        for row in self._rows[:200]:
            group = row.get("group", {})
            cells = [f"{v:.6g} ({low:.6g} to {high:.6g})" for v, low, high in map(row.get, self.names)]
            body.append([row["span"], *(str(group.get(name, "all")) for name in self._groups), *cells])
        return _native.table(f"Tick {self.tick}", head, body, [])


class _Closed:
    """What a run said last; it refuses everything else, as one that is closed."""

    def __init__(self, run: Any) -> None:
        self._run = run
        self.records, self.ticks, self.plan = run.records, run.ticks, run.plan
        guarantee, nulls = run.guarantee(), run.nulls()
        self.guarantee = lambda: guarantee
        self.nulls = lambda: nulls

    def __getattr__(self, name: str) -> Any:
        return getattr(self._run, name)


class Tracker:
    """Running statistics of rows, by group, released at every tick for one charge.

    Parameters
    ----------
    ticks : how many ticks will come, or "unknown".
    sums, means : columns with public bounds: ``{"age": (0, 100)}``. Values are clipped to them.
    histograms : columns with bounds and a number of equal bins: ``{"age": (0, 100, 10)}``.
    quantiles : quantiles of every histogram, each between 0 and 1.
    groups : columns with their categories, which are public; several columns make a group of every
        combination, and what is not listed is "(other)".
    last, decay : also the last so many ticks; also statistics in which every tick counts for so
        much of the one after it.
    confidence : the probability that an interval holds the truth.
    epsilon, delta, adjacency, max_per_person, min_separation, sum, noise, ledger, state,
        seed_insecure : as for :class:`hushstream.Classifier`. ``resume=True`` goes on with the run
        in ``state``.

    >>> import numpy as np
    >>> visits = Tracker(
    ...     ticks=7, means={"age": (0, 100)}, groups={"region": ["north", "south"]},
    ...     epsilon=1, delta=1e-6, seed_insecure=1,
    ... )
    >>> visits.add({"age": np.full(1000, 40.0), "region": ["north", "south"] * 500})
    >>> day = visits.tick()  # when it closes may depend on the clock, never on what rows hold
    >>> day.get("mean age", group="north").low < 40 < day.get("mean age", group="north").high
    True
    """

    def __init__(
        self,
        *,
        ticks: int | str,
        epsilon: float,
        delta: float = 0.0,
        sums: Mapping[str, Sequence[float]] | None = None,
        means: Mapping[str, Sequence[float]] | None = None,
        histograms: Mapping[str, Sequence[float]] | None = None,
        quantiles: Iterable[float] = (),
        groups: Mapping[str, Iterable[Any]] | None = None,
        last: Iterable[int] = (),
        decay: Iterable[float] = (),
        confidence: float = 0.95,
        adjacency: str = "replace-one",
        max_per_person: int | None = None,
        min_separation: int | None = None,
        sum: str = "auto",
        noise: str | None = None,
        ledger: Any = None,
        state: Any = None,
        resume: bool = False,
        seed_insecure: int | None = None,
    ) -> None:
        asked, numbers = _asked(sums or {}, means or {}, histograms or {}, quantiles, groups or {})
        self._groups: list[str] = asked["groups"]
        self._person = "person" if max_per_person is not None else None
        # Where nothing is asked but a count, rows have one column, which is not read.
        names = sorted({*numbers, *self._groups}) or [_ROW]
        schema: dict[str, Any] = {"names": names, "no_header": False}
        if self._person is not None:
            while self._person in names:
                self._person += "_"
            schema["person"] = self._person
            schema["names"] = [*names, self._person]
        settings: dict[str, Any] = {
            "schema": schema,
            "epsilon": epsilon,
            "delta": delta,
            "adjacency": adjacency,
            "max_per_person": max_per_person,
            "min_separation": min_separation,
            "noise": noise,
            "seed_insecure": seed_insecure,
            "resume": resume,
            **ledger_settings(ledger),
        }
        if sum != "auto":
            settings["sum"] = sum
        if state is not None:
            settings["state"] = str(state)
        wanted = {
            "asked": asked,
            "ticks": None if ticks == "unknown" else int(ticks),
            "last": [int(span) for span in last],
            "decay": [float(factor) for factor in decay],
            "confidence": float(confidence),
            "settings": settings,
        }
        self._run = _native.Tracking(json.dumps(wanted))
        self._names = names
        self.confidence = float(confidence)
        last = self._run.last
        self.releases_ = [] if last is None else [self._read(last)]

    def _read(self, told: str) -> Statistics:
        return Statistics(json.loads(told), self._groups)

    def add(self, rows: Any, *, person: Any = None) -> None:
        """Counts rows in the open tick: a frame, or a dict of columns.

        A value that cannot be read makes a row that counts for nothing.
        """
        if isinstance(rows, Mapping):
            read = [_input.column(rows[name]) for name in self._names if name in rows]
            given: list[Any] = list(rows)
        else:
            frame = _input.table(rows, estimator=type(self).__name__)
            places = {name: place for place, name in enumerate(frame.names)}
            given = frame.names
            found = [places[name] for name in self._names if name in places]
            if len(frame.parts) != len(frame.names):
                raise ValueError("give a DataFrame, or a dict of columns: columns have names here")
            read = [(frame.parts[place], frame.texts[place]) for place in found]
        missing = [name for name in self._names if name not in given]
        if missing:
            raise ValueError(f"the rows have no column {missing[0]!r}")
        self._take(read, person)

    def _take(self, read: list[tuple[np.ndarray, Any]], person: Any) -> None:
        if (person is None) != (self._person is None):
            raise ValueError("state person= for every row if max_per_person= is stated, and not else")
        if person is not None:
            read = [*read, _input.column(person)]
        self._run.add([part for part, _ in read], [texts for _, texts in read])

    def tick(self) -> Any:
        """Closes the tick, and releases its statistics once they are durable.

        When a tick closes may depend on the clock and on the number of rows, never on what they hold.
        """
        told = self._read(self._run.tick())
        self.releases_.append(told)
        return told

    @property
    def records_(self) -> int:
        """Rows so far."""
        return int(self._run.records)

    @property
    def ticks_(self) -> int:
        """Ticks that have closed."""
        return int(self._run.ticks)

    @property
    def plan_(self) -> str:
        """What was chosen, and how the budget is split."""
        return str(self._run.plan)

    @property
    def guarantee_(self) -> Guarantee:
        """What all releases together promise."""
        return Guarantee(self._run.guarantee())

    @property
    def operator_(self) -> OperatorOnly:
        """How many rows counted for nothing: not to be published."""
        return OperatorOnly({"nulls": self._run.nulls()})

    def close(self) -> None:
        """Frees the ledger and the state folder; releases are durable already. ``with`` does it too.

        What was told is told afterwards too: ticks, rows, the plan and the guarantee.
        """
        try:
            told: Any = _Closed(self._run)
        except _native.HushstreamError:  # it failed, or it is closed already
            told = self._run
        self._run.close()
        self._run = told

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def to_pandas(self) -> Any:
        """Every release so far as one DataFrame of pandas: a line for every number."""
        import pandas as pd

        return pd.DataFrame([row for told in self.releases_ for row in told.to_rows()])

    def plot(self, name: str | None = None, span: str = "total") -> Any:
        """Draws one statistic over the ticks, a line with its interval for every group."""
        import matplotlib.pyplot as plt

        if not self.releases_:
            raise ValueError("nothing is released yet: tick() closes a tick")
        name = name or self._shown(self.releases_[-1].names)
        lines: dict[str, list[tuple[int, float, float, float]]] = {}
        for told in self.releases_:
            for row in told._rows:
                if row["span"] == span and ("group" in row or not self._groups):
                    label = ", ".join(map(str, row.get("group", {"": "all"}).values()))
                    lines.setdefault(label, []).append((told.tick, *row[name]))
        figure, axis = plt.subplots(figsize=(7, 3.5))
        for label, points in lines.items():
            x, value, low, high = map(np.array, zip(*points))
            axis.plot(x, value, marker="o", markersize=3, label=label)
            axis.fill_between(x, low, high, alpha=0.2)
        axis.set_xlabel("tick")
        axis.set_ylabel(name)
        if self._groups:
            axis.legend(title=", ".join(self._groups))
        figure.tight_layout()
        return figure

    def _shown(self, names: list[str]) -> str:
        return next((name for name in names if name != "count"), "count")

    def __getstate__(self) -> Any:
        raise TypeError("a run is not pickled: it has a key. Pickle to_pandas(), which is released")

    def _repr_html_(self) -> str:
        return self.guarantee_._repr_html_() + (
            self.releases_[-1]._repr_html_() if self.releases_ else ""
        )


def _asked(
    sums: Mapping[str, Sequence[float]],
    means: Mapping[str, Sequence[float]],
    histograms: Mapping[str, Sequence[float]],
    quantiles: Iterable[float],
    groups: Mapping[str, Iterable[Any]],
) -> tuple[dict[str, Any], list[str]]:
    """What is asked, as the native module reads it, and the columns of numbers."""
    bounds: list[tuple[str, tuple[float, float]]] = []
    bins: list[tuple[str, int]] = []
    for columns in (sums, means, histograms):
        for name, stated in columns.items():
            low, high = _pair(name, stated, has_bins=columns is histograms)
            if columns is histograms:
                bins.append((name, int(stated[2])))
            if (name, (low, high)) not in bounds:
                bounds.append((name, (low, high)))
    asked = {
        "sums": list(sums),
        "means": list(means),
        "histograms": bins,
        "quantiles": [float(share) for share in quantiles],
        "groups": list(groups),
        "bounds": bounds,
        "categories": [(name, [str(value) for value in values]) for name, values in groups.items()],
    }
    return asked, [name for name, _ in bounds]


def _pair(name: str, stated: Sequence[float], *, has_bins: bool) -> tuple[float, float]:
    what = "(smallest, largest, bins)" if has_bins else "(smallest, largest)"
    try:
        values = [float(value) for value in stated]
        low, high = values[:2]
        if len(values) != (3 if has_bins else 2):
            raise ValueError
    except (TypeError, ValueError):
        raise ValueError(f"the bounds of {name!r} are {what}") from None
    return low, high


class _One(Tracker):
    """One statistic of one column of numbers."""

    _shown_name = ""

    def add(self, values: Any, *, person: Any = None) -> None:
        """Counts one number for every row in the open tick."""
        self._take([_input.column(np.atleast_1d(values) if np.isscalar(values) else values)], person)

    def tick(self) -> Any:
        """Closes the tick, and releases the estimate since the beginning."""
        return super().tick().get(self._shown_name)


class RunningSum(_One):
    """The running sum of numbers between public bounds.

    Parameters
    ----------
    bounds : the smallest and the largest number; others are clipped to them.
    ticks, epsilon, delta, ... : as for :class:`Tracker`.

    >>> hours = RunningSum((0, 24), ticks=7, epsilon=1, delta=1e-6, seed_insecure=1)
    >>> hours.add([8.0] * 1000)
    >>> week = hours.tick()
    >>> week.low < 8000 < week.high
    True
    """

    _shown_name = f"sum {_VALUE}"

    def __init__(self, bounds: Sequence[float], **stated: Any) -> None:
        super().__init__(sums={_VALUE: bounds}, **stated)


class RunningMean(_One):
    """The running mean of numbers between public bounds: sum and count for one budget.

    >>> age = RunningMean((0, 100), ticks=7, epsilon=1, delta=1e-6, seed_insecure=1)
    >>> age.add(range(80))
    >>> 0 <= age.tick().value <= 100
    True
    """

    _shown_name = f"mean {_VALUE}"

    def __init__(self, bounds: Sequence[float], **stated: Any) -> None:
        super().__init__(means={_VALUE: bounds}, **stated)


class RunningHistogram(_One):
    """The running histogram of numbers between public bounds, with quantiles where stated.

    >>> age = RunningHistogram((0, 100), bins=4, ticks=7, epsilon=1, delta=1e-6, seed_insecure=1)
    >>> age.add([10.0] * 500 + [60.0] * 500)
    >>> [round(bin.value, -2) for bin in age.tick()]
    [500.0, 0.0, 500.0, 0.0]
    """

    def __init__(self, bounds: Sequence[float], *, bins: int, **stated: Any) -> None:
        low, high = _pair(_VALUE, bounds, has_bins=False)
        self.edges_ = np.linspace(low, high, int(bins) + 1)
        super().__init__(histograms={_VALUE: (low, high, int(bins))}, **stated)

    def tick(self) -> Any:
        """Closes the tick, and releases the count of every bin since the beginning."""
        told = Tracker.tick(self)
        return [told.get(name) for name in told.names if ".." in name]

    def quantile(self, share: float) -> Estimate:
        """A quantile of the last release, if it was stated in ``quantiles``."""
        if not self.releases_:
            raise ValueError("nothing is released yet: tick() closes a tick")
        return self.releases_[-1].get(f"{_VALUE} quantile {float(share):g}")

    def plot(self, name: str | None = None, span: str = "total") -> Any:
        """Draws the bins of the last release with their intervals, or another statistic."""
        if name is not None:
            return super().plot(name, span)
        import matplotlib.pyplot as plt

        if not self.releases_:
            raise ValueError("nothing is released yet: tick() closes a tick")
        told = self.releases_[-1]
        bins = [told.get(bin, span=span) for bin in told.names if ".." in bin]
        value, low, high = map(np.array, zip(*bins))
        figure, axis = plt.subplots(figsize=(7, 3.5))
        middles = (self.edges_[1:] + self.edges_[:-1]) / 2
        axis.bar(middles, value, width=np.diff(self.edges_), alpha=0.5)
        axis.errorbar(middles, value, yerr=[value - low, high - value], fmt="none", color="0.2")
        axis.set_ylabel("count")
        figure.tight_layout()
        return figure


class RunningCount(Tracker):
    """How many rows have come, of each group where groups are stated.

    Parameters
    ----------
    groups : the public names of the groups; what is not listed is counted as "(other)".
    ticks, epsilon, delta, ... : as for :class:`Tracker`.

    >>> visits = RunningCount(["north", "south"], ticks=30, epsilon=1, delta=1e-6, seed_insecure=1)
    >>> visits.add(["north"] * 400)
    >>> counts = visits.tick()
    >>> list(counts), counts["north"].low < 400 < counts["north"].high
    (['north', 'south', '(other)'], True)
    """

    def __init__(self, groups: Iterable[Any] = (), **stated: Any) -> None:
        self._listed = [str(group) for group in groups]
        super().__init__(groups={_GROUP: self._listed} if self._listed else {}, **stated)

    def add(self, rows: Any, *, person: Any = None) -> None:
        """Counts a row for every group that is given; without groups, so many rows."""
        if self._listed:
            self._take([_input.column(rows)], person)
        elif isinstance(rows, (int, np.integer)) and rows >= 0:
            self._take([(np.zeros(rows), None)], person)
        else:
            raise TypeError("without groups, give the number of rows")

    def tick(self) -> Any:
        """Closes the tick, and releases the counts since the beginning: one, or a dict by group."""
        told = super().tick()
        if not self._listed:
            return told.get("count")
        return {group: told.get("count", group) for group in [*self._listed, OTHER]}
