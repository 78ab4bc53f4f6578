"""Vowpal Wabbit over a file, by its own reader and its own two threads. usage: vw.py FLAGS…"""

import sys

import vowpalwabbit
from stopwatch import measured


def run():
    workspace = vowpalwabbit.Workspace(arg_list=[*sys.argv[1:], "--quiet"])
    rows = workspace.get_weighted_examples()
    workspace.finish()
    return int(rows)


measured(run)
