"""Whatever is killed, and when: the releases of one process, bit for bit."""

import pytest
from conftest import Source, of_one_process

SIZES = [100, 100, 100, 100]
STATED = dict(estimator={"batch": 100}, batches=4)


@pytest.fixture
def source(tmp_path):
    return Source(tmp_path, SIZES)


def in_one_process(source):
    """Rows one after the other, without any of the machinery: batches are full here."""
    import hushstream
    from driver import SETTINGS

    learner = hushstream.Classifier(**SETTINGS, batch=100, rounds=401, every_release=True)
    for table in source.tables:
        learner.partial_fit(table.select(["a", "b"]), table["y"])
    return [(model.release, model.weights.tolist()) for model in learner.sync()]


def test_an_executor_is_killed(source, run, released):
    """The one of `make test`: an executor dies in batch 1."""
    expected = in_one_process(source)
    assert of_one_process(source.tables, 100) == expected
    said = run(source, kill="executor:1", **STATED)
    assert "killed an executor" in said and "workers saw rows" in said
    assert released() == expected


@pytest.mark.parametrize("point", ["before", "after"])
@pytest.mark.parametrize("batch", [0, 2])
def test_the_driver_is_killed(point, batch, source, run, released):
    run(source, kill=f"{point}:{batch}", dies=True, **STATED)
    run(source, **STATED)
    assert released() == in_one_process(source)


def test_tasks_that_fail_after_their_sum_count_once(source, run, released):
    run(source, kill="task:0", **STATED)
    assert released() == in_one_process(source)
