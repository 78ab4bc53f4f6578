"""Ratios of the Python package beside scikit-learn, River and the Rust library: CPU seconds, one core, one run.

    cargo build --release --locked -p hushstream-benches
    target/python/bin/python benches/python.py [rows] [rounds]

A million rows of 54 float64 in batches of 1,000. All take turns, and the least time of each counts. Ours
scores every row before it learns from it, for the operator's figures, unless it is quiet; it releases
after every batch, or after every row. Times hold everything from the first call to the last model: the
plan, the noise and the releases too.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})

import numpy as np  # noqa: E402
from river import linear_model  # noqa: E402
from sklearn.linear_model import SGDClassifier  # noqa: E402

from hushstream import Classifier  # noqa: E402

ROWS = int(float(sys.argv[1])) if len(sys.argv) > 1 else 1_000_000
ROUNDS = int(sys.argv[2]) if len(sys.argv) > 2 else 5
BATCH = 1000
# River learns from so many, and the time is scaled to all.
FEW = 5_000
LIBRARY = Path(__file__).parent.parent / "target/release/hushstream-benches"
FIRST = dict(norm=1, recipe="pftal-convex")
SGD = "scikit-learn SGDClassifier.partial_fit"
RIVER = "River LogisticRegression.learn_one"
OURS = "partial_fit, first order"


def seconds(action):
    """CPU seconds of all threads."""
    before = resource.getrusage(resource.RUSAGE_SELF)
    action()
    after = resource.getrusage(resource.RUSAGE_SELF)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def resident():
    """Megabytes of this process."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20


def parts(learner, X, y, **more):
    for first in range(0, len(X), BATCH):
        learner.partial_fit(X[first : first + BATCH], y[first : first + BATCH], **more)


def ours(X, y, grown=None, **settings):
    learner = Classifier(epsilon=1, delta=1e-6, rounds=len(X), seed_insecure=1, **settings)
    tenth = len(X) // 10

    def run():
        parts(learner, X[:tenth], y[:tenth])
        before = resident()
        parts(learner, X[tenth:], y[tenth:])
        if grown is not None:
            grown.append(resident() - before)
        learner.model_  # noqa: B018

    return seconds(run)


def sgd(X, y):
    learner = SGDClassifier(loss="log_loss")
    return seconds(lambda: parts(learner, X, y, classes=[0, 1]))


def river(X, y):
    learner = linear_model.LogisticRegression()
    rows = [dict(enumerate(row)) for row in X[:FEW].tolist()]
    labels = y[:FEW].astype(bool).tolist()

    def one_by_one():
        for row, label in zip(rows, labels):
            learner.learn_one(row, label)

    return seconds(one_by_one) * len(X) / FEW


def one_by_one(X, y):
    """Seconds of one learn_one with ten features."""
    rows = [dict(zip("abcdefghij", row)) for row in X[:FEW, :10].tolist()]
    labels = y[:FEW].astype(int).tolist()
    learner = Classifier(epsilon=1, delta=1e-6, rounds=FEW, seed_insecure=1, **FIRST)
    learner.learn_one(rows[0], labels[0])

    def run():
        for row, label in zip(rows[1:], labels[1:]):
            learner.learn_one(row, label)

    return seconds(run) / (FEW - 1)


def library(file, how):
    told = subprocess.run([LIBRARY, "rows", how, file], check=True, capture_output=True)
    return json.loads(told.stdout)["seconds"]


def main():
    draw = np.random.default_rng(0)
    X = draw.uniform(-1, 1, (ROWS, 54))
    y = (X[:, 0] + draw.normal(0, 0.3, ROWS) > 0).astype(np.float64)
    grown, ones = [], []
    with tempfile.NamedTemporaryFile() as file:
        np.column_stack([X, y]).tofile(file)
        file.flush()
        contestants = {
            OURS: lambda: ours(X, y, grown, batch=BATCH, **FIRST),
            f"{OURS}, quiet": lambda: ours(X, y, batch=BATCH, quiet=True, **FIRST),
            f"{OURS}, a release per row": lambda: ours(X, y, batch=1, **FIRST),
            "partial_fit, the default recipe": lambda: ours(X, y, bounds=(-1, 1)),
            "the Rust library, first order": lambda: library(file.name, str(BATCH)),
            "the Rust library, first order, quiet": lambda: library(file.name, "quiet"),
            "the Rust library, the default recipe": lambda: library(file.name, "default"),
            SGD: lambda: sgd(X, y),
            RIVER: lambda: river(X, y),
        }
        times = {name: [] for name in contestants}
        for _ in range(ROUNDS):
            for name, contestant in contestants.items():
                times[name].append(contestant())
            ones.append(one_by_one(X, y))
    least = {name: min(told) for name, told in times.items()}
    print(f"{ROWS:,} rows of 54 numbers, batches of {BATCH:,}, the least of {ROUNDS}: CPU seconds")
    print(f"  {'':40} {'seconds':>8} {'µs a row':>9} {'of SGD':>7} {'of River':>9}")
    for name, told in least.items():
        of = [f"{least[other] / told:.1f}x" for other in (SGD, RIVER)]
        print(f"  {name:40} {told:8.3f} {told / ROWS * 1e6:9.3f} {of[0]:>7} {of[1]:>9}")
    for more in ("", ", quiet"):
        ratio = least[OURS + more] / least[f"the Rust library, first order{more}"]
        print(f"  Python beside the Rust library{more}: {ratio:.2f}x its time")
    ratio = least["partial_fit, the default recipe"] / least["the Rust library, the default recipe"]
    print(f"  Python beside the Rust library, the default recipe: {ratio:.2f}x its time")
    print(f"  learn_one with 10 features: {min(ones) * 1e6:.2f} µs")
    print(f"  memory from the first tenth of the rows to the last: {max(grown):+.1f} MB")


main()
