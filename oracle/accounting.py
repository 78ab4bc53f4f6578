"""Independent answers for the accounting crate.

    python accounting.py write    recompute and write crates/account/tests/vectors/accounting.json
    python accounting.py check    recompute and compare with the committed file; exit 1 on a difference

Exact numbers come from mpmath at 80 digits, by formulas written from the definitions and not from the crate: Gaussian
DP by the normal distribution function itself, Renyi curves by their textbook sums. Heterogeneous compositions have
no closed form: there dp-accounting's privacy loss distributions bracket the truth from both sides, and its Renyi accountant shows
what looseness is usual. Numbers that the crate must reproduce are strings with 25 digits; inputs are floats.
"""

import json
import math
import pathlib
import sys

import mpmath as mp
from dp_accounting import dp_event, privacy_accountant
from dp_accounting.pld import privacy_loss_distribution as pld
from dp_accounting.rdp import rdp_privacy_accountant

VECTORS = pathlib.Path(__file__).resolve().parent.parent / "crates/account/tests/vectors/accounting.json"
mp.mp.dps = 80


def text(x):
    return mp.nstr(x, 25, min_fixed=0, max_fixed=0)


# ---------------------------------------------------------------- Gaussian DP


def phi_upper(x):
    return mp.erfc(x / mp.sqrt(2)) / 2


def gdp_delta(mu, eps):
    mu, eps = mp.mpf(mu), mp.mpf(eps)
    return phi_upper(eps / mu - mu / 2) - mp.exp(eps) * phi_upper(eps / mu + mu / 2)


def bisect(increasing, low, high, digits=30):
    """Root of an increasing function on [low, high], to a relative accuracy."""
    low, high = mp.mpf(low), mp.mpf(high)
    assert increasing(low) <= 0 <= increasing(high)
    while high - low > abs(high) * mp.mpf(10) ** -digits:
        middle = (low + high) / 2
        if increasing(middle) < 0:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def gdp_mu(eps, delta):
    target = mp.log(mp.mpf(delta))
    objective = lambda u: mp.log(gdp_delta(mp.exp(u), eps)) - target
    # At x1 = z >= 10 + sqrt(-2 ln delta) delta is too small, at mu = 100 + sqrt(2 eps) too large; x1 = z is mu = sqrt(z^2 + 2 eps) - z.
    z = mp.sqrt(-2 * target) + 10
    low = mp.log(mp.sqrt(z * z + 2 * mp.mpf(eps)) - z)
    high = mp.log(mp.sqrt(2 * mp.mpf(eps)) + 100)
    return mp.exp(bisect(objective, low, high))


def gdp_epsilon(mu, delta):
    delta = mp.mpf(delta)
    if gdp_delta(mu, 0) <= delta:
        return mp.mpf(0)
    high = mp.mpf(mu) ** 2 / 2 + mp.mpf(mu) * (mp.sqrt(-2 * mp.log(delta)) + 2)
    return bisect(lambda e: delta - gdp_delta(mu, e), 0, high)


GRID_EPSILON = [1e-3, 3e-3, 0.01, 0.03, 0.1, 0.3, 0.5, 1.0, 2.0, 3.0, 5.0, 7.0, 10.0, 15.0, 20.0, 30.0, 50.0]
GRID_DELTA = [1e-15, 1e-14, 1e-13, 1e-12, 1e-11, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.1]
EXTREMES = [
    (eps, delta)
    for eps in [1e-6, 1e-4, 0.01, 1.0, 100.0, 1e3, 1e4, 1e5]
    for delta in [1e-300, 1e-100, 1e-30, 1e-12, 1e-3, 0.5, 0.9, 0.999]
]


def gdp_vector(eps, delta):
    exact = gdp_mu(eps, delta)
    mu = float(exact)
    return {
        "epsilon": eps,
        "delta": delta,
        "mu": text(exact),
        "mu_float": mu,
        "delta_at": text(gdp_delta(mu, eps)),
        "epsilon_at": text(gdp_epsilon(mu, delta)),
    }


# ---------------------------------------------------------------- zCDP and Renyi


def renyi_epsilon(curve, delta):
    """min over alpha > 1 of r + ln(1 - 1/alpha) - ln(alpha delta)/(alpha - 1), at least 0, and the best alpha."""
    ln_delta = mp.log(mp.mpf(delta))

    def at(u):
        alpha = 1 + mp.exp(u)
        return curve(alpha) + mp.log(1 - 1 / alpha) - (mp.log(alpha) + ln_delta) / (alpha - 1)

    u, value = minimise(at)
    return max(mp.mpf(0), value), 1 + mp.exp(u)


def renyi_delta(curve, eps):
    """min over alpha > 1 of exp((alpha-1)(r - eps)) (1 - 1/alpha)^alpha / (alpha - 1), at most 1."""

    def at(u):
        alpha = 1 + mp.exp(u)
        return (alpha - 1) * (curve(alpha) - eps) + alpha * mp.log(1 - 1 / alpha) - mp.log(alpha - 1)

    return min(mp.mpf(1), mp.exp(minimise(at)[1]))


def minimise(f):
    """Coarse scan over u = ln(alpha - 1), then golden section: value accurate to about 30 digits."""
    grid = [mp.mpf(i) / 4 for i in range(-60, 100)]
    best = min(range(len(grid)), key=lambda i: f(grid[i]))
    low, high = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
    ratio = (mp.sqrt(5) - 1) / 2
    a, b = high - ratio * (high - low), low + ratio * (high - low)
    fa, fb = f(a), f(b)
    while high - low > mp.mpf(10) ** -16:
        if fa < fb:
            high, b, fb = b, a, fa
            a = high - ratio * (high - low)
            fa = f(a)
        else:
            low, a, fa = a, b, fb
            b = low + ratio * (high - low)
            fb = f(b)
    u = (low + high) / 2
    return u, f(u)


def zcdp_vector(rho, eps, delta):
    curve = lambda alpha: alpha * mp.mpf(rho)
    return {
        "rho": rho,
        "epsilon": eps,
        "delta": delta,
        "epsilon_at": text(renyi_epsilon(curve, delta)[0]),
        "delta_at": text(renyi_delta(curve, mp.mpf(eps))),
    }


def curve_laplace(e):
    e = mp.mpf(e)
    return lambda a: mp.log(a / (2 * a - 1) * mp.exp((a - 1) * e) + (a - 1) / (2 * a - 1) * mp.exp(-a * e)) / (a - 1)


def curve_pure(e):
    e = mp.mpf(e)
    p, q = 1 / (1 + mp.exp(-e)), 1 / (1 + mp.exp(e))
    return lambda a: mp.log(p**a * q ** (1 - a) + q**a * p ** (1 - a)) / (a - 1)


def curve_coin(p, q):
    p, q = mp.mpf(p), mp.mpf(q)
    one = lambda a, x, y: mp.log(x**a * y ** (1 - a) + (1 - x) ** a * (1 - y) ** (1 - a)) / (a - 1)
    return lambda a: max(one(a, p, q), one(a, q, p))


def renyi_vectors():
    """Curves at the orders 1 + 2^k, which every binary float grid holds exactly."""
    curves = []
    for e in [1e-6, 1e-3, 0.02, 0.3, 1.0, 4.0, 20.0, 300.0]:
        curves.append({"kind": "laplace", "parameters": [e]})
        curves.append({"kind": "pure", "parameters": [e]})
    coins = [(0.0135, 0.0184325), (1e-6, 1.5e-6), (0.5, 0.49), (0.1, 0.3), (0.01, 0.6), (0.25, 0.2500001)]
    coins += [(1e-12, 2e-12), (1e-30, 3e-30), (0.999, 0.5), (0.9999999, 0.99999999), (0.3, 0.30000000000001), (1e-15, 0.9)]
    for p, q in coins:
        curves.append({"kind": "coin", "parameters": [p, q]})
    make = {"laplace": curve_laplace, "pure": curve_pure, "coin": curve_coin}
    for vector in curves:
        curve = make[vector["kind"]](*vector["parameters"])
        vector["values"] = [text(curve(1 + mp.mpf(2) ** k)) for k in range(-7, 18)]
        vector["epsilon_at"] = []
        for delta, count in [(1e-9, 1), (1e-6, 30), (1e-3, 1000)]:
            eps, order = renyi_epsilon(lambda a: count * curve(a), delta)
            vector["epsilon_at"].append({"delta": delta, "count": count, "epsilon": text(eps), "order": float(order)})
    return curves


def conversion_vectors():
    exponents = [-12, -9, -7, -6, -5, -4, -3, -2, -1.5, -1, -0.5, -0.2, -0.01, 0, 0.01, 0.3, 0.7, 1, 1.5, 2, 2.5]
    out = []
    for exponent in exponents:
        e = 10.0**exponent
        x = mp.mpf(e)
        out.append({"epsilon": e, "laplace": text(x + mp.exp(-x) - 1), "pure": text(x * mp.tanh(x / 2))})
    return out


# ---------------------------------------------------------------- compositions


def two_point(eta, share):
    """A pair whose privacy loss takes the values share*eta and share*eta - eta: bounded range eta, the extreme case."""
    high, low = share * eta, share * eta - eta
    a = math.expm1(-low) / (math.exp(-low) - math.exp(-high))
    upper = {0: math.log(a), 1: math.log1p(-a)}
    lower = {0: math.log(a) - high, 1: math.log1p(-a) - low}
    return lower, upper


def revealing_response(eps, delta):
    """The extreme (eps, delta)-DP pair: reveals everything with probability delta, else randomised response."""
    rest = math.log1p(-delta)
    likely, unlikely = rest - math.log1p(math.exp(-eps)), rest - math.log1p(math.exp(eps))
    upper = {"seen": math.log(delta), "yes": likely, "no": unlikely}
    lower = {"yes": unlikely, "no": likely, "unseen": math.log(delta)}
    return lower, upper


def loss_distribution(kind, value, interval, pessimistic):
    common = dict(pessimistic_estimate=pessimistic, value_discretization_interval=interval)
    dots = dict(use_connect_dots=pessimistic)
    if kind == "gaussian":
        return pld.from_gaussian_mechanism(1 / value, **common, **dots)
    if kind == "laplace":
        return pld.from_laplace_mechanism(1 / value, **common, **dots)
    if kind == "response":
        return pld.from_randomized_response(2 / (1 + math.exp(value)), 2, **common)
    if kind == "discrete-laplace":
        return pld.from_discrete_laplace_mechanism(value, **common, **dots)
    if kind == "discrete-gaussian":
        return pld.from_discrete_gaussian_mechanism(1 / math.sqrt(2 * value), **common, **dots)
    if kind == "bounded-range":
        lower, upper = two_point(value, 1 / 3)
        return pld.from_two_probability_mass_functions(lower, upper, symmetric=False, **common)
    if kind == "approximate":
        lower, upper = revealing_response(*value)
        return pld.from_two_probability_mass_functions(lower, upper, **common)
    raise ValueError(kind)


def event(kind, value):
    if kind == "gaussian":
        return dp_event.GaussianDpEvent(1 / value)
    if kind == "laplace":
        return dp_event.LaplaceDpEvent(1 / value)
    if kind in ("response", "discrete-laplace"):
        return dp_event.RandomizedResponseDpEvent(2 / (1 + math.exp(value)), 2)
    if kind == "discrete-gaussian":
        return dp_event.ZCDpEvent(value)
    if kind == "bounded-range":
        return dp_event.ZCDpEvent(value * value / 8)
    return None


def compose(charges, interval, pessimistic):
    total = None
    for kind, value, count in charges:
        part = loss_distribution(kind, value, interval, pessimistic).self_compose(count)
        total = part if total is None else total.compose(part)
    return total


def composition_vector(charges):
    draws = sum(count for _, _, count in charges)
    interval = 1e-4 if draws <= 20 else 2e-5
    upper, lower = (compose(charges, interval, pessimistic) for pessimistic in (True, False))
    events = [(event(kind, value), count) for kind, value, count in charges]
    # Truncated tails and Fourier transforms move up to about 1e-15 of mass a step: stay outside it, or the bounds would not be any.
    dust = 1e-14
    results = []
    for delta in [1e-9, 1e-6, 1e-3]:
        pessimistic = upper.get_epsilon_for_delta(delta - dust)
        if not math.isfinite(pessimistic):
            continue
        optimistic = lower.get_epsilon_for_delta(delta + dust)
        renyi = None
        if all(e is not None for e, _ in events):
            accountant = rdp_privacy_accountant.RdpAccountant(
                neighboring_relation=privacy_accountant.NeighboringRelation.REPLACE_ONE
            )
            for e, count in events:
                accountant.compose(e, count)
            renyi = float(accountant.get_epsilon(delta))
        probe = float(f"{pessimistic:.3g}")
        results.append(
            {
                "delta": delta,
                "lower": float(optimistic),
                "upper": float(pessimistic),
                "renyi": renyi,
                "probe": probe,
                "probe_delta_lower": max(0.0, float(lower.get_delta_for_epsilon(probe)) - dust),
            }
        )
    named = [{"kind": kind, "value": value, "count": count} for kind, value, count in charges]
    return {"charges": named, "results": results}


def compositions():
    g, l, r = "gaussian", "laplace", "response"
    dl, dg, br, ap = "discrete-laplace", "discrete-gaussian", "bounded-range", "approximate"
    yield from ([(g, mu, n)] for mu, n in [(0.1, 1), (0.236704, 1), (1.0, 1), (0.05, 20), (0.3, 10), (0.1, 100)])
    yield from ([(g, 0.2, 3), (g, mu, n)] for mu, n in [(0.5, 1), (0.05, 20), (1.5, 2)])
    yield from ([(l, e, n)] for e, n in [(0.1, 1), (1.0, 1), (0.1, 20), (0.05, 100), (0.5, 10), (2.0, 5)])
    yield from ([(r, e, n)] for e, n in [(0.1, 1), (0.1, 20), (0.05, 100), (0.5, 10), (3.0, 2)])
    yield from ([(dl, e, n)] for e, n in [(0.1, 20), (0.5, 10), (1.0, 3), (0.05, 100)])
    yield from ([(dg, rho, n)] for rho, n in [(0.005, 10), (0.1, 2), (0.02, 20)])
    yield from ([(br, eta, n)] for eta, n in [(0.02, 100), (0.1, 50), (0.5, 10), (2.0, 2)])
    yield from ([(g, mu, 2), (l, e, 3)] for mu, e in [(0.1, 0.1), (0.5, 0.2), (0.2, 1.0), (1.0, 0.5)])
    yield from ([(g, mu, 1), (r, e, n)] for mu, e, n in [(0.2, 0.1, 10), (0.5, 2.0, 1), (0.05, 5.0, 1), (1.0, 0.3, 5)])
    yield from ([(l, 0.2, 5), (r, 0.1, 10), (g, mu, 2)] for mu in [0.1, 0.4])
    yield from ([(dl, 0.2, 5), (dg, 0.01, 5), (g, mu, 2)] for mu in [0.1, 0.4])
    yield from ([(dg, 0.02, 3), (l, 0.3, 4)], [(br, 0.05, 40), (g, 0.3, 1)], [(br, 0.1, 20), (l, 0.1, 10), (dl, 0.1, 10)])
    yield from ([(ap, [0.5, 1e-10], 1), (g, 0.3, 2)], [(ap, [0.1, 1e-7], 10)], [(ap, [1.0, 1e-5], 2), (l, 0.3, 4)])
    others = [(l, 0.1, 5), (r, 0.5, 2), (dl, 0.2, 5), (dg, 0.02, 3), (br, 0.1, 10)]
    yield from ([(g, mu, n), other] for mu, n in [(0.1, 10), (0.4, 2), (1.0, 1)] for other in others)
    yield from ([(l, 0.3, 3), other] for other in others[1:])
    yield from ([(r, 0.2, 4), other] for other in others[2:])
    yield [(g, 0.1, 5), (l, 0.1, 5), (r, 0.1, 5), (dl, 0.1, 5), (dg, 0.005, 5), (br, 0.1, 5)]


# ---------------------------------------------------------------- the file


def compute():
    return {
        "gdp": [gdp_vector(eps, delta) for eps in GRID_EPSILON for delta in GRID_DELTA],
        "gdp_extremes": [gdp_vector(eps, delta) for eps, delta in EXTREMES],
        "zcdp": [
            zcdp_vector(rho, eps, delta)
            for rho, eps in [
                (1e-8, 1e-3), (1e-6, 0.01), (1e-4, 0.1), (0.01, 0.5), (0.05, 1.0), (0.125, 3.0), (0.5, 5.0),
                (2.0, 10.0), (10.0, 40.0), (100.0, 200.0), (1000.0, 2000.0),
            ]
            for delta in [1e-100, 1e-15, 1e-9, 1e-6, 1e-3, 0.1]
        ],
        "conversions": conversion_vectors(),
        "renyi": renyi_vectors(),
        "compositions": [composition_vector(charges) for charges in compositions()],
    }


def layout(vectors):
    """One vector a line: differences stay readable."""
    sections = []
    for name, rows in vectors.items():
        lines = ",\n".join("  " + json.dumps(row, separators=(",", ":")) for row in rows)
        sections.append(f' "{name}": [\n{lines}\n ]')
    return "{\n" + ",\n".join(sections) + "\n}\n"


def differences(new, old, path=""):
    """Strings (exact numbers) must be equal; floats, which come from FFTs, agree to 1e-6."""
    if isinstance(new, dict) and isinstance(old, dict) and new.keys() == old.keys():
        for key in new:
            yield from differences(new[key], old[key], f"{path}/{key}")
    elif isinstance(new, list) and isinstance(old, list) and len(new) == len(old):
        for i, (a, b) in enumerate(zip(new, old)):
            yield from differences(a, b, f"{path}/{i}")
    elif isinstance(new, float) and isinstance(old, (int, float)) and not isinstance(old, bool):
        if abs(new - old) > 1e-6 * abs(old) + 1e-15:
            yield f"{path}: {new} now, {old} committed"
    elif new != old:
        yield f"{path}: {new!r} now, {old!r} committed"


def main():
    mode = sys.argv[1] if len(sys.argv) == 2 else ""
    if mode not in ("write", "check"):
        sys.exit("usage: accounting.py write|check")
    vectors = json.loads(json.dumps(compute()))
    counts = ", ".join(f"{len(rows)} {name}" for name, rows in vectors.items())
    if mode == "write":
        VECTORS.parent.mkdir(parents=True, exist_ok=True)
        VECTORS.write_text(layout(vectors))
        print(f"wrote {counts}")
        return
    found = list(differences(vectors, json.loads(VECTORS.read_text())))
    print("\n".join(found) if found else f"unchanged: {counts}")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
