"""Vowpal Wabbit as a daemon, from its Python package: vw_daemon.py PORT. Each of its processes
serves one connection at a time, learns in memory of its own, and stores nothing."""

import sys

import vowpalwabbit

FLAGS = "--quiet --cb_explore 3 --epsilon 0.1 --daemon --foreground --num_children 16 --port"
workspace = vowpalwabbit.Workspace(arg_list=[*FLAGS.split(), sys.argv[1]])
super(vowpalwabbit.Workspace, workspace).run_parser()
