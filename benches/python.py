"""Ratios of the Python package beside scikit-learn and River: CPU seconds, one core, one run.

    target/python/bin/python benches/python.py [rows]

A million rows of 54 float64 in batches of 1,000. Ours scores every row before it learns from it, for
the operator's figures, unless it is quiet; a release after every row, or after every batch.
"""

import os
import resource
import sys

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})

import numpy as np  # noqa: E402

from hushstream import Classifier  # noqa: E402

ROWS = int(float(sys.argv[1])) if len(sys.argv) > 1 else 1_000_000
BATCH = 1000


def seconds(action):
    """CPU seconds of all threads."""
    before = resource.getrusage(resource.RUSAGE_SELF)
    action()
    after = resource.getrusage(resource.RUSAGE_SELF)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def parts(learner, X, y, **more):
    for first in range(0, len(X), BATCH):
        learner.partial_fit(X[first : first + BATCH], y[first : first + BATCH], **more)


def ours(X, y, **settings):
    learner = Classifier(epsilon=1, delta=1e-6, rounds=len(X), seed_insecure=1, **settings)

    def run():
        parts(learner, X, y)
        learner.model_  # noqa: B018

    return seconds(run)


def main():
    draw = np.random.default_rng(0)
    X = draw.uniform(-1, 1, (ROWS, 54))
    y = (X[:, 0] + draw.normal(0, 0.3, ROWS) > 0).astype(np.float64)
    first = dict(norm=1, recipe="pftal-convex")
    results = {
        "first order, a release per batch, quiet": ours(X, y, batch=BATCH, quiet=True, **first),
        "first order, a release per batch": ours(X, y, batch=BATCH, **first),
        "first order, a release per row": ours(X, y, batch=1, **first),
        "the default recipe": ours(X, y, bounds=(-1, 1)),
    }
    from sklearn.linear_model import SGDClassifier

    sgd = SGDClassifier(loss="log_loss")
    results["scikit-learn SGDClassifier"] = seconds(lambda: parts(sgd, X, y, classes=[0, 1]))

    from river import linear_model

    few = 5_000
    river = linear_model.LogisticRegression()
    rows = [dict(enumerate(row)) for row in X[:few].tolist()]

    def one_by_one():
        for row, label in zip(rows, y[:few].astype(bool)):
            river.learn_one(row, label)

    results["River LogisticRegression"] = seconds(one_by_one) * ROWS / few
    ten = [dict(zip("abcdefghij", row)) for row in X[:few, :10].tolist()]
    labels = y[:few].astype(int).tolist()
    learner = Classifier(epsilon=1, delta=1e-6, rounds=few, seed_insecure=1, quiet=True, **first)
    learner.learn_one(ten[0], labels[0])

    def ours_one_by_one():
        for row, label in zip(ten[1:], labels[1:]):
            learner.learn_one(row, label)

    one = seconds(ours_one_by_one) / (few - 1)
    base = results["first order, a release per batch"]
    print(f"{ROWS:,} rows of 54 numbers, batches of {BATCH:,}: CPU seconds, and the ratio to ours")
    for name, told in results.items():
        print(f"  {name:42} {told:8.2f} s {told / ROWS * 1e6:7.3f} µs a row  {told / base:7.2f}x")
    print(f"  learn_one with 10 features: {one * 1e6:.2f} µs")
    print(f"  peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


main()
