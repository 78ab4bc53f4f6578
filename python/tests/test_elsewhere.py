"""Sums made elsewhere: any split and order gives the releases of one process, and each batch once."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import hushstream
from hushstream import Classifier, HushstreamError, Regressor, Tracker
from hushstream.elsewhere import Authority, covered, merge, partial

SETTINGS = dict(epsilon=4, delta=1e-6, bounds=(-1, 1), seed_insecure=7)


def frame(rows=300, seed=0):
    draw = np.random.default_rng(seed)
    a, b = draw.uniform(-1, 1, (2, rows))
    return pd.DataFrame({"a": a, "b": b, "y": np.where(a + b > 0, "yes", "no"), "who": draw.integers(0, 40, rows)})


def authority(**more):
    learner = Classifier(**{**SETTINGS, "classes": ["no", "yes"], "batch": 100, **more})
    return Authority(learner, ["a", "b"], target="y", batches=3)


def answers(run, rows, cuts, shapes=(lambda part: part,)):
    """Partial sums of the rows between cuts, in whatever shape they come."""
    ends = [*cuts, len(rows)]
    question, parts = run.question(), []
    for place, (first, end) in enumerate(zip([0, *cuts], ends)):
        part = shapes[place % len(shapes)](rows[first:end])
        start = int(rows.index[0])
        parts.append(partial(question, run.reading, [part], [("log", start + first, start + end)]))
    return parts


@pytest.mark.parametrize("stated", [{"norm": 1}, {"norm": 1, "recipe": "pftal-convex"}, {}])
def test_any_split_in_any_shape_and_order_is_one_process(stated):
    rows = frame()
    alone = Classifier(**SETTINGS, classes=["no", "yes"], batch=100, rounds=301, every_release=True, **stated)
    alone.partial_fit(rows[["a", "b"]], rows["y"])
    expected = [(model.release, model.weights.tolist()) for model in alone.sync()]
    assert len(expected) == 3
    shapes = [
        lambda part: part,
        lambda part: pa.Table.from_pandas(part),
        lambda part: pa.RecordBatch.from_pandas(part),
        lambda part: {name: part[name].to_numpy() for name in part},
    ]
    for cuts in ([], [50], [1, 2, 99], [10, 20, 30, 40, 90]):
        run = authority(**stated)
        for number in range(3):
            parts = answers(run, rows[100 * number : 100 * number + 100], cuts, shapes)
            if number == 1:
                parts = [merge(run.question(), parts[::-1])]
            taken = run.commit("clicks", number, parts[::-1])
            assert taken.is_new and (taken.release.release, taken.release.weights.tolist()) == expected[number]
        assert not run.asks and run.delivered == ("clicks", 2)
        facts = run.estimator.guarantee_._repr_html_()
        assert "workers saw rows" in facts
    assert run.estimator.predict(rows[["a", "b"]]).shape == (300,)


def test_numbers_vectors_and_unknown_labels():
    rows = frame()
    bounds = dict(**SETTINGS, norm=1, batch=300, target_bounds=(-2, 2))
    alone = Regressor(**bounds, rounds=301).partial_fit(rows[["a", "b"]].to_numpy(), rows["a"])
    listed = pa.array(rows[["a", "b"]].to_numpy().tolist())
    vectors = pa.table({"v": listed, "y": rows["a"]})
    run = Authority(Regressor(**bounds), ["x1", "x2"], target="y", batches=1, vector="v")
    part = partial(run.question(), run.reading, vectors.to_batches(max_chunksize=70), [("all", 0, 300)])
    assert (run.commit("s", 0, [part]).release.weights == alone.model_.weights).all()
    assert run.estimator.predict(rows[["a", "b"]].to_numpy()).shape == (300,)
    # A label that is none of the classes is a row without a record, here as in a stream.
    strange = rows.assign(y=rows["y"].where(rows.index % 7 > 0, "what"))
    missing = rows.assign(y=rows["y"].where(rows.index % 7 > 0, None))
    models = []
    for some in (strange, missing):
        run = authority(batch=300, norm=1)
        models.append(run.commit("s", 0, answers(run, some, [])).release.weights)
    assert (models[0] == models[1]).all()


def test_each_batch_is_taken_once(tmp_path):
    rows = frame()
    stated = dict(state=tmp_path / "s", ledger=tmp_path / "l", norm=1)
    run = authority(**stated)
    stale = run.question()
    parts = answers(run, rows[:100], [30])
    # Counted twice: refused, and nothing is taken.
    with pytest.raises(HushstreamError, match="would be counted twice"):
        run.commit("clicks", 0, [*parts, parts[0]])
    first = run.commit("clicks", 0, parts)
    again = run.commit("clicks", 0, [])
    assert first.is_new and not again.is_new
    assert (first.release.weights == again.release.weights).all()
    # A stale question.
    old = partial(stale, run.reading, [rows[100:200]], [("log", 100, 200)])
    with pytest.raises(HushstreamError, match="question"):
        run.commit("clicks", 1, [old])
    parts = answers(run, rows[100:200], [])
    for source, number, words in (
        ("other", 0, "may read everybody again"),
        ("clicks", 2, "would be left out"),
    ):
        with pytest.raises(HushstreamError, match=words):
            run.commit(source, number, parts)
    replanned = answers(run, rows[50:150], [])
    with pytest.raises(HushstreamError, match="counted twice"):
        run.commit("clicks", 1, replanned)
    run.commit("clicks", 1, parts)
    assert run.estimator.records_ == 200
    del run
    # After a stop the run goes on, and gives its last release again.
    back = authority(**stated)
    assert back.delivered == ("clicks", 1) and len(hushstream.Ledger(tmp_path / "l").runs) == 1
    assert not back.commit("clicks", 1, []).is_new
    with pytest.raises(HushstreamError, match="first new record"):
        back.commit("new", 0, answers(back, rows[200:], []), accept_new_source={"log": 100})
    accepted = back.commit("new", 0, answers(back, rows[200:], []), accept_new_source={"log": 200})
    assert accepted.is_new and not back.asks


def test_statistics_are_summed_elsewhere(tmp_path):
    rows = frame().assign(y=lambda rows: rows["y"])
    asked = dict(ticks=3, means={"a": (-1, 1)}, groups={"y": ["yes", "no"]}, epsilon=1, delta=1e-6, seed_insecure=7)
    alone, tracker = Tracker(**asked), Tracker(**asked, state=tmp_path / "s", ledger=tmp_path / "l")
    run = Authority(tracker)
    for number in range(3):
        some = rows[100 * number : 100 * number + 100]
        alone.add(some)
        expected = alone.tick()
        taken = run.commit("days", number, answers(run, some, [40, 60]))
        again = run.commit("days", number, [])
        assert taken.is_new and not again.is_new
        assert taken.release._rows == again.release._rows == expected._rows
    assert tracker.ticks_ == 3 and len(tracker.releases_) == 3
    assert tracker.to_pandas().equals(alone.to_pandas())


def test_persons_take_turns():
    rows = frame()
    stated = dict(**SETTINGS, classes=["no", "yes"], norm=1, batch=100, max_per_person=2, min_separation=2)
    runs = [
        Authority(Classifier(**stated), ["a", "b"], target="y", person="who", batches=3) for _ in range(2)
    ]
    released = []
    for run, splits in zip(runs, (1, 3)):
        models = []
        for number in range(3):
            some = rows[100 * number : 100 * number + 100]
            question, parts = run.question(), []
            for worker in range(splits):
                own = some[some["who"] % splits == worker]
                spans = [("log", int(place), int(place) + 1) for place in own.index]
                parts.append(partial(question, run.reading, [own], spans))
            models.append(run.commit("s", number, parts).release.weights.tolist())
        released.append(models)
        assert run.estimator.guarantee_.unit == "person"
    assert released[0] == released[1]
    question = runs[0]
    with pytest.raises(ValueError, match="persons need both"):
        Authority(Classifier(**stated), ["a", "b"], target="y", batches=3)


def test_what_must_be_stated_is_asked_before_anything_is_spent(tmp_path):
    real = dict(epsilon=1, delta=1e-6, ledger=tmp_path / "l")
    with pytest.raises(ValueError, match="batch="):
        Authority(Classifier(**real, bounds=(-1, 1)), ["a"], target="y", batches=3)
    with pytest.raises(ValueError, match="batches="):
        Authority(Classifier(**real, bounds=(-1, 1), batch=9), ["a"], target="y")
    with pytest.raises(HushstreamError, match="must be stated"):
        Authority(Classifier(epsilon=1, delta=1e-6, batch=9, seed_insecure=1), ["a"], target="y", batches=3)
    assert not (tmp_path / "l").exists()
    with pytest.raises(HushstreamError):
        covered([b"no partial sum"])
    with pytest.raises(HushstreamError):
        partial(b"no question", authority().reading, [], [])


def test_a_batch_is_asked_for_its_names_once(monkeypatch):
    """Asking once for each column costs as much as adding the rows."""
    draw = np.random.default_rng(3)
    names = [f"x{k}" for k in range(20)]
    rows = pa.table({**{name: draw.uniform(-1, 1, 30) for name in names}, "y": [0, 1] * 15})
    learner = Classifier(epsilon=4, delta=1e-6, bounds=(-1, 1), norm=1, batch=30, seed_insecure=1)
    authority = Authority(learner, names, target="y", batches=2)
    asked = []
    known = hushstream._input.feature_names
    monkeypatch.setattr(
        hushstream.elsewhere._input, "feature_names", lambda rows: asked.append(1) or known(rows)
    )
    partial(authority.question(), authority.reading, rows.to_batches(), [("log", 0, 30)])
    assert len(asked) == 1
