"""diffprivlib's private logistic regression: the whole file in memory, one model at the end (not one a row). usage: diffprivlib_logistic.py FILE"""

import sys

import pandas
from diffprivlib.models import LogisticRegression
from stopwatch import measured


def run():
    rows = pandas.read_csv(sys.argv[1])
    labels = rows.pop("y")
    # Numbers are in [0, 1): the greatest length of a row is public.
    LogisticRegression(epsilon=1.0, data_norm=rows.shape[1] ** 0.5).fit(rows.to_numpy(), labels.to_numpy())
    return len(rows)


measured(run)
