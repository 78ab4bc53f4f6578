"""What must not go wrong: budgets, bounds, figures, stops."""

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import hushstream
from hushstream import Classifier, HushstreamError, Ledger, OperatorOnly, Regressor, Schema

PRIVATE = 123456.789


def test_a_second_fit_spends_or_is_refused_in_words_about_people(tmp_path, numbers):
    X, y = numbers
    ledger = Ledger(tmp_path / "people.ledger", epsilon=1.5, delta=1e-6)
    learner = Classifier(epsilon=1, delta=5e-7, bounds=(-1, 1), ledger=ledger)
    first = learner.fit(X, y).predict(X)
    assert len(ledger.runs) == 1 and 0.3 < ledger.spent < 1
    with pytest.raises(hushstream.BudgetExceeded, match="decision about the people in the data"):
        learner.fit(X, y).fit(X, y)
    assert len(ledger.runs) <= 2
    # What was released before stays, also where the refused rows have other columns.
    with pytest.raises(hushstream.BudgetExceeded):
        learner.fit(X[:, :2], y)
    assert learner.predict(X).shape == first.shape
    with pytest.raises(HushstreamError, match="decision about the people"):
        Ledger(tmp_path / "people.ledger", epsilon=9)
    with pytest.raises(TypeError):
        ledger.raise_to(9, 1e-6)
    before = len(ledger.runs)
    ledger.raise_to(9, 1e-6, because="a test")
    learner.fit(X, y)
    assert len(ledger.runs) == before + 1
    assert "left" in repr(ledger) and "people" not in learner.guarantee_._repr_html_()[:20]


def test_a_ledger_is_never_raised_by_the_way(tmp_path, numbers):
    X, y = numbers
    few, many = (Ledger(tmp_path / "l", epsilon=total, delta=1e-6) for total in (1, 9))
    Classifier(epsilon=1, delta=1e-6, bounds=(-1, 1), ledger=few).fit(X, y)
    with pytest.raises(hushstream.BudgetExceeded):
        Classifier(epsilon=1, delta=1e-6, bounds=(-1, 1), ledger=many).fit(X, y)
    assert few.to_dict()["epsilon"] == 1


def test_nothing_is_read_from_the_data_unless_the_noise_is_simulated(numbers, tmp_path):
    X, y = numbers
    real = dict(epsilon=1, delta=1e-6, ledger=tmp_path / "l")
    with pytest.raises(HushstreamError, match="must be stated"):
        Classifier(**real).fit(X, y)
    with pytest.raises(HushstreamError, match="none of the 2 classes"):
        Classifier(**real, bounds=(-1, 1)).fit(X, y + 5)
    with pytest.raises(HushstreamError, match="none of the 2 classes"):
        Classifier(**real, bounds=(-1, 1)).fit(X, np.where(y > 0, "yes", "no"))
    with pytest.raises(HushstreamError, match="target_bounds"):
        Regressor(**real, bounds=(-1, 1)).fit(X, y)
    assert not (tmp_path / "l").exists(), "nothing was charged"
    learner = Classifier(epsilon=1, delta=1e-6, seed_insecure=1).fit(X, y + 5)
    assert list(learner.classes_) == [5, 6]
    card = learner.guarantee_._repr_html_()
    assert "read from the data" in card and "SIMULATED" in card and "class=\"simulated\"" in card
    stated = Classifier(epsilon=1, delta=1e-6, bounds=(-1, 1), seed_insecure=1).fit(X, y)
    assert "read from the data" not in stated.guarantee_._repr_html_()


def test_a_real_run_needs_a_ledger(numbers):
    X, y = numbers
    with pytest.raises(HushstreamError, match="ledger="):
        Classifier(epsilon=1, delta=1e-6, bounds=(-1, 1)).fit(X, y)
    with pytest.raises(HushstreamError, match="epsilon="):
        Classifier(bounds=(-1, 1), seed_insecure=1).fit(X, y)


def test_sample_weight_is_refused(numbers):
    X, y = numbers
    learner = Classifier(epsilon=1, delta=1e-6, bounds=(-1, 1), seed_insecure=1)
    with pytest.raises(ValueError, match="sample_weight"):
        learner.fit(X, y, sample_weight=np.ones(len(y)))
    with pytest.raises(ValueError, match="sample_weight"):
        learner.partial_fit(X, y, sample_weight=np.ones(len(y)))
    with pytest.raises(TypeError, match="weights"):
        learner.fit(X, y, weights=None)


def test_figures_from_private_data_are_revealed_by_name_only(numbers):
    X, y = numbers
    learner = Classifier(epsilon=8, delta=1e-6, bounds=(-1, 1), seed_insecure=1).fit(X, y)
    figures = learner.operator_
    assert isinstance(figures, OperatorOnly) and "reveal" in repr(figures)
    accuracy = figures.reveal()["metrics"]["accuracy"]
    assert accuracy > 0.5
    shown = repr(learner) + repr(learner.outcome_) + learner._repr_html_() + str(figures)
    assert str(accuracy) not in shown and "accuracy" not in learner.outcome_
    quiet = Classifier(epsilon=8, delta=1e-6, bounds=(-1, 1), quiet=True, seed_insecure=1).fit(X, y)
    assert quiet.operator_.reveal().get("metrics") is None


def test_a_row_that_cannot_be_read_is_told_by_its_place_and_never_by_its_value(tmp_path, people, schema):
    frame = people.astype({"age": object})
    frame.loc[41, "age"] = f"{PRIVATE} years"
    learner = Classifier(
        epsilon=1, delta=1e-6, schema=schema, classes=["no", "yes"], ledger=tmp_path / "l"
    )
    with pytest.raises(HushstreamError) as told:
        learner.fit(frame, "late")
    text = str(told.value)
    assert "row 41" in text and "`age`" in text and str(PRIVATE) not in text
    assert "1 of 3000 rows" in text and not (tmp_path / "l").exists()
    # In a stream it is a round without a record.
    learner.set_params(rounds=len(frame))
    learner.partial_fit(frame, "late")
    assert learner.records_ == len(frame)


def test_a_value_that_is_no_number_changes_nothing_for_others(numbers):
    X, y = numbers
    settings = dict(epsilon=1, delta=1e-6, bounds=(-1, 1), rounds=600, seed_insecure=1)
    wrong = X.copy()
    wrong[17, 2] = np.inf
    learner = Classifier(**settings, norm=1).partial_fit(wrong, y)
    assert learner.records_ == 600 and np.isfinite(learner.model_.weights).all()
    with pytest.raises(HushstreamError, match="row 17"):
        Classifier(**settings).fit(wrong, y)


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_a_sparse_matrix_is_checked_before_anything_is_spent(wrong, tmp_path):
    scipy_sparse = pytest.importorskip("scipy.sparse")
    X = scipy_sparse.random(100, 20, density=0.2, format="csr", random_state=1)
    y = np.arange(100) % 2
    X[41, 3] = wrong
    learner = Classifier(epsilon=1, delta=1e-6, norm=1, ledger=tmp_path / "l")
    with pytest.raises(ValueError, match="row 41 .from 0.. Nothing is charged"):
        learner.fit(X, y)
    assert not (tmp_path / "l").exists()
    # In a stream it is a round without a record.
    learner.set_params(rounds=100).partial_fit(X, y)
    assert learner.records_ == 100 and np.isfinite(learner.model_.weights).all()


def test_unknown_labels_of_a_stream_are_rounds_without_a_record(numbers):
    X, _ = numbers
    settings = dict(epsilon=1, delta=1e-6, bounds=(-1, 1), norm=1, rounds=4, seed_insecure=1)
    rows = [dict(zip("abcd", row)) for row in X[:4].tolist()]
    known, unknown = Classifier(classes=["n", "y"], **settings), Classifier(classes=["n", "y"], **settings)
    for learner, labels in ((known, ["n", None, "y", "n"]), (unknown, ["n", "what", "y", "n"])):
        for row, label in zip(rows, labels):
            learner.learn_one(row, label)
    assert (known.model_.weights == unknown.model_.weights).all()


def test_persons_are_protected_and_told_apart(tmp_path, numbers):
    X, y = numbers
    person = np.arange(600) % 100
    learner = Classifier(
        epsilon=1, delta=1e-6, bounds=(-1, 1), max_per_person=6, ledger=tmp_path / "l"
    ).fit(X, y, person=person)
    assert learner.guarantee_.unit == "person"
    assert learner.predict(X).shape == (600,)
    with pytest.raises(HushstreamError, match="max_per_person"):
        Classifier(epsilon=1, delta=1e-6, bounds=(-1, 1), seed_insecure=1).fit(X, y, person=person)


def test_a_stopped_run_goes_on(tmp_path, numbers):
    X, y = numbers
    settings = dict(
        epsilon=1, delta=1e-6, bounds=(-1, 1), norm=1, recipe="pftal-convex", batch=10, rounds=600,
        ledger=tmp_path / "l", state=tmp_path / "s",
    )
    Classifier(**settings).partial_fit(X[:250], y[:250]).sync()
    again = Classifier(**settings)
    again.partial_fit(X[:0], y[:0], resume=True)
    assert again.records_ == 250 and len(Ledger(tmp_path / "l").runs) == 1
    again.partial_fit(X[250:], y[250:])
    assert again.records_ == 600
    with pytest.raises(HushstreamError, match="planned for 600 records"):
        again.partial_fit(X, y)


def test_coefficients_are_for_values_as_they_are(numbers):
    X, y = numbers
    X = 10 * X + 3
    settings = dict(epsilon=8, delta=1e-6, bounds=(-10, 20), norm=2, seed_insecure=1)
    learner = Classifier(**settings).fit(X, y)
    assert learner.coef_.shape == (1, 4) and learner.intercept_.shape == (1,)
    told = X @ learner.coef_[0] + learner.intercept_[0]
    np.testing.assert_allclose(told, learner.decision_function(X), atol=1e-9)
    many = Classifier(**settings, classes=[0, 1, 2]).fit(X, y + (X[:, 2] > 5))
    assert many.coef_.shape == (3, 4)
    np.testing.assert_allclose(X @ many.coef_.T + many.intercept_, many.decision_function(X), atol=1e-9)
    number = Regressor(**settings, target_bounds=(-100, 200)).fit(X, X[:, 0])
    assert number.coef_.shape == (4,)
    np.testing.assert_allclose(
        np.clip(X @ number.coef_ + number.intercept_, -100, 200), number.predict(X), atol=1e-9
    )
    curves = Classifier(epsilon=8, delta=1e-6, bounds=(-10, 20), seed_insecure=1).fit(X, y)
    for name in ("coef_", "intercept_"):
        with pytest.raises(AttributeError, match="explain"):
            getattr(curves, name)
        assert not hasattr(curves, name)
    scipy_sparse = pytest.importorskip("scipy.sparse")
    rows = scipy_sparse.csr_matrix(X / np.linalg.norm(X, axis=1, keepdims=True))
    sparse = Classifier(epsilon=8, delta=1e-6, norm=1.01, seed_insecure=1).fit(rows, y)
    np.testing.assert_allclose(
        rows @ sparse.coef_[0] + sparse.intercept_[0], sparse.decision_function(rows), atol=1e-9
    )


INTERRUPTED = """
import os, signal, sys, numpy as np, hushstream
from hushstream import _estimators

signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where tests run in the background

class Told:
    def __init__(self, shown, total, done): self.is_told, self.done = False, done
    def __enter__(self): return self.tell
    def __exit__(self, *_): pass
    def tell(self, rows):
        if not self.is_told:
            print("learning", self.done, flush=True)
        self.is_told = True

_estimators._progress = Told
X = np.random.default_rng(0).uniform(-1, 1, (1_000_000, 10)); y = (X[:, 0] > 0).astype(int)
learner = hushstream.Classifier(
    epsilon=1, delta=1e-6, bounds=(-1, 1), norm=1, recipe="pftal-convex", batch=1,
    ledger=sys.argv[1] + "/l", state=sys.argv[1] + "/s",
)
if sys.argv[3] == "sparse":
    import scipy.sparse
    X = scipy.sparse.csr_matrix(X)
    learner.set_params(bounds=None, norm=4)
try:
    learner.fit(X, y, resume=sys.argv[2] == "resume")
    print("done", learner.records_)
except KeyboardInterrupt:
    print("stopped", learner._run.records, flush=True)
    os._exit(0)  # nothing that Python does at its end may help
"""


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_control_c_stops_between_blocks_with_everything_durable(kind, tmp_path):
    def begin(how):
        command = [sys.executable, "-c", INTERRUPTED, str(tmp_path), how, kind]
        running = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=tmp_path)
        word, done = running.stdout.readline().split()
        assert word == "learning"
        return running, int(done)

    running, done = begin("begin")
    assert done == 0
    running.send_signal(signal.SIGINT)
    word, learned = running.communicate()[0].split()
    assert word == "stopped" and 0 < int(learned) < 1_000_000
    assert running.returncode == 0
    # Every row that was learned is durable: none is learned twice, and none is lost.
    running, done = begin("resume")
    assert done == int(learned)
    assert running.communicate()[0].split() == ["done", "1000000"]
    assert len(Ledger(tmp_path / "l").runs) == 1


def test_other_threads_run_while_it_learns():
    X = np.random.default_rng(0).uniform(-1, 1, (200_000, 20))
    y = (X[:, 0] > 0).astype(int)
    ticks, over = [], threading.Event()

    def tick():
        while not over.is_set():
            ticks.append(1)
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    learner = Classifier(
        epsilon=1, delta=1e-6, bounds=(-1, 1), norm=1, recipe="pftal-convex", rounds=200_000, seed_insecure=1
    ).partial_fit(X, y)
    over.set()
    thread.join()
    assert learner.records_ == 200_000 and len(ticks) > 3


def test_what_leaves_the_process_is_of_the_owner_alone(tmp_path, numbers):
    X, y = numbers
    Classifier(
        epsilon=1, delta=1e-6, bounds=(-1, 1), ledger=tmp_path / "l", state=tmp_path / "s"
    ).fit(X, y)
    assert os.stat(tmp_path / "s" / "key").st_mode & 0o077 == 0


def test_a_schema_says_what_to_do(people):
    learner = Classifier(
        epsilon=1, delta=1e-6, schema=Schema(bounds={"age": (0, 100)}), classes=["no", "yes"], seed_insecure=1
    )
    with pytest.raises(HushstreamError) as told:
        learner.fit(people, "late")
    assert "vocabulary={'" in str(told.value) and "--" not in str(told.value)
    with pytest.raises(HushstreamError):
        Classifier(
            epsilon=1, delta=1e-6, schema=Schema(bounds={"agee": (0, 100), "*": (0, 1)}), seed_insecure=1,
            classes=["no", "yes"],
        ).fit(people[["age", "late"]], "late")
