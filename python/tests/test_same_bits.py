"""The program on a CSV, `fit` on the frame, and `learn_one` release the same numbers."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import hushstream

FLAGS = {
    "bounds": "age=18:90,wage=0:10000,visits=0:50",
    "vocabulary": "job=clerk|cook|nurse,member=True|False",
    "dates": "since",
}


def released(program, folder, frame, *flags):
    """What the program publishes, release by release."""
    frame.to_csv(folder / "people.csv", index=False)
    stated = [part for name, value in FLAGS.items() for part in (f"--{name}", value)]
    program(
        "learn", folder / "people.csv", *stated, "--epsilon", 1, "--delta", 1e-6, "--seed-insecure", 7,
        "--releases", folder / "releases.jsonl", "--model", folder / "model.json", "--json", *flags,
    )
    lines = (folder / "releases.jsonl").read_text().splitlines()
    return [(line["release"], line["weights"]) for line in map(json.loads, lines)]


def given(models):
    return [(model.release, model.weights.tolist()) for model in models]


def given_with_offset(models):
    return [(model.release, model.weights.tolist(), model._native.range[1]) for model in models]


def released_with_offset(lines, middle):
    """Of a number in several passes: the program writes its offset from the middle of the bounds behind
    the weights; a model has added both."""
    return [(number, weights[:-1], middle + weights[-1]) for number, weights in lines]


TASKS = {
    "two classes": (("--target", "late", "--positive", "yes"), {"classes": ["no", "yes"]}, "late"),
    "classes": (
        ("--target", "job", "--classes", "clerk,cook,nurse", "--ignore", "late"),
        {"classes": ["clerk", "cook", "nurse"]},
        "job",
    ),
    "number": (
        ("--target", "wage", "--task", "regress", "--target-bounds", "0:5000", "--ignore", "late"),
        {"target_bounds": (0, 5000)},
        "wage",
    ),
}


def learner(task, schema, **more):
    flags, stated, target = TASKS[task]
    kind = hushstream.Regressor if task == "number" else hushstream.Classifier
    schema = schema.described()
    schema["bounds"].pop(target, None)
    schema["vocabulary"].pop(target, None)
    if "--ignore" in flags:
        schema["ignore"] = ["late"]
    return kind(
        epsilon=1, delta=1e-6, schema=hushstream.Schema(**schema), seed_insecure=7, every_release=True,
        **stated, **more,
    )


def rows_of(task, people):
    """Rows with a target, which comes last as in the frame's CSV, and the flags for the rest."""
    target = TASKS[task][2]
    kept = people.dropna(subset=[target])
    return kept[[name for name in kept if name != target] + [target]], target


@pytest.fixture
def said(monkeypatch):
    """Flags that say nothing about a column which is the target."""

    def say(target):
        bounds = [part for part in FLAGS["bounds"].split(",") if not part.startswith(target + "=")]
        words = [p for p in FLAGS["vocabulary"].split(",") if not p.startswith(target + "=")]
        monkeypatch.setitem(FLAGS, "bounds", ",".join(bounds))
        monkeypatch.setitem(FLAGS, "vocabulary", ",".join(words))

    return say


@pytest.mark.parametrize("task", TASKS)
def test_fit_releases_what_the_program_does(task, program, tmp_path, people, schema, said):
    frame, target = rows_of(task, people)
    said(target)
    expected = released(program, tmp_path, frame, *TASKS[task][0])
    assert len(expected) > 1, "several passes over the file"
    told = given
    if task == "number":
        told, expected = given_with_offset, released_with_offset(expected, 2500)
    fitted = learner(task, schema).fit(frame.drop(columns=target), frame[target])
    assert told(fitted.releases_) == expected
    # By name, and the same guarantee, word by word.
    by_name = learner(task, schema).fit(frame, target)
    assert told(by_name.releases_) == expected
    of_program = hushstream.load_model(tmp_path / "model.json")
    assert str(of_program.guarantee) == str(by_name.guarantee_)


@pytest.mark.parametrize("task", TASKS)
def test_rows_one_by_one_and_in_parts_release_what_the_program_does(
    task, program, tmp_path, people, schema, said
):
    frame, target = rows_of(task, people)
    said(target)
    expected = released(program, tmp_path, frame, "--passes", 1, *TASKS[task][0])
    X, y = frame.drop(columns=target), frame[target]
    in_parts = learner(task, schema, rounds=len(X))
    for first in [*range(0, len(X), 700)]:
        in_parts.partial_fit(X[first : first + 700], y[first : first + 700])
    assert in_parts.records_ == len(X)
    assert given(in_parts.sync()) == expected
    one_by_one = learner(task, schema, rounds=len(X))
    for row, label in zip(X.to_dict("records"), y):
        one_by_one.learn_one(row, label)
    assert given(one_by_one.sync()) == expected
    at_once = learner(task, schema, passes=1).fit(X, y)
    assert given(at_once.releases_) == expected


def test_every_kind_of_frame_gives_the_same_releases(people, schema):
    expected = given(learner("two classes", schema).fit(people, "late").releases_)
    frames = [pl.from_pandas(people), pa.Table.from_pandas(people), people.convert_dtypes()]
    small = schema.described()
    small["vocabulary"]["member"] = ["true", "false"]
    for frame in frames:
        spelled = schema if isinstance(frame, pd.DataFrame) else hushstream.Schema(**small)
        assert given(learner("two classes", spelled).fit(frame, "late").releases_) == expected


class Stream:
    """Rows that come as a stream of Arrow, and in no other way."""

    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


def test_a_stream_of_arrow_gives_the_same_releases(people, schema):
    table = pa.Table.from_pandas(people)
    small = schema.described()
    small["vocabulary"]["member"] = ["true", "false"]
    spelled = hushstream.Schema(**small)
    expected = given(learner("two classes", schema).fit(people, "late").releases_)
    fitted = learner("two classes", spelled).fit(Stream(table), "late")
    assert given(fitted.releases_) == expected
    X = table.drop_columns(["late"]) if hasattr(table, "drop_columns") else table.drop(["late"])
    scores = fitted.decision_function(X)
    assert (fitted.decision_function(Stream(X)) == scores).all()
    assert (fitted.model_.decision_function(Stream(X))[:, 0] == scores).all()
    # Batch after batch, as a reader gives them; and chunks of a table are joined.
    in_parts = learner("two classes", spelled, rounds=len(people))
    for batch in table.to_batches(max_chunksize=700):
        in_parts.partial_fit(batch, "late")
    in_chunks = learner("two classes", spelled, rounds=len(people))
    in_chunks.partial_fit(pa.Table.from_batches(table.to_batches(max_chunksize=700)), "late")
    assert given(in_parts.sync()) == given(in_chunks.sync())


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_columns_of_numbers_are_not_copied(kind):
    from hushstream import _input

    numbers = np.arange(1000.0)
    frame = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}[kind]({"a": numbers})
    [part] = _input.table(frame).parts
    source = frame["a"].chunk(0).to_numpy() if kind == "pyarrow" else frame["a"].to_numpy()
    assert np.shares_memory(part, source)


def test_a_linear_model_of_an_array_in_any_layout(program, tmp_path, numbers):
    X, y = numbers
    frame = pd.DataFrame(X, columns=[f"x{k}" for k in range(1, 5)]).assign(y=y)
    frame.to_csv(tmp_path / "rows.csv", index=False)
    program(
        "learn", tmp_path / "rows.csv", "--target", "y", "--bounds", "x*=-1:1", "--norm", 1,
        "--epsilon", 1, "--delta", 1e-6, "--seed-insecure", 3, "--releases", tmp_path / "r", "--recipe",
        "pftal-convex", "--batch", 10, "--json",
    )
    lines = (tmp_path / "r").read_text().splitlines()
    expected = [(line["release"], line["weights"]) for line in map(json.loads, lines)]
    wide = np.zeros((1200, 8))
    wide[::2, ::2] = X
    layouts = [X, np.asfortranarray(X), wide[::2, ::2], X[::-1][::-1], X.tolist(), frame.drop(columns="y")]
    for rows in layouts:
        fitted = hushstream.Classifier(
            epsilon=1, delta=1e-6, bounds=(-1, 1), norm=1, recipe="pftal-convex", batch=10,
            seed_insecure=3, every_release=True,
        ).fit(rows, y)
        assert given(fitted.releases_) == expected


def test_predictions_are_those_of_the_program(program, tmp_path, people, schema):
    fitted = learner("two classes", schema).fit(people, "late")
    fitted.save(tmp_path / "model.json")
    people.to_csv(tmp_path / "people.csv", index=False)
    lines = program("predict", tmp_path / "model.json", tmp_path / "people.csv").splitlines()
    head = lines[0].split(",")
    rows = [dict(zip(head, line.split(","))) for line in lines[1:]]
    X = people.drop(columns="late")
    chances = fitted.predict_proba(X)[:, 1]
    told = np.array([float(row["score"]) for row in rows])
    np.testing.assert_allclose(fitted.decision_function(X), told, atol=1e-4)
    assert [row["prediction"] for row in rows] == ["yes" if s > 0 else "not yes" for s in told]
    loaded = hushstream.load_model(tmp_path / "model.json")
    assert (loaded.decision_function(X)[:, 0] == fitted.decision_function(X)).all()
    shuffled = X[list(reversed(X.columns))]
    assert (loaded.decision_function(shuffled) == loaded.decision_function(X)).all()
    one = X.iloc[5].to_dict()
    assert fitted.predict_proba_one(one)["yes"] == chances[5]


def test_a_sparse_matrix_is_read_as_its_libsvm_file(program, tmp_path):
    scipy_sparse = pytest.importorskip("scipy.sparse")
    draw = np.random.default_rng(1)
    X = scipy_sparse.random(400, 50, density=0.1, format="csr", random_state=1)
    y = draw.integers(0, 2, 400)
    lines = []
    for row in range(400):
        entries = X[row].tocoo()
        pairs = sorted(zip(entries.col, entries.data))
        lines.append(" ".join([str(y[row]), *(f"{k + 1}:{v!r}" for k, v in pairs)]))
    (tmp_path / "rows.svm").write_text("\n".join(line.replace("np.float64(", "").replace(")", "") for line in lines) + "\n")
    program(
        "learn", tmp_path / "rows.svm", "--format", "libsvm", "--dim", 50, "--norm", 1, "--epsilon", 1,
        "--delta", 1e-6, "--seed-insecure", 3, "--model", tmp_path / "model.json", "--json",
    )
    expected = hushstream.load_model(tmp_path / "model.json")
    settings = dict(epsilon=1, delta=1e-6, norm=1, seed_insecure=3)
    for matrix in (X, X.tocsc(), X.tocoo(), scipy_sparse.csr_array(X)):
        fitted = hushstream.Classifier(**settings).fit(matrix, y)
        assert fitted.model_.weights.tolist() == expected.weights.tolist()
    assert fitted.predict(X).shape == (400,)
    in_parts = hushstream.Classifier(**settings, rounds=400)
    for first in range(0, 400, 150):
        in_parts.partial_fit(X[first : first + 150], y[first : first + 150])
    assert in_parts.model_.weights.tolist() == expected.weights.tolist()


def test_float32_columns_mean_what_their_csv_says(program, tmp_path):
    draw = np.random.default_rng(4)
    frame = pd.DataFrame({"a": draw.uniform(0, 1, 400).astype(np.float32), "y": draw.integers(0, 2, 400)})
    frame.to_csv(tmp_path / "rows.csv", index=False)
    program(
        "learn", tmp_path / "rows.csv", "--target", "y", "--bounds", "a=0:1", "--norm", 1, "--epsilon", 1,
        "--delta", 1e-6, "--seed-insecure", 3, "--model", tmp_path / "m", "--recipe", "pftal-convex", "--json",
    )
    fitted = hushstream.Classifier(
        epsilon=1, delta=1e-6, bounds={"a": (0, 1)}, norm=1, recipe="pftal-convex", seed_insecure=3
    ).fit(frame, "y")
    assert fitted.model_.weights.tolist() == hushstream.load_model(tmp_path / "m").weights.tolist()
