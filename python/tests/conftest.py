"""What the tests share: the program, and some rows."""

import os
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import hushstream

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def program():
    """Runs the program, built by the same command that builds the module."""
    path = Path(os.environ.get("HUSHSTREAM_PROGRAM", ROOT / "target/debug/hushstream"))
    assert path.exists(), "build the program first: cargo build --bin hushstream"

    def run(*flags):
        command = [str(path), *map(str, flags)]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


@pytest.fixture(scope="session")
def people():
    """A table with numbers, categories, dates, missing values and a yes-or-no target."""
    draw = np.random.default_rng(5)
    rows = 3000
    age = draw.uniform(18, 90, rows).round(1)
    wage = np.exp(draw.normal(7, 1, rows))
    job = draw.choice(["clerk", "cook", "nurse"], rows)
    since = pd.to_datetime("2013-01-01") + pd.to_timedelta(draw.integers(0, 900, rows), "h")
    is_member = draw.uniform(size=rows) < 0.5
    late = ((age > 50) ^ (job == "cook")) & (draw.uniform(size=rows) < 0.9)
    wage[::17] = np.nan
    return pd.DataFrame(
        {
            "age": age,
            "wage": wage,
            "job": pd.Series(job, dtype=object).where(np.arange(rows) % 29 > 0, None),
            "since": since.strftime("%Y-%m-%d %H:%M"),
            "member": is_member,
            "visits": draw.integers(0, 50, rows),
            "late": np.where(late, "yes", "no"),
        }
    )


@pytest.fixture(scope="session")
def schema():
    """What is known about these people."""
    return hushstream.Schema(
        bounds={"age": (18, 90), "wage": (0, 10_000), "visits": (0, 50)},
        vocabulary={"job": ["clerk", "cook", "nurse"], "member": ["True", "False"]},
        dates=["since"],
    )


@pytest.fixture
def numbers():
    """Rows of plain numbers, and a target of 0 and 1."""
    X = np.random.default_rng(2).uniform(-1, 1, (600, 4))
    return X, (X[:, 0] + X[:, 1] > 0).astype(int)
