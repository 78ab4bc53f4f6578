"""Samples of OpenDP's exact discrete Gaussian on vectors of integers, scale 2^30."""

import opendp.prelude as dp
from stopwatch import measured

dp.enable_features("contrib")

COORDINATES = 4096
REPEATS = 5

space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T=float)
mechanism = dp.m.make_gaussian(*space, scale=float(2**30))
zeros = [0] * COORDINATES


def run():
    for _ in range(REPEATS):
        mechanism(zeros)
    return COORDINATES * REPEATS


mechanism(zeros)
measured(run)
