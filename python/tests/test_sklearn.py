"""scikit-learn's own checks, pipelines, copies and searches; and that nothing needs it."""

import pickle
import subprocess
import sys
import tempfile

import numpy as np
import pytest

import hushstream
from hushstream._estimators import _labels_of, facts_of

sklearn = pytest.importorskip("sklearn")

# With fresh noise, two fits differ: that is the point of it.
FRESH = {
    "check_fit_idempotent": "two fits draw different noise",
    "check_supervised_y_2d": "compares two fits, which draw different noise",
    "check_classifier_data_not_an_array": "compares two fits, which draw different noise",
    "check_regressor_data_not_an_array": "compares two fits, which draw different noise",
    "check_regressors_int": "compares two fits, which draw different noise",
}


@pytest.mark.parametrize("kind", [hushstream.Classifier, hushstream.Regressor])
def test_scikit_learn_checks_the_whole_estimator(kind):
    from sklearn.utils.estimator_checks import check_estimator

    told = check_estimator(
        kind(epsilon=50, delta=1e-5, seed_insecure=1), on_fail=None, on_skip=None
    )
    failed = {check["check_name"]: check["exception"] for check in told if check["status"] == "failed"}
    assert not failed, failed
    skipped = {check["check_name"] for check in told if check["status"] == "skipped"}
    assert skipped <= {"check_array_api_input"}, "SCIPY_ARRAY_API is not set"
    assert len(told) > 40


class Fresh:
    """Fresh noise for every fit, on a ledger of its own, as if it were on other people. What a
    program states about its data, these checks do not: the test states it for each of them."""

    def _settings(self, schema, **more):
        more.update(ledger=f"{tempfile.mkdtemp()}/people.ledger")
        return super()._settings(schema, **more)

    def _know_target(self, y, classes, **how):
        if self._task == "regress":
            stated, self.target_bounds = self.target_bounds, (float(np.min(y)) - 1, float(np.max(y)) + 1)
            super()._know_target(y, classes, **how)
            self.target_bounds = stated
        else:
            super()._know_target(y, _labels_of(y) if classes is None else classes, **how)

    def _schema(self, X, target, has_person):
        stated, self.schema = self.schema, hushstream.Schema(**facts_of(X))
        described = super()._schema(X, target, has_person)
        self.schema = stated
        return described

    def _sparse_schema(self, X):
        stated, self.norm = self.norm, 10.0
        described = super()._sparse_schema(X)
        self.norm = stated
        return described


class FreshClassifier(Fresh, hushstream.Classifier):
    __init__ = hushstream.Classifier.__init__


class FreshRegressor(Fresh, hushstream.Regressor):
    __init__ = hushstream.Regressor.__init__


@pytest.mark.parametrize("kind", [FreshClassifier, FreshRegressor])
def test_with_fresh_noise_only_listed_checks_fail(kind):
    from sklearn.utils.estimator_checks import check_estimator

    told = check_estimator(
        kind(epsilon=50, delta=1e-5, rounds="unknown"), on_fail=None, on_skip=None, expected_failed_checks=FRESH
    )
    failed = {check["check_name"]: check["exception"] for check in told if check["status"] == "failed"}
    assert not failed, failed


def test_pipelines_copies_and_searches(people, schema):
    from sklearn.base import clone, is_classifier, is_regressor
    from sklearn.model_selection import GridSearchCV, cross_val_score
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer

    learner = hushstream.Classifier(
        epsilon=1, delta=1e-6, schema=schema, classes=["no", "yes"], seed_insecure=1
    )
    assert is_classifier(learner) and is_regressor(hushstream.Regressor())
    assert clone(learner).get_params() == learner.get_params()
    X, y = people.drop(columns="late"), people["late"]
    pipe = make_pipeline(FunctionTransformer(), learner).fit(X, y)
    assert pipe.score(X, y) > 0.7
    assert cross_val_score(learner, X, y, cv=2).mean() > 0.6
    search = GridSearchCV(learner, {"tables": [0, 2]}, cv=2).fit(X, y)
    assert search.best_params_["tables"] in (0, 2)


def test_a_copy_holds_the_released_model_and_nothing_else(tmp_path, numbers):
    X, y = numbers
    settings = dict(epsilon=1, delta=1e-6, bounds=(-1, 1), rounds=600)
    learner = hushstream.Classifier(**settings, ledger=tmp_path / "l", state=tmp_path / "s")
    learner.partial_fit(X[:300], y[:300])
    bytes_of_copy = pickle.dumps(learner)
    key = (tmp_path / "s" / "key").read_bytes()
    assert key not in bytes_of_copy and b"journal" not in bytes_of_copy
    copy = pickle.loads(bytes_of_copy)
    assert (copy.predict(X) == learner.predict(X)).all()
    assert str(copy.guarantee_) == str(learner.guarantee_)
    with pytest.raises(hushstream.HushstreamError, match="this is a copy"):
        copy.partial_fit(X[300:], y[300:])
    with pytest.raises(hushstream.HushstreamError, match="this is a copy"):
        copy.learn_one({f"x{k}": 0.0 for k in range(1, 5)}, 1)
    learner.partial_fit(X[300:], y[300:])
    with pytest.raises(TypeError, match="not pickled"):
        pickle.dumps(learner.operator_)


def test_nothing_imports_scikit_learn(tmp_path):
    program = (
        "import sys, numpy as np, hushstream as h\n"
        "X = np.random.default_rng(0).uniform(-1, 1, (200, 2)); y = (X[:, 0] > 0).astype(int)\n"
        "c = h.Classifier(epsilon=1, delta=1e-6, bounds=(-1, 1), seed_insecure=1).fit(X, y)\n"
        "c.predict(X); c.predict_proba(X); c._repr_html_()\n"
        "heavy = {'sklearn', 'pandas', 'polars', 'pyarrow', 'scipy', 'matplotlib', 'tqdm'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
        "try:\n    h.Classifier().predict(X)\nexcept (ValueError, AttributeError) as told:\n"
        "    assert 'not fitted yet' in str(told)\n"
    )
    # Elsewhere: a program of one line would import from this folder, which holds no native module.
    subprocess.run([sys.executable, "-c", program], check=True, cwd=tmp_path)


def test_river_evaluates_it(numbers):
    pytest.importorskip("river")
    from river import metrics

    X, y = numbers
    learner = hushstream.Classifier(
        epsilon=8, delta=1e-6, bounds=(-1, 1), rounds=600, seed_insecure=1
    )
    right = metrics.Accuracy()
    for row, label in zip(X.tolist(), y.tolist()):
        x = dict(zip("abcd", row))
        if learner._run is not None:
            right.update(label, learner.predict_one(x))
        learner.learn_one(x, label)
    assert right.get() > 0.6
    assert set(learner.predict_proba_one(x)) == {0, 1}


def test_new_rows_may_hold_the_target_as_the_first_ones_did():
    pd = pytest.importorskip("pandas")
    x = np.linspace(-1, 1, 300)
    frame = pd.DataFrame({"x": x, "late": x > 0, "distance": 100 * x})
    bounds = {"x": (-1, 1), "distance": (-100, 100)}
    model = hushstream.Classifier(epsilon=4, delta=1e-6, bounds=bounds, seed_insecure=1)
    model.fit(frame, "late")
    features = frame.drop(columns="late")
    assert (model.predict(frame) == model.predict(features)).all()
    assert model.score(frame, "late") == model.score(features, frame["late"]) > 0.9
    other = hushstream.Regressor(
        epsilon=4, delta=1e-6, bounds=bounds, target_bounds=(0, 1), seed_insecure=1
    ).fit(frame, "late")
    assert other.score(frame, "late") == other.score(features, frame["late"]) > 0.1
    # A target that came by itself is no column of the frame: another one is still refused.
    model.fit(features, frame["late"])
    with pytest.raises(ValueError, match="unseen at fit time:\n- late"):
        model.predict(frame)
