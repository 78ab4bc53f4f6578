"""Dense and normalised sums as `hushstream plan` states them, beside jax-privacy's own.

    python oracle/dense.py check [PROGRAM]     exit 1 on a difference

Needs oracle/requirements-jax.txt and a built program (target/release/hushstream). What is compared, in units of
sensitivity/μ:
  dense       the error of the best strategy for `mean` and `running-mean`, found by jax-privacy's optimiser;
  normalised  the worst prefix of jax-privacy's best BLT whose columns are divided by their lengths. Ours has lattices in
              steps of a thousandth, and may be worse by so much.
"""

import json
import pathlib
import subprocess
import sys

import jax

jax.config.update("jax_enable_x64", True)

import jax.numpy as jnp
from jax_privacy.matrix_factorization import buffered_toeplitz, dense, sensitivity, toeplitz

PROGRAM = pathlib.Path(__file__).parent.parent / "target/release/hushstream"
RELEASES = [8, 16]
# Its optimiser stops at a gradient of a fixed size: so that this is a small one, errors are counted in small units.
UNIT = 1e-2
BUFFERS = 4


def ours(program, releases, *flags):
    """What the program states of a sum: standard deviations by name, times μ."""
    line = f"plan --releases {releases} --dim 1 --epsilon 1 --delta 1e-6 --adjacency zero-out --json".split()
    told = json.loads(subprocess.run([program, *line, *flags], check=True, capture_output=True, text=True).stdout)
    return {name: told[name] * told["mu"] for name in ("prefix_sd_max", "workload_sd") if told.get(name)}


def error(strategy, workload=None):
    """Squared errors of all releases, at sensitivity 1."""
    squares = dense.per_query_error(strategy_matrix=strategy, workload_matrix=workload, skip_checks=True)
    return squares * sensitivity.single_participation_sensitivity(strategy) ** 2


def best(releases, workload):
    """The root of the weighted mean of squared errors that jax-privacy's optimiser reaches."""
    rounds = jnp.arange(1, releases + 1)
    counts = rounds if workload == "running-mean" else jnp.ones(releases)
    matrix = jnp.tri(releases) / counts[:, None] / UNIT
    squares = error(dense.optimize(releases, A=matrix), matrix)
    return float(jnp.sqrt(squares.sum() / (1 / counts**2).sum())) * UNIT


def normalised(releases):
    """The worst prefix of a BLT with columns of one length."""
    blt = buffered_toeplitz.optimize(n=releases, min_buffers=BUFFERS, max_buffers=BUFFERS)
    strategy = toeplitz.materialize_lower_triangular(blt.toeplitz_coefs(releases))
    return float(jnp.sqrt(error(strategy / jnp.linalg.norm(strategy, axis=0)).max()))


def main(arguments):
    """Runs the command."""
    if not arguments or arguments[0] != "check" or len(arguments) > 2:
        sys.exit(__doc__)
    program = arguments[1] if len(arguments) == 2 else PROGRAM
    wrong = 0
    for releases in RELEASES:
        cases = [
            (f"dense, {workload}", ours(program, releases, "--sum", "dense", "--workload", workload)["workload_sd"], best(releases, workload), 1e-4)
            for workload in ("mean", "running-mean")
        ]
        cases.append(("blt-normalised", ours(program, releases, "--sum", "blt-normalised")["prefix_sd_max"], normalised(releases), 2e-3))
        for name, own, other, tolerance in cases:
            is_wrong = abs(own / other - 1) > tolerance
            wrong += is_wrong
            print(f"{releases:5} {name:22} ours {own:.6f}, jax-privacy {other:.6f}{'  DIFFERS' if is_wrong else ''}")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main(sys.argv[1:])
