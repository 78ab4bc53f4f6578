"""Whatever is killed, and when: the releases of one process, bit for bit."""

import pytest
from conftest import Source, of_one_process, released
from driver import SETTINGS

import hushstream


@pytest.fixture
def source(tmp_path):
    return Source(tmp_path, [100, 100, 100, 100])


def in_one_process(source):
    """Rows one after the other, without any of the machinery: batches are full here."""
    learner = hushstream.Classifier(**SETTINGS, batch=100, rounds=401, every_release=True)
    for table in source.tables:
        learner.partial_fit(table.select(["a", "b"]), table["y"])
    return [(model.release, model.weights.tolist()) for model in learner.sync()]


STATED = dict(estimator={"batch": 100}, batches=4)


@pytest.mark.short
def test_an_executor_is_killed(source, run, tmp_path):
    """The one of `make test`: an executor dies in batch 1."""
    expected = in_one_process(source)
    assert of_one_process(source.tables, batch=100) == expected
    [told] = run(source.job(**STATED), kill="executor:1")
    assert "killed an executor" in (tmp_path / "said").read_text()
    assert released(tmp_path) == expected
    assert told["records"] == 400 and "workers saw rows" in told["card"]


@pytest.mark.parametrize("point", ["before", "after"])
@pytest.mark.parametrize("batch", [0, 2])
def test_the_driver_is_killed(point, batch, source, run, tmp_path):
    """Before a batch is committed, and after it but before Spark knows."""
    run(source.job(**STATED), kill=f"{point}:{batch}", dies=True)
    [told] = run(source.job(**STATED))
    assert told["records"] == 400
    assert released(tmp_path) == in_one_process(source)


def test_the_driver_is_killed_in_a_table_at_rest(run, tmp_path):
    source = Source(tmp_path, [350])
    [table] = source.tables
    parts = [table.slice(first, min(100, 350 - first)) for first in range(0, 350, 100)]
    run(source.job("fit", estimator={"batch": 100}), kill="after:1", dies=True)
    [told] = run(source.job("fit", estimator={"batch": 100}))
    assert told["records"] == 350
    assert released(tmp_path) == of_one_process(parts, batch=100)


def test_tasks_that_fail_after_their_sum_count_once(source, run, tmp_path):
    [told] = run(source.job(**STATED), kill="task:0", options={"spark.task.maxFailures": "4"})
    assert told["records"] == 400
    assert released(tmp_path) == in_one_process(source)
