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
