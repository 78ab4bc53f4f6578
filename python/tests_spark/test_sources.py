"""Every kind of source in any split, and what is refused in words about people."""

import json
import re

import pyarrow as pa
import pyarrow.compute
import pyarrow.parquet as pq
from conftest import HERE, Source, frame, of_one_process, released
from driver import TRACKED

import hushstream


def test_sources_in_any_split(run, tmp_path):
    """Lines in blocks, batches of any size, tables at rest, arrays, persons, and rows left out."""
    lines = Source(tmp_path / "lines", [90, 400, 7], "csv")
    pairs = Source(tmp_path / "pairs", [30, 20, 40, 10])
    some = Source(tmp_path / "some", [80, 80])
    people = Source(tmp_path / "people", [60, 60, 60], persons=25)
    rest = Source(tmp_path / "rest", [120], "csv")
    number = Source(tmp_path / "number", [50, 50])
    slots = {"batch": 60, "max_per_person": 2, "min_separation": 2}
    bounds = {"batch": 50, "target_bounds": [0, 1], "recipe": "pqftl"}
    told = run(
        lines.job(format="csv", estimator={"batch": 400}, batches=3),
        pairs.job(files=2, estimator={"batch": 50}, batches=2),
        some.job(where="y = 1", estimator={"batch": 80}, batches=2),
        people.job(
            estimator=slots, batches=4, learner={"features": ["a", "b"], "person": "who"},
            columns="a double, b double, y long, who long",
        ),
        rest.job("fit", format="csv", estimator={"batch": 120}),
        number.job(estimator=bounds, batches=2),
    )
    assert [one.get("error") for one in told] == [None] * len(told)
    assert released(lines.place) == of_one_process(lines.tables, batch=400)
    two = [pa.concat_tables(pairs.tables[:2]), pa.concat_tables(pairs.tables[2:])]
    assert released(pairs.place) == of_one_process(two, batch=50)
    kept = [table.filter(pa.compute.equal(table["y"], 1)) for table in some.tables]
    assert released(some.place) == of_one_process(kept, batch=80)
    assert released(people.place) == of_one_process(people.tables, 4, "who", **slots)
    assert released(rest.place) == of_one_process(rest.tables, batch=120)
    assert released(number.place) == of_one_process(number.tables, **bounds)


def test_running_statistics_by_group(run, tmp_path):
    """Tables of a stream are those of one process: rows, persons by slots, a driver that dies."""
    columns = "a double, b double, y long, who long"
    rows = Source(tmp_path / "rows", [60, 80, 50])
    people = Source(tmp_path / "people", [60, 60, 60, 60], persons=25)
    slots = {"max_per_person": 2, "min_separation": 2}
    job = rows.job("track", columns="a double, b double, y long")
    run(job, kill="after:1", dies=True)
    told = run(job, people.job("track", columns=columns, estimator=slots, learner={"person": "who"}))
    assert [one.get("error") for one in told] == [None, None]
    for source, more, person in [(rows, {}, None), (people, slots, "who")]:
        authority = hushstream.elsewhere.Authority(hushstream.Tracker(**{**TRACKED, **more}), person=person)
        expected = []
        for number, table in enumerate(source.tables):
            spans = [(f"file-{number}", 0, len(table))]
            part = hushstream.elsewhere.partial(authority.question(), authority.reading, [table], spans)
            release = authority.commit("rows", number, [part]).release
            expected.append((release.tick, json.loads(json.dumps(release._rows))))
        assert released(source.place) == expected


def test_the_lines_of_the_book(run, tmp_path):
    page = (HERE.parents[1] / "docs/how-to/clusters.md").read_text()
    piece = re.findall(r"```python\n(.*?)```", page, re.S)[0]
    (tmp_path / "clicks").mkdir()
    for seed in range(2):
        table = frame(200, seed).rename_columns(["a", "b", "late"])
        pq.write_table(table, tmp_path / "clicks" / f"{seed}.parquet")
    [told] = run({"how": "guide", "folder": str(tmp_path), "piece": piece})
    assert told["records"] == 400 and "SIMULATED" not in told["card"]
    assert len(released(tmp_path)) == 2


def test_what_is_refused_and_how(run, tmp_path):
    source = Source(tmp_path / "twice", [50, 50])
    stated = dict(estimator={"batch": 50}, batches=9)
    secret = tmp_path / "secret" / "rows"
    secret.mkdir(parents=True)
    table = pa.table({"a": [b"secret-4711"] * 9, "b": [0.5] * 9, "y": [1] * 9})
    pq.write_table(table, secret / "part.parquet")
    held = {"how": "stream", "rows": str(secret), "folder": str(secret.parent), **stated}
    long = Source(tmp_path / "long", [51])
    first, again, error, full = run(
        source.job(**stated),
        # A new checkpoint, as if the old one had been deleted: another query.
        source.job(checkpoint="another", **stated),
        {**held, "columns": "a binary, b double, y long"},
        long.job(**stated),
    )
    assert "error" not in first
    assert "may read everybody again" in again["error"] and "a person who comes twice" in again["error"]
    assert len(released(source.place)) == 2, "nothing more was released"
    assert "no value is shown" in error["error"] and "holds at most 50 records" in full["error"]
    assert "4711" not in (tmp_path / "said").read_text()
    assert len(hushstream.Ledger(source.place / "ledger").runs) == 1
