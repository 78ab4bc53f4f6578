"""Every piece of Python in the documentation runs."""

import os
import re

import pandas as pd
import pytest

from conftest import ROOT


def pieces(path):
    return re.findall(r"```python\n(.*?)```", (ROOT / path).read_text(), re.S)


def test_the_ten_lines_of_the_readme(tmp_path, capsys):
    [piece] = pieces("README.md")
    for folder in ("examples", "crates"):
        os.symlink(ROOT / folder, tmp_path / folder)
    before = os.getcwd()
    os.chdir(tmp_path)
    try:
        exec(compile(piece, "README.md", "exec"), {})
    finally:
        os.chdir(before)
    auc, promise = capsys.readouterr().out.split("\n", 1)
    assert 0.85 < float(auc) < 0.95
    assert "26,000 records" in promise and "SIMULATED" not in promise


def test_the_lines_of_the_tutorials(tmp_path, monkeypatch, program, capsys):
    program("demo", "--data-only", "--folder", tmp_path)
    monkeypatch.chdir(tmp_path)
    [piece] = pieces("docs/tutorials/file.md")
    (tmp_path / "my.toml").write_text(
        re.search(r"<<'END'\n(.*?)\nEND", (ROOT / "docs/tutorials/file.md").read_text(), re.S)[1]
    )
    exec(piece, {})
    assert "26,048 records" in capsys.readouterr().out
    [piece] = pieces("docs/tutorials/question.md")
    exec(piece, found := {})
    assert len(found["found"]) == 2


def test_the_lines_of_the_package(tmp_path, monkeypatch, people):
    [piece] = pieces("python/README.md")
    monkeypatch.chdir(tmp_path)
    known = people[["age", "job", "late"]].assign(hours=people["visits"])
    known["late"] = (known["late"] == "yes").astype(int)
    exec(piece, {"people": known, "new_people": known.drop(columns="late")})
    assert (tmp_path / "model.json").exists() and (tmp_path / "people.ledger").exists()
