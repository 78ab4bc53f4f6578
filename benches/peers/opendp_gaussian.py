"""Nanoseconds a sample of OpenDP's exact discrete Gaussian on vectors of integers, scale 2^30."""

import time

import opendp.prelude as dp

dp.enable_features("contrib")

COORDINATES = 4096

space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T=float)
mechanism = dp.m.make_gaussian(*space, scale=float(2**30))
zeros = [0] * COORDINATES
mechanism(zeros)
start = time.perf_counter()
REPEATS = 5
for _ in range(REPEATS):
    mechanism(zeros)
print((time.perf_counter() - start) * 1e9 / (COORDINATES * REPEATS))
