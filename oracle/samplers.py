"""The laws of the noise samplers, tested by scipy on what the crate draws.

    cargo run --release -p hushstream-noise --example draws | python samplers.py check -
                                       tests 200,000 draws of each; exits with 1 if one has not its law

Needs numpy and scipy. oracle/noise.py computes single draws once more, exactly, from the same bits; here nothing is known
of the bits, and a law is tested as a stranger would: distributions by Kolmogorov and Smirnov (from the lattice on, whose
steps are far below what the test sees) or Pearson's chi-square, and the correlation of neighbours. Each of the tests is
wrong with probability at most 1e-9, and the seed is fixed. Every test must also fail on what is planted: a scale 2 %
too small or large, a twentieth of all draws that are zero, a quarter one too large, a fortieth that repeat a neighbour;
of lengths a scale 5 % off and an exponential law.
"""

import sys

import numpy as np
from scipy import stats

ERROR = 1e-9


def distribution(values, law):
    return stats.kstest(values, law.cdf).pvalue


def spread(values, law):
    """The mean of |v|, which is near to normal."""
    mean, square = law.expect(abs), law.expect(np.square)
    return 2 * stats.norm.sf(abs(np.abs(values).mean() - mean) / np.sqrt((square - mean**2) / len(values)))


def counts(values, probabilities):
    """`probabilities`: value -> probability; all others together are one cell."""
    seen = np.array([np.count_nonzero(values == value) for value in probabilities])
    expected = np.array(list(probabilities.values())) * len(values)
    seen, expected = np.append(seen, len(values) - seen.sum()), np.append(expected, len(values) - expected.sum())
    common = expected >= 10
    pooled = lambda cells: np.append(cells[common], cells[~common].sum())
    seen, expected = pooled(seen), pooled(expected)
    if expected[-1] < 10:
        # Too rare to be a cell: with the last one.
        seen, expected = np.append(seen[:-2], seen[-2:].sum()), np.append(expected[:-2], expected[-2:].sum())
    return stats.chisquare(seen, expected, sum_check=False).pvalue


def neighbours(values):
    """Ranks, so that a heavy tail does not decide."""
    return stats.spearmanr(values[:-1], values[1:]).pvalue


def lattice(law, reach):
    return {k: law.cdf(k + 0.5) - law.cdf(k - 0.5) for k in range(-reach, reach + 1)}


def tests(draws):
    """name -> (test, the draws, draws that must fail)."""
    normal, laplace = stats.norm(), stats.laplace()
    unit = 2.0**30
    out = {}

    def full_scale(name, law, scale):
        values = draws[name] / scale
        out[f"{name}: scale"] = (lambda v: spread(v, law), values, [1.02 * values, 0.98 * values])
        holes = np.where(np.arange(len(values)) % 20 == 0, 0.0, values)
        out[f"{name}: law"] = (lambda v: distribution(v, law), values, [holes])
        repeated = values.copy()
        repeated[1::40] = repeated[0::40][: len(repeated[1::40])]
        out[f"{name}: neighbours"] = (neighbours, values, [repeated])

    for name in ("rounded", "rounded_nodes"):
        full_scale(name, normal, unit)
    full_scale("fine", normal, unit * 2.0**20)
    full_scale("laplace", laplace, unit)

    def exact(name, probabilities):
        values = draws[name].astype(int)
        shifted = values + (np.arange(len(values)) % 4 == 0)
        out[f"{name}: values"] = (lambda v: counts(v, probabilities), values, [shifted])

    exact("rounded_small", lattice(stats.norm(scale=8), 40))
    exact("laplace_small", {k: np.tanh(1 / 6) * np.exp(-abs(k) / 3) for k in range(-40, 41)})
    exact("third", {0: 2 / 3, 1: 1 / 3})
    exact("exp_minus_seven_halves", {0: 1 - np.exp(-3.5), 1: np.exp(-3.5)})
    weights = np.exp(-0.25 * np.array([0, 3, 0, 1, 40]))
    exact("choice", dict(enumerate(weights / weights.sum())))

    # In three dimensions each coordinate of a uniform direction is uniform (Archimedes).
    vectors = draws["l2_laplace"].reshape(-1, 3) / 2.0**20
    lengths = np.linalg.norm(vectors, axis=1)
    gamma, flat = stats.gamma(3), stats.uniform(-1, 2)
    out["l2_laplace: scale"] = (lambda v: spread(v, gamma), lengths, [1.05 * lengths, 0.95 * lengths])
    exponential = -3 * np.log(np.random.default_rng(1).random(len(lengths)))
    out["l2_laplace: length"] = (lambda v: distribution(v, gamma), lengths, [exponential])
    for axis in range(3):
        along = vectors[:, axis] / lengths
        out[f"l2_laplace: direction {axis}"] = (lambda v: distribution(v, flat), along, [np.sign(along) * along**2])
    return out


def check(text):
    draws = {}
    for line in text:
        name, *values = line.split()
        draws[name] = np.array(values, dtype=float)
    fine = True
    for name, (test, values, planted) in tests(draws).items():
        p, wrong = test(values), [test(values) for values in planted]
        good = p > ERROR and all(q <= ERROR for q in wrong)
        fine &= good
        print(f"{name:36} p = {p:8.2g}, planted {', '.join(f'{q:.1g}' for q in wrong)}{'' if good else '  <-- WRONG'}")
    return fine


if __name__ == "__main__":
    if sys.argv[1:] != ["check", "-"]:
        sys.exit(__doc__)
    sys.exit(0 if check(sys.stdin) else 1)
