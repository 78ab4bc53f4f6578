"""Exported models predict what the model predicts: in SQLite, in DuckDB, and in ONNX Runtime."""

import sqlite3

import numpy as np
import pandas as pd
import pytest

import hushstream

COLUMNS = ["wage", "the age", "job", "m1", "m2", "m3"]


@pytest.fixture(scope="module")
def rows():
    """Numbers with a long tail and missing values, categories with odd names, indicators."""
    draw = np.random.default_rng(4)
    count = 3000
    wage = np.where(draw.uniform(size=count) < 0.3, 0, np.exp(draw.normal(4, 2, count))).round(2)
    age = draw.integers(5, 105, count).astype(float)
    job = draw.choice(["a b", "o'x", "7", "other"], count)
    mark = draw.integers(0, 4, count)
    score = 0.03 * (age - 50) + (job == "7") + 0.4 * mark + draw.normal(size=count)
    wage[::19], age[::23] = np.nan, np.nan
    frame = pd.DataFrame({"wage": wage, "the age": age, "job": job})
    for k in range(3):
        frame[f"m{k + 1}"] = (mark == k).astype(float)
    return frame, score


def learned(rows, task, **flags):
    frame, score = rows
    schema = hushstream.Schema(
        bounds={"wage": (0, 10_000), "the age": (0, 100)},
        vocabulary={"job": ["a b", "o'x", "7"]},
        one_hot=["m*"],
        norm=flags.pop("norm", None),
    )
    flags.setdefault("delta", 1e-6)
    common = dict(epsilon=5, schema=schema, seed_insecure=1, **flags)
    if task == "number":
        model = hushstream.Regressor(target_bounds=(-4, 5), **common)
        return model.fit(frame.assign(y=score), "y").model_
    if task == "sign":
        names = np.where(score > 0.5, "yes", "no")
        model = hushstream.Classifier(classes=["no", "yes"], **common)
    else:
        names = np.array(["A", "B", "C"])[np.clip(score + 1, 0, 2).astype(int)]
        model = hushstream.Classifier(classes=["A", "B", "C"], **common)
    return model.fit(frame.assign(y=names), "y").model_


MODELS = [
    ("sign", {}),
    ("sign", {"tables": 2}),
    ("sign", {"recipe": "pqftl"}),
    ("sign", {"recipe": "pftal-convex", "norm": 1.2}),
    ("sign", {"delta": 0.0, "tables": 0}),
    ("class", {"tables": 3}),
    ("class", {"recipe": "pqftl"}),
    ("number", {}),
    ("number", {"recipe": "pqftl"}),
]


def close(model, frame, scores, chances, predictions):
    own = model.predict(frame)
    if scores is None:
        np.testing.assert_allclose(np.asarray(predictions, float), own, rtol=0, atol=1e-9)
        return
    np.testing.assert_allclose(scores, model.decision_function(frame), rtol=0, atol=1e-9)
    expected = model.predict_proba(frame)
    np.testing.assert_allclose(chances, expected[:, -chances.shape[1] :], rtol=0, atol=1e-9)
    assert list(predictions) == [str(name) for name in own]


def from_query(cursor, names):
    frame = pd.DataFrame(cursor.fetchall(), columns=names).sort_values("id")
    scores = frame.filter(like="score")
    chances = frame.filter(like="probability")
    if scores.empty:
        return None, None, frame["prediction"]
    return scores.to_numpy(float), chances.to_numpy(float), frame["prediction"]


@pytest.mark.parametrize("task,flags", MODELS)
def test_databases_predict_the_same(rows, task, flags):
    model = learned(rows, task, **flags)
    query = model.to_sql("people", "id")
    kinds = ["double precision" if name != "job" else "varchar(20)" for name in COLUMNS]
    columns = ", ".join(f'"{name}" {kind}' for name, kind in zip(COLUMNS, kinds))
    values = [
        (i, *(None if pd.isna(v) else v for v in row))
        for i, row in enumerate(rows[0].itertuples(index=False))
    ]
    for connect in (lambda: sqlite3.connect(":memory:"), pytest.importorskip("duckdb").connect):
        database = connect()
        database.execute(f"create table people (id integer, {columns})")
        database.executemany("insert into people values (?, ?, ?, ?, ?, ?, ?)", values)
        cursor = database.execute(query)
        names = [column[0] for column in cursor.description]
        close(model, rows[0], *from_query(cursor, names))


@pytest.mark.parametrize("task,flags", MODELS)
def test_onnx_predicts_the_same(rows, task, flags):
    runtime = pytest.importorskip("onnxruntime")
    model = learned(rows, task, **flags)
    session = runtime.InferenceSession(model.to_onnx())
    feed = {
        name: rows[0][[name]].to_numpy(object if name == "job" else float) for name in COLUMNS
    }
    got = dict(zip([output.name for output in session.get_outputs()], session.run(None, feed)))
    if task == "number":
        close(model, rows[0], None, None, got["prediction"][:, 0])
    else:
        close(model, rows[0], got["score"], got["probability"], got["label"])


def test_what_cannot_be_exported_is_refused(rows):
    frame, score = rows
    dates = pd.Series("2013-01-31", index=frame.index)
    schema = hushstream.Schema(bounds={"the age": (0, 100)}, dates=["day"])
    model = hushstream.Classifier(
        epsilon=1, delta=1e-6, schema=schema, classes=["no", "yes"], seed_insecure=1
    )
    rows = pd.DataFrame({"the age": frame["the age"], "day": dates})
    model.fit(rows.assign(y=np.where(score > 0, "yes", "no")), "y")
    for export in (lambda: model.model_.to_sql("people"), model.model_.to_onnx):
        with pytest.raises(ValueError, match="day"):
            export()
