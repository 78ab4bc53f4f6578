"""BLT strategies of the `mechanism` crate, judged by jax-privacy and by 60-digit arithmetic.

    python oracle/blt.py check        recompute every number, exit 1 on a difference
    python oracle/blt.py write        replace crates/mechanism/tests/vectors/blt.json
    cargo run -p hushstream-mechanism --example blt_strategies | python oracle/blt.py write -
                                      the same, for the strategies that our optimiser returns now

Needs oracle/requirements-jax.txt. What is compared:
  exact  sensitivity and standard deviation of the last prefix sum, by mpmath: summed term by term up to 2^12, beyond
         that from the closed form, which must agree with the sum at 2^12;
  jax    the same two from jax-privacy's own closed forms, up to the 10^7 steps for which it is tested;
  participations  the sensitivity for several participations, from jax-privacy's materialised coefficients;
  optima the product of both that jax-privacy's own optimiser reaches.
"""

import json
import pathlib
import sys

import jax

jax.config.update("jax_enable_x64", True)

import mpmath
from jax_privacy.matrix_factorization import buffered_toeplitz, toeplitz

VECTORS = pathlib.Path(__file__).parent.parent / "crates/mechanism/tests/vectors/blt.json"
SUMMED = 2**12
JAX_LIMIT = 2**24
OPTIMA = [(2**10, 3), (2**10, 4), (2**20, 3), (2**20, 4), (2**20, 5)]
PARTICIPATIONS = [(1, 1, 1), (1000, 2, 1), (1000, 2, 400), (1000, 7, 130), (1000, 1000, 1), (333, 50, 10)]

mpmath.mp.dps = 60
mpf = mpmath.mpf


def roots(decay, weight):
    """The zeros of 1 - sum w/(s - a): one right of every a, by bisection."""
    bounds = [*decay[1:], decay[-1] + sum(weight)]
    found = []
    for low, high in zip(decay, bounds):
        for _ in range(400):
            middle = (low + high) / 2
            if sum(w / (middle - a) for a, w in zip(decay, weight)) > 1:
                low = middle
            else:
                high = middle
        found.append((low + high) / 2)
    return found


def geometric(q, terms):
    return mpf(terms) if q == 0 else (1 - (1 - q) ** terms) / q


def energy(poles, residues, terms):
    """Sum over k < terms of (sum_j residue_j (1-pole_j)^k)^2."""
    pairs = [(p, r) for p, r in zip(poles, residues)]
    return sum(r * s * geometric(p + q - p * q, terms) for p, r in pairs for q, s in pairs)


def closed(decay, weight, releases):
    zeros = roots(decay, weight)
    poles = [mpf(0), *zeros]
    # Residues of C^-1/(1-z) by the product formula (the crate uses sums).
    residues = []
    for i, p in enumerate(poles):
        above = mpmath.fprod(p - a for a in decay)
        below = mpmath.fprod(p - q for j, q in enumerate(poles) if j != i)
        residues.append(above / below)
    sensitivity = mpmath.sqrt(1 + energy(decay, weight, releases - 1))
    return sensitivity, mpmath.sqrt(energy(poles, residues, releases))


def summed(decay, weight, releases):
    """Run C on an impulse, and the decoder on an impulse, term by term."""
    theta = [1 - a for a in decay]
    column, row = mpf(0), mpf(0)
    encoder, decoder, prefix = [mpf(0)] * len(theta), [mpf(0)] * len(theta), mpf(0)
    for k in range(releases):
        x = mpf(k == 0)
        y = x + sum(w * b for w, b in zip(weight, encoder))
        encoder = [t * b + x for t, b in zip(theta, encoder)]
        column += y * y
        item = x - sum(w * b for w, b in zip(weight, decoder))
        decoder = [t * b + item for t, b in zip(theta, decoder)]
        prefix += item
        row += prefix * prefix
    return mpmath.sqrt(column), mpmath.sqrt(row)


def exact(strategy, releases):
    decay, weight = [mpf(a) / 2**62 for a in strategy["decay"]], [mpf(w) / 2**40 for w in strategy["weight"]]
    if releases > SUMMED:
        return [float(x) for x in closed(decay, weight, releases)]
    by_sum, by_form = summed(decay, weight, releases), closed(decay, weight, releases)
    assert all(abs(s / f - 1) < mpf(10) ** -30 for s, f in zip(by_sum, by_form)), (releases, by_sum, by_form)
    return [float(x) for x in by_sum]


def theirs(strategy):
    theta, omega = [1 - a / 2**62 for a in strategy["decay"]], [w / 2**40 for w in strategy["weight"]]
    return buffered_toeplitz.BufferedToeplitz.build(theta, omega)


def case(designed_for, strategy):
    blt = theirs(strategy)
    costs = []
    for releases in sorted({1, 2, 3, 100, SUMMED, designed_for} | {min(designed_for, 2**20)}):
        jax_values = None
        if max(releases, designed_for) <= JAX_LIMIT:
            squares = buffered_toeplitz.sensitivity_squared(blt, releases), buffered_toeplitz.max_error(blt.inverse(), releases)
            jax_values = [float(x) ** 0.5 for x in squares]
        costs.append({"releases": releases, "exact": exact(strategy, releases), "jax": jax_values})
    several = []
    if designed_for <= JAX_LIMIT:
        for releases, k, separation in PARTICIPATIONS:
            square = toeplitz.minsep_sensitivity_squared(blt.toeplitz_coefs(releases), separation, k)
            several.append({"releases": releases, "participations": k, "separation": separation, "sensitivity": float(square) ** 0.5})
    return {"designed_for": designed_for, "strategy": strategy, "costs": costs, "participations": several}


def optimum(releases, buffers):
    blt = buffered_toeplitz.optimize(n=releases, min_buffers=buffers, max_buffers=buffers)
    return {"releases": releases, "buffers": buffers, "worst_prefix_sd": float(buffered_toeplitz.max_loss(blt, releases)) ** 0.5}


def differences(stored, fresh, where=""):
    """Every place where two trees of numbers disagree by more than 1e-9 (an optimum: by more than 1e-5; jax-privacy's closed forms, which cancel differently on other processors, by 2e-7
    where that was seen: by more than 1e-6)."""
    if isinstance(fresh, dict):
        if not isinstance(stored, dict) or stored.keys() != fresh.keys():
            return [f"{where}: other keys"]
        return [d for key in fresh for d in differences(stored[key], fresh[key], f"{where}.{key}")]
    if isinstance(fresh, list):
        if not isinstance(stored, list) or len(stored) != len(fresh):
            return [f"{where}: another length"]
        return [d for i, (s, f) in enumerate(zip(stored, fresh)) for d in differences(s, f, f"{where}[{i}]")]
    if isinstance(fresh, float) and isinstance(stored, (int, float)):
        tolerance = 1e-5 if ".optima" in where else 1e-6 if ".jax" in where else 1e-9
        return [] if abs(stored - fresh) <= tolerance * abs(fresh) else [f"{where}: stored {stored}, now {fresh}"]
    return [] if stored == fresh else [f"{where}: stored {stored}, now {fresh}"]


def main():
    arguments = sys.argv[1:]
    if arguments not in (["check"], ["write"], ["write", "-"]):
        sys.exit(__doc__)
    if arguments[-1] == "-":
        lines = [line[1:].split(" ", 1) for line in sys.stdin if line.startswith("@")]
        sets = [(int(releases), json.loads(strategy)) for releases, strategy in lines]
    else:
        sets = [(c["designed_for"], c["strategy"]) for c in json.loads(VECTORS.read_text())["cases"]]
    fresh = {"cases": [case(*one) for one in sets], "optima": [optimum(*one) for one in OPTIMA]}
    if arguments[0] == "write":
        VECTORS.parent.mkdir(exist_ok=True)
        VECTORS.write_text(json.dumps(fresh, indent=1) + "\n")
        print(f"wrote {len(fresh['cases'])} strategies")
        return
    found = differences(json.loads(VECTORS.read_text()), fresh)
    print("\n".join(found) or f"BLT: {len(fresh['cases'])} strategies and {len(fresh['optima'])} optima agree")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
