"""River's logistic regression, row after row from a CSV file by its own reader. usage: river_logistic.py FILE ROWS"""

import itertools
import sys

from river import linear_model, stream
from stopwatch import measured


def run():
    model, rows = linear_model.LogisticRegression(), 0
    with open(sys.argv[1]) as file:
        names = next(file).strip().split(",")
    converters = {name: float for name in names} | {"y": int}
    for features, label in itertools.islice(stream.iter_csv(sys.argv[1], target="y", converters=converters), int(sys.argv[2])):
        model.predict_proba_one(features)
        model.learn_one(features, label)
        rows += 1
    return rows


measured(run)
