"""Running statistics release what `hushstream track` does, and go on after a stop."""

import csv
import json

import numpy as np
import pandas as pd
import pytest

import hushstream
from hushstream import Ledger, RunningCount, RunningHistogram, RunningMean, RunningSum, Tracker

REAL = dict(epsilon=1, delta=1e-6)
SIMULATED = dict(**REAL, seed_insecure=7)


@pytest.fixture(scope="module")
def rows():
    draw = np.random.default_rng(3)
    return pd.DataFrame(
        {
            "region": draw.choice(["north", "south", "elsewhere"], 500),
            "age": np.where(draw.uniform(size=500) < 0.05, np.nan, draw.uniform(0, 110, 500)),
            "wage": draw.uniform(0, 900, 500).round(2),
        }
    )


def tracked(program, folder, frame, *flags):
    """The tables of the program, with ticks of 100 records."""
    frame.to_csv(folder / "rows.csv", index=False)
    program(
        "track", folder / "rows.csv", "--by", 100, "--ticks", 5, "--epsilon", 1, "--delta", 1e-6,
        "--seed-insecure", 7, "--releases", folder / "releases", "--csv", folder / "table.csv", *flags,
    )
    lines = map(json.loads, (folder / "releases").read_text().splitlines())
    tables = [line["rows"] for line in lines if "rows" in line]
    assert len(tables) == 5
    return tables


def in_ticks(tracker, frame, give):
    for first in range(0, len(frame), 100):
        tracker.add(give(frame[first : first + 100]))
        yield tracker.tick()


def test_tables_are_those_of_the_program(program, tmp_path, rows):
    expected = tracked(
        program, tmp_path, rows, "--mean", "age=0:100", "--sum", "wage=0:1000", "--histogram",
        "wage=0:1000/4", "--quantile", "0.5", "--group", "region=north|south", "--last", 2, "--decay", 0.5,
    )
    tracker = Tracker(
        ticks=5, means={"age": (0, 100)}, sums={"wage": (0, 1000)}, histograms={"wage": (0, 1000, 4)},
        quantiles=[0.5], groups={"region": ["north", "south"]}, last=[2], decay=[0.5], **SIMULATED,
    )
    released = list(in_ticks(tracker, rows, lambda part: part))
    assert [told._rows for told in released] == expected
    of_south = {row["span"]: row["mean age"] for row in expected[-1] if row.get("group") == {"region": "south"}}
    assert set(of_south) == {"total", "tick", "last 2", "decay 0.5"}
    for span, estimate in of_south.items():
        assert list(released[-1].get("mean age", "south", span)) == estimate
    assert tracker.records_ == 500 and tracker.ticks_ == 5
    # A line for every number, as in the program's table.
    frame = tracker.to_pandas()
    with open(tmp_path / "table.csv") as file:
        told = list(csv.DictReader(file))
    assert len(frame) == len(told)
    assert [float(row["value"]) for row in told] == frame["value"].tolist()
    assert [row["statistic"] for row in told] == frame["statistic"].tolist()
    assert [row["region"] for row in told] == frame["region"].fillna("").tolist()


@pytest.mark.parametrize("kind", ["dict", "polars", "pyarrow"])
def test_every_kind_of_frame_gives_the_same_tables(kind, rows):
    def asked():
        return Tracker(
            ticks=1, means={"age": (0, 100)}, groups={"region": ["north", "south"]}, **SIMULATED
        )

    shapes = {
        "dict": lambda: {name: rows[name].to_numpy() for name in rows},
        "polars": lambda: pytest.importorskip("polars").from_pandas(rows),
        "pyarrow": lambda: pytest.importorskip("pyarrow").Table.from_pandas(rows),
    }
    one, other = asked(), asked()
    one.add(rows)
    other.add(shapes[kind]())
    assert one.tick()._rows == other.tick()._rows


def test_single_statistics_are_those_of_the_program(program, tmp_path, rows):
    number = rows[["age"]].rename(columns={"age": "value"})
    single = {
        "--sum": ("value=0:100", RunningSum((0, 100), ticks=5, **SIMULATED), "sum value"),
        "--mean": ("value=0:100", RunningMean((0, 100), ticks=5, **SIMULATED), "mean value"),
    }
    for flag, (stated, statistic, name) in single.items():
        tables = tracked(program, tmp_path, number, flag, stated)
        released = list(in_ticks(statistic, number, lambda part: part["value"]))
        assert [list(told) for told in released] == [table[0][name] for table in tables]
    tables = tracked(program, tmp_path, number, "--histogram", "value=0:100/5", "--quantile", "0.5")
    bins = RunningHistogram((0, 100), bins=5, quantiles=[0.5], ticks=5, **SIMULATED)
    for told, table in zip(in_ticks(bins, number, lambda part: part["value"].to_numpy()), tables):
        assert [list(bin) for bin in told] == [table[0][name] for name in table[0] if ".." in name]
    assert list(bins.quantile(0.5)) == tables[-1][0]["value quantile 0.5"]
    groups = rows[["region"]].rename(columns={"region": "group"})
    tables = tracked(program, tmp_path, groups, "--count", "--group", "group=north|south")
    counts = RunningCount(["north", "south"], ticks=5, **SIMULATED)
    for told, table in zip(in_ticks(counts, groups, lambda part: part["group"]), tables):
        by_group = {row["group"]["group"]: row["count"] for row in table if row["span"] == "total" and "group" in row}
        assert {name: list(estimate) for name, estimate in told.items()} == by_group


def test_a_count_without_groups():
    count = RunningCount(ticks=3, **SIMULATED)
    count.add(1000)
    estimate = count.tick()
    assert estimate.low <= estimate.value <= estimate.high and abs(estimate.value - 1000) < 100
    with pytest.raises(TypeError):
        count.add(["a"])


def test_a_stopped_run_goes_on_and_gives_its_last_tables_again(tmp_path):
    stated = dict(**REAL, ticks=4, ledger=tmp_path / "l", state=tmp_path / "s")
    first = RunningSum((0, 10), **stated)
    released = []
    for _ in range(2):
        first.add([5.0] * 50)
        released.append(first.tick())
    first.close()
    again = RunningSum((0, 10), resume=True, **stated)
    assert again.ticks_ == 2 and again.records_ == 100 and len(Ledger(tmp_path / "l").runs) == 1
    assert again.releases_[-1].get("sum value") == released[-1]
    again.add([5.0] * 50)
    assert again.tick() != released[-1] and again.releases_[-1].tick == 3
    again.close()
    with pytest.raises(hushstream.HushstreamError, match="closed"):
        again.add([1.0])
    with pytest.raises(hushstream.HushstreamError, match="another way"):
        RunningSum((0, 20), resume=True, **stated)


def test_what_is_refused_spends_nothing(tmp_path):
    ledger = tmp_path / "l"
    with pytest.raises(hushstream.HushstreamError, match="ledger="):
        RunningSum((0, 10), ticks=4, **REAL)
    with pytest.raises(ValueError, match="smallest, largest"):
        RunningSum((0, 10, 5), ticks=4, ledger=ledger, **REAL)
    with pytest.raises(hushstream.HushstreamError, match="quantile"):
        Tracker(ticks=4, means={"a": (0, 1)}, quantiles=[0.5], ledger=ledger, **REAL)
    with pytest.raises(hushstream.HushstreamError):
        RunningHistogram((0, 10), bins=1, ticks=4, ledger=ledger, **REAL)
    assert not ledger.exists()
    with Tracker(ticks=1, means={"a": (0, 1)}, ledger=ledger, **REAL) as tracker:
        with pytest.raises(ValueError, match="no column 'a'"):
            tracker.add({"b": [1.0]})
        tracker.tick()
        with pytest.raises(hushstream.HushstreamError):
            tracker.tick()
    with pytest.raises(hushstream.BudgetExceeded):
        Tracker(ticks=1, means={"a": (0, 1)}, ledger=ledger, **REAL)


def test_values_that_cannot_be_read_count_for_nothing_and_are_not_told():
    one, other = (RunningSum((0, 10), ticks=2, **SIMULATED) for _ in range(2))
    one.add([1.0, np.nan, 3.0])
    other.add(["1.0", "secret 77", "3.0"])
    assert one.tick() == other.tick()
    assert other.operator_.reveal() == {"nulls": 1} and "77" not in repr(other.operator_)


def test_persons_and_cards(tmp_path, rows):
    mean = RunningMean((0, 100), ticks=5, max_per_person=5, ledger=tmp_path / "l", **REAL)
    mean.add(rows["age"], person=np.arange(500) % 200)
    mean.tick()
    assert mean.guarantee_.unit == "person"
    with pytest.raises(ValueError, match="person="):
        mean.add(rows["age"])
    assert "published sequences of tables" in str(mean.guarantee_)
    card = mean._repr_html_()
    assert "Tick 1" in card and "mean value" in card and "SIMULATED" not in card
    simulated = RunningCount(["a", "b"], ticks=2, **SIMULATED)
    simulated.add(["a"] * 30)
    simulated.tick()
    assert "SIMULATED" in simulated._repr_html_()
    with pytest.raises(TypeError, match="pickled"):
        import pickle

        pickle.dumps(simulated)


def test_pictures(rows):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    tracker = Tracker(
        ticks=5, means={"age": (0, 100)}, groups={"region": ["north", "south"]}, **SIMULATED
    )
    with pytest.raises(ValueError, match="nothing is released"):
        tracker.plot()
    list(in_ticks(tracker, rows, lambda part: part))
    lines = tracker.plot().axes[0].get_lines()
    assert len(lines) == 3 and len(lines[0].get_xdata()) == 5
    bins = RunningHistogram((0, 100), bins=5, ticks=5, **SIMULATED)
    bins.add(rows["age"])
    bins.tick()
    assert len(bins.plot().axes[0].patches) == 5


def test_a_closed_run_tells_what_it_told(rows):
    """What was promised and how far it went is known after the end; nothing is added any more."""
    with Tracker(ticks=2, means={"age": (0, 110)}, **SIMULATED) as tracker:
        tracker.add(rows[["age"]])
        tracker.tick()
        told = tracker.records_, tracker.ticks_, tracker.plan_, tracker.guarantee_.epsilon
    assert (tracker.records_, tracker.ticks_, tracker.plan_, tracker.guarantee_.epsilon) == told
    assert told[:2] == (500, 1)
    assert tracker.operator_.reveal()["nulls"] >= 0
    tracker.close()
    for refused in (tracker.tick, lambda: tracker.add(rows[["age"]])):
        with pytest.raises(hushstream.HushstreamError, match="closed"):
            refused()
