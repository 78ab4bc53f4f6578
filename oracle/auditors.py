"""What the attacks of `hushstream audit` saw, judged by other auditors.

    python auditors.py check    audits recipes and planted bugs; exits with 1 if an auditor refutes what is right, or
                                passes what has half the noise that it needs

Needs oracle/requirements-jax.txt and target/release/hushstream, of which it takes scores and claims and nothing else
(`--scores`, `--json`): a score for each run of either of two neighbouring streams. Six auditors:

  intervals   jax-privacy: Clopper and Pearson's intervals at a threshold chosen on other runs. Proves ε.
  gdp         jax-privacy: all thresholds together against a trade-off curve. Gaussian claims. Proves ε.
  one run     jax-privacy: each pair of runs is a canary with a coin, all of them one run of one mechanism, and the
              number of right guesses is too large for ε (Steinke, Nasr and Jagielski 2023). Pure claims. Proves ε.
  one run f   jax-privacy: the same for a trade-off curve (Mahloujifar, Melis and Chaudhuri 2024). Gaussian claims.
  hockey      our own: the hockey-stick divergence at several ε. Empirical distribution functions are within
              √(ln(2/α)/2n) of the truth at all thresholds (Dvoretzky, Kiefer, Wolfowitz; Massart 1990), so the largest
              P[X ≥ t] - e^ε P[Y ≥ t] is proved without choosing t beforehand. Proves δ at an ε.
  renyi       our own: for every g, D_a(P||Q) ≥ a/(a-1) ln E_P e^((a-1)g) - ln E_Q e^(a g), by Hölder's inequality. g is
              fitted on a half of the runs and bounded; means of the other half are within empirical Bernstein bounds
              (Maurer and Pontil 2009). Proves D_a, of which μ-Gaussian privacy allows a μ²/2, and ε-privacy as much
              as randomised response has.

Each auditor is wrong with probability at most 1e-7 for a row, "one run f" at most 0.01; all seeds are fixed. The last two share nothing with
jax-privacy, nor with lab/audit.
"""

import json
import math
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
from jax_privacy import auditing
from scipy.optimize import brentq
from scipy.special import log_ndtr, ndtr

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = ROOT / "target" / "release" / "hushstream"
ERROR = 1e-7
# In one run a trade-off curve allows canaries to fall together, with a probability as small as the error: an error of
# 1e-7 would leave next to nothing to prove.
ONE_RUN_ERROR = 0.01
# Where (ε, δ) must stand for μ: not so small that no number of runs could tell.
DELTA = 0.01

RECIPES = [
    "pftal-convex --sum blt",
    "pftal-convex --sum tree --rounds 2",
    "pftal-convex --sum tree --noise laplace --rounds 2",
    "exp2 --delta 0",
]
# Planted bugs whose noise is half of what it must be, Laplace and Gaussian; each stands before its correct twin.
HALVED = ["sensitivity halved", "kappa forgotten"]


def gaussian_delta(mu, epsilon):
    return ndtr(mu / 2 - epsilon / mu) - math.exp(epsilon + log_ndtr(-mu / 2 - epsilon / mu))


def gaussian_epsilon(mu, delta):
    if gaussian_delta(mu, 0.0) <= delta:
        return 0.0
    return brentq(lambda epsilon: gaussian_delta(mu, epsilon) - delta, 0.0, mu * mu + 10 * mu)


# ----------------------------------------------------------------------------------------------------- jax-privacy


def guessed(left, right, tail, seed=1):
    """Each pair of runs as a canary, whose side is a coin's: the auditor of right and wrong guesses about it.

    Right is guessed from the upper quantile of the scores on, left below the lower one, nothing between; quantiles are
    those of runs that are not used again. jax-privacy counts guesses of one kind only, those at or above a threshold,
    so a right guess is handed on as an "in" and a wrong one as an "out" above it.
    """
    tenth = len(left) // 10
    low, high = np.quantile(np.concatenate([left[:tenth], right[:tenth]]), [tail, 1 - tail])
    left, right = left[tenth:], right[tenth:]
    coins = np.random.default_rng(seed).random(len(left)) < 0.5
    scores = np.where(coins, right, left)
    says = np.where(scores >= high, 1, np.where(scores < low, -1, 0))
    correct = says == np.where(coins, 1, -1)
    made = (says != 0).astype(float)
    return auditing.CanaryScoreAuditor(made[correct], made[~correct]), auditing.Explicit(0.5)


def jax_intervals(left, right, claim):
    delta = DELTA if "mu" in claim else 0.0
    auditor = auditing.CanaryScoreAuditor(right, left)
    split = auditing.Split(seed=1)
    return auditor.epsilon_clopper_pearson(ERROR, delta, one_sided=False, threshold_strategy=split), claim["at"](delta)


def jax_gdp(left, right, claim):
    if "mu" not in claim:
        return None
    auditor = auditing.CanaryScoreAuditor(right[:5000], left[:5000])
    return auditor.epsilon_from_gdp(ERROR, DELTA), claim["at"](DELTA)


def jax_one_run(left, right, claim):
    if "mu" in claim:
        return None
    auditor, at = guessed(left, right, 0.25)
    return auditor.epsilon_one_run(ERROR, 1e-12, threshold_strategy=at), claim["epsilon"]


def jax_one_run_f(left, right, claim):
    if "mu" not in claim:
        return None
    auditor, at = guessed(left, right, 0.1)
    return auditor.epsilon_one_run_fdp(ONE_RUN_ERROR, DELTA, threshold_strategy=at), claim["at"](DELTA)


# ---------------------------------------------------------------------------------------------------------- our own


def hockey(left, right, claim):
    """The δ that is the most of what the claim allows, at one of several ε, in both directions."""
    if "mu" in claim:
        places = [0.0, 0.5, 1.0, 2.0]
        allowed = [gaussian_delta(claim["mu"], epsilon) for epsilon in places]
    else:
        most = claim["epsilon"]
        places = [0.0, most / 2, 0.9 * most]
        allowed = [(math.exp(most) - math.exp(place)) / (1 + math.exp(most)) for place in places]
    every = np.sort(np.concatenate([left, right]))
    share = lambda scores: 1 - np.searchsorted(np.sort(scores), every, side="left") / len(scores)
    p, q = share(right), share(left)
    # Two distribution functions.
    p_margin, q_margin = (math.sqrt(math.log(4 / ERROR) / (2 * len(scores))) for scores in (right, left))
    proved = []
    for epsilon in places:
        factor = math.exp(epsilon)
        ways = (p - factor * q - p_margin - factor * q_margin, q - factor * p - q_margin - factor * p_margin)
        # The opposite event of each: 1 - p for p.
        ways += (1 - p - factor * (1 - q) - p_margin - factor * q_margin,)
        ways += (1 - q - factor * (1 - p) - q_margin - factor * p_margin,)
        proved.append(max(float(way.max()) for way in ways))
    best = max(range(len(places)), key=lambda i: proved[i] / allowed[i])
    return proved[best], allowed[best]


def bernstein(values, most, error):
    """How far the mean of independent values in [0, most] may be from what was seen, to one side."""
    n = len(values)
    log = math.log(2 / error)
    return math.sqrt(2 * values.var(ddof=1) * log / n) + 7 * most * log / (3 * (n - 1))


def renyi_bound(a, g_p, g_q, reach, error):
    """A lower bound of D_a(P||Q) from values of g, |g| ≤ reach, under both."""
    x, y = np.exp((a - 1) * g_p), np.exp(a * g_q)
    low = x.mean() - bernstein(x, math.exp((a - 1) * reach), error / 2)
    high = y.mean() + bernstein(y, math.exp(a * reach), error / 2)
    return -math.inf if low <= 0 else a / (a - 1) * math.log(low) - math.log(high)


def renyi(left, right, claim, a=1.5):
    if "mu" in claim:
        allowed = a * claim["mu"] ** 2 / 2
    else:
        e = claim["epsilon"]
        allowed = math.log((math.exp(a * e) + math.exp((1 - a) * e)) / (1 + math.exp(e))) / (a - 1)
    half = len(left) // 2
    # ln of the likelihood ratio in cells, as the first half shows it.
    edges = np.unique(np.quantile(np.concatenate([left[:half], right[:half]]), np.linspace(0, 1, 65)[1:-1]))
    counts = lambda scores: np.bincount(np.searchsorted(edges, scores, side="right"), minlength=len(edges) + 1) + 1.0
    ratio = np.log(counts(right[:half]) / counts(left[:half]))
    g = lambda scores, reach: np.clip(ratio, -reach, reach)[np.searchsorted(edges, scores, side="right")]
    bound = lambda part, reach: renyi_bound(a, g(right[part], reach), g(left[part], reach), reach, ERROR)
    first, second = slice(0, half), slice(half, None)
    reach = max(np.linspace(0.25, 6, 24), key=lambda reach: bound(first, reach))
    return bound(second, reach), allowed


AUDITORS = {
    "intervals": jax_intervals,
    "gdp": jax_gdp,
    "one run": jax_one_run,
    "one run f": jax_one_run_f,
    "hockey": hockey,
    "renyi": renyi,
}


# ------------------------------------------------------------------------------------------------------------ rows


def audited(arguments):
    """(name, claim, left scores, right scores) of each row that the program prints."""
    with tempfile.TemporaryDirectory() as folder:
        command = [PROGRAM, "audit", *arguments.split(), "--json", "--scores", folder]
        told = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        for number, row in enumerate(told, 1):
            scores = np.loadtxt(pathlib.Path(folder) / f"{number}.csv", delimiter=",", skiprows=1)
            yield row["recipe"], claim_of(row["claimed"]), scores[:, 0], scores[:, 1]


def claim_of(claimed):
    mu, epsilon = claimed["mu"], claimed["epsilon"]
    if mu is not None:
        return {"mu": mu, "at": lambda delta: gaussian_epsilon(mu, delta)}
    return {"epsilon": epsilon, "at": lambda delta: epsilon}


def judge(name, row, must_fall):
    claim, left, right = row
    fine = True
    for auditor, judged in AUDITORS.items():
        answer = judged(left, right, claim)
        if answer is None:
            continue
        proved, allowed = answer
        refuted = proved > allowed
        # An auditor that proves next to nothing of what is right would be no use.
        wrong = refuted != must_fall or (not must_fall and proved < 0.4 * allowed)
        fine &= not wrong
        says = f"{'REFUTED' if refuted else ''}{' <-- WRONG' if wrong else ''}"
        print(f"{name:52} {len(left):7} runs  {auditor:10} {proved:8.4f} of {allowed:8.4f}  {says}")
    return fine


def check():
    fine = True
    for arguments in RECIPES:
        for _, *row in audited(f"{arguments} --time 8s"):
            fine &= judge(arguments, row, False)
    rows = list(audited("--planted"))
    found = 0
    for (name, *row), (_, *twin) in zip(rows, rows[1:]):
        if name in HALVED:
            fine &= judge(f"{name} (planted)", row, True)
            fine &= judge(f"{name} (its twin)", twin, False)
            found += 1
    return fine and found == len(HALVED)


if __name__ == "__main__":
    if sys.argv[1:] != ["check"]:
        sys.exit(__doc__)
    sys.exit(0 if check() else 1)
