"""scikit-learn's SGDClassifier, logistic loss, partial_fit in batches of 1000 rows that pandas reads from a CSV file. usage: sklearn_sgd.py FILE"""

import sys

import pandas
from sklearn.linear_model import SGDClassifier
from stopwatch import measured


def run():
    model, rows = SGDClassifier(loss="log_loss"), 0
    for chunk in pandas.read_csv(sys.argv[1], chunksize=1000):
        labels = chunk.pop("y")
        model.partial_fit(chunk.to_numpy(), labels.to_numpy(), classes=[0, 1])
        rows += len(chunk)
    return rows


measured(run)
