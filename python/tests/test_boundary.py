"""Anything may come from Python: an exception of the usual kinds, or a finite model."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import hushstream

ALLOWED = (ValueError, TypeError, OverflowError)
FEW = settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))

anything = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=6),
    st.binary(max_size=3),
    st.lists(st.integers(), max_size=2),
    st.dates(),
)
numbers = st.floats(allow_nan=True, allow_infinity=True)


def learner(**more):
    return hushstream.Classifier(epsilon=1, delta=1e-6, bounds=(-1, 1), seed_insecure=1, **more)


def tried(action):
    try:
        return action()
    except ALLOWED as told:
        assert "0x" not in str(told)
        return None


def finite(model):
    if model is not None:
        assert np.isfinite(model.model_.weights).all()


@FEW
@given(arrays.arrays(np.float64, arrays.array_shapes(max_dims=3, max_side=9, min_side=0), elements=numbers), st.data())
def test_arrays_of_any_shape_and_value(X, data):
    rows = X.shape[0] if X.ndim else 0
    y = data.draw(arrays.arrays(np.float64, st.integers(max(0, rows - 1), rows + 1), elements=st.sampled_from([0.0, 1.0, 2.0, np.nan, np.inf])))
    finite(tried(lambda: learner().fit(X, y)))
    finite(tried(lambda: learner(norm=1, rounds=50).partial_fit(X, y)))


@FEW
@given(
    arrays.arrays(st.sampled_from([np.float32, np.int8, np.uint64, np.int64, np.bool_, np.complex128, "U3", "O", "M8[D]"]), (6, 2)),
    st.tuples(st.sampled_from([1, -1, 2]), st.sampled_from([1, -1])),
)
def test_types_and_strides(X, steps):
    X = X[:: steps[0], :: steps[1]]
    finite(tried(lambda: learner().fit(X, [0, 1, 0, 1, 0, 1][: len(X)])))


@FEW
@given(st.lists(st.tuples(anything, anything), min_size=2, max_size=8), st.lists(anything, min_size=8, max_size=8))
def test_columns_of_objects(rows, labels):
    frame = pd.DataFrame({"a": pd.Series([a for a, _ in rows], dtype=object), "b": pd.Series([b for _, b in rows], dtype=object)})
    schema = hushstream.Schema(bounds={"a": (0, 1)}, hashed={"b": 4})
    kind = hushstream.Classifier(epsilon=1, delta=1e-6, schema=schema, classes=[0, 1], seed_insecure=1, rounds=8)
    finite(tried(lambda: kind.partial_fit(frame, labels[: len(frame)])))


@FEW
@given(st.dictionaries(st.sampled_from(["a", "b", "c"]), anything), anything)
def test_single_rows(row, label):
    one = learner(norm=1, rounds=4)
    tried(lambda: one.learn_one({"a": 0.5, "b": -0.5}, 1))
    tried(lambda: one.learn_one(row, label))
    tried(lambda: one.predict_one(row))
    finite(one)


@FEW
@given(st.dictionaries(st.sampled_from(list(hushstream.Classifier._parameters())), anything))
def test_parameters(parameters):
    parameters.pop("ledger", None), parameters.pop("state", None)
    X = np.linspace(-1, 1, 40).reshape(20, 2)
    y = np.arange(20) % 2
    stated = {"epsilon": 1, "delta": 1e-6, "bounds": (-1, 1), **parameters, "seed_insecure": 1}
    finite(tried(lambda: hushstream.Classifier(**stated).fit(X, y)))


def test_empty_and_varying_batches():
    X = np.random.default_rng(0).uniform(-1, 1, (90, 3))
    y = (X[:, 0] > 0).astype(int)
    whole = learner(norm=1, rounds=90).partial_fit(X, y).model_.weights
    parts = learner(norm=1, rounds=90)
    for first, last in [(0, 0), (0, 1), (1, 1), (1, 50), (50, 88), (88, 90), (90, 90)]:
        parts.partial_fit(X[first:last], y[first:last])
    assert (parts.model_.weights == whole).all()


def test_whole_numbers_that_no_float_holds_stay_apart():
    frame = pd.DataFrame({"id": [2**53 + 1, 2**53 + 3] * 10, "y": [0, 1] * 10})
    schema = hushstream.Schema(vocabulary={"id": [str(2**53 + 1), str(2**53 + 3)]})
    model = hushstream.Classifier(epsilon=20, delta=1e-3, schema=schema, seed_insecure=1).fit(frame, "y")
    first, second = model.decision_function(frame[["id"]][:2])
    assert first != second


def test_labels_of_texts_and_bytes_are_refused_without_a_value():
    with pytest.raises(ValueError, match="texts and bytes"):
        learner().fit(np.zeros((2, 1)), ["", b"\x80"])


def stream(**more):
    rng = np.random.default_rng(3)
    X = rng.uniform(-1, 1, (40, 2))
    return X, (X[:, 0] > 0).astype(int).tolist(), {"epsilon": 5, "delta": 1e-3, "seed_insecure": 1, "rounds": 80, **more}


@pytest.mark.parametrize("label", ["unclear", None, 7])
def test_one_label_says_nothing_about_others(label):
    """A label that is none makes one empty round, whatever type numpy would give the list."""
    X, y, stated = stream(norm=1)
    y[3] = 2
    expected = hushstream.Classifier(classes=[0, 1], **stated).partial_fit(X, y)
    y[3] = label
    found = hushstream.Classifier(classes=[0, 1], **stated).partial_fit(X, y)
    assert (found.model_.weights == expected.model_.weights).all()


@pytest.mark.parametrize("number", ["unclear", None])
def test_one_target_says_nothing_about_others(number):
    X, y, stated = stream(norm=1, target_bounds=(0, 1))
    y[3] = float("nan")
    expected = hushstream.Regressor(**stated).partial_fit(X, y)
    y[3] = number
    found = hushstream.Regressor(**stated).partial_fit(X, y)
    assert (found.model_.weights == expected.model_.weights).all()


@pytest.mark.parametrize("values", [[5.0, -0.5, 1e-7, 1e22, -0.0], np.float32([0.1, 5.0]), [2, 2**53 - 1]])
def test_a_text_in_a_column_changes_no_other_value(values):
    """The column is then one of objects: its numbers mean what they meant as numbers."""
    schema = hushstream.Schema(hashed={"c": 10})
    stated = {"epsilon": 1, "delta": 1e-6, "schema": schema, "seed_insecure": 1}
    many = list(values) * 6
    y = [0, 1] * (len(many) // 2)
    model = hushstream.Classifier(**stated).fit(pd.DataFrame({"c": pd.Series(many)}), y)
    alone = model.decision_function(pd.DataFrame({"c": pd.Series(values)}))
    mixed = model.decision_function(pd.DataFrame({"c": pd.Series([*values, "x"], dtype=object)}))
    assert (mixed[:-1] == alone).all()


def test_a_missing_value_changes_no_whole_number():
    pa = pytest.importorskip("pyarrow")
    large = 2**60 + 1
    for missing in [pa.array([large, None]), pa.chunked_array([pa.array([large, None])]), pd.Series([large, None], dtype="Int64")]:
        codes, texts = hushstream._input.column(missing)
        assert texts is not None and texts[int(codes[0])] == str(large) and np.isnan(codes[1])


@pytest.mark.parametrize("id", [7, 2**60 + 1])
def test_a_person_has_one_name_in_rows_and_in_columns(id):
    """At most one contribution: that of the column, so the single row that follows changes nothing."""
    X, y, stated = stream(norm=1, max_per_person=1, adjacency="zero-out")
    frame = pd.DataFrame(X, columns=["a", "b"])

    def learned(last):
        one = hushstream.Classifier(**stated).partial_fit(frame, y, person=np.full(40, id))
        one.learn_one({"a": 0.9, "b": 0.9}, 0, person=last)
        one.learn_one({"a": 0.1, "b": 0.1}, 0, person=last)
        return one.model_.weights

    assert (learned(id) == learned(str(id))).all()
    assert (learned(id) != learned("another")).any()


def test_a_guarantee_says_that_all_rows_were_checked():
    """``fit`` refuses a row that cannot be read: that a model is there says that there was none."""
    sparse = pytest.importorskip("scipy.sparse")
    X, y, stated = stream(norm=1)
    for rows in [X, sparse.csr_matrix(X)]:
        model = hushstream.Classifier(**{**stated, "rounds": None}).fit(rows, y)
        told = model.guarantee_.to_dict()["assumptions"]
        assert any("check" in assumption for assumption in told)


@pytest.mark.parametrize("classes", [[0, 1], [-1, 1], [7, 3], [False, True], [0.5, 2.0], [0, 1, 2]])
@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "u1", "?"])
def test_a_label_is_the_place_of_its_class_or_none(classes, dtype):
    """Whatever the type of the labels is, and wherever those stand that are no classes."""
    labels = np.array([0, 1, 3, 7, 2, 0, 1, 255], dtype=dtype)
    if dtype in ("f8", "f4"):
        labels = np.append(labels, np.array([np.nan, np.inf, -1, 0.5, -0.0], dtype=dtype))
    model = hushstream.Classifier(epsilon=1, delta=1e-6, norm=1, classes=classes)
    model._know_target(labels, None)
    found, _ = model._coded(labels, strictly=False)
    wanted = [next((k for k, one in enumerate(classes) if one == label), np.nan) for label in labels]
    np.testing.assert_array_equal(found, np.array(wanted, dtype=np.float64))
