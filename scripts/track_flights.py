"""Late arrivals by origin and hour, every day of 2013, with privacy: do intervals hold the truth, and how large is the error?

usage: track_flights.py PROGRAM FLIGHTS.csv.gz [SEEDS]    PROGRAM is hushstream, FLIGHTS the demonstration's file

For every seed of simulated noise it publishes 365 tables at epsilon = 1, delta = 1e-6, and compares every number with the truth:
the share of 95 % intervals that hold it, and the root mean square error. Cells that no flight ever falls into are told apart:
their intervals are cut at 0, where the truth is, so one side alone can miss. The error of the cells since the beginning is
compared with a fresh answer each day, whose noise composes over 365 days: Gaussian noise at the same (epsilon, delta) by the
exact accounting of Gaussian mechanisms (Dong, Roth and Su 2022), which is less than any accountant of approximations needs, and
Laplace noise of epsilon/365 a day. With the package opendp installed, the noise that it needs for 365 answers is computed too.
"""

import collections
import csv
import gzip
import json
import math
import pathlib
import subprocess
import sys
import tempfile

DAYS = 365
EPSILON, DELTA = 1.0, 1e-6


def truth(path):
    """Counts by day, origin, lateness and hour."""
    days = collections.defaultdict(lambda: collections.Counter())
    with gzip.open(path, "rt") as table:
        for row in csv.DictReader(table):
            days[row["date"]][row["origin"], row["late"], min(23, int(float(row["hour"])))] += 1
    return [days[day] for day in sorted(days)]


def spans(days):
    """For every tick and span, the exact counts."""
    total = collections.Counter()
    for tick, day in enumerate(days):
        total.update(day)
        week = collections.Counter()
        for other in days[max(0, tick - 6):tick + 1]:
            week.update(other)
        yield {"total": collections.Counter(total), "tick": day, "last 7": week}


def truths(days):
    """For every tick, span and group, the names and exact values of the numbers of a table's row."""
    names = ["count"] + [f"hour {hour}..{hour + 1}" for hour in range(24)]
    table = {}
    for tick, by_span in enumerate(spans(days)):
        for span, exact in by_span.items():
            for origin in [None, "EWR", "JFK", "LGA", "(other)"]:
                for late in [None] if origin is None else ["0", "1", "(other)"]:
                    hours = [0] * 24
                    for key, count in exact.items():
                        if origin in (None, key[0]) and late in (None, key[1]):
                            hours[key[2]] += count
                    table[tick, span, origin, late] = list(zip(names, [sum(hours)] + hours))
    return table


def run(program, flights, seed, folder):
    """The tables of one seed."""
    out = pathlib.Path(folder) / "releases.jsonl"
    subprocess.run([program, "track", flights, "--by", "day", "--time", "date", "--group", "origin=EWR|JFK|LGA",
                    "--group", "late=0|1", "--histogram", "hour=0:24/24", "--last", "7", "--epsilon", str(EPSILON),
                    "--delta", str(DELTA), "--seed-insecure", str(seed), "--releases", str(out), "--quiet", "--json"],
                   check=True, stdout=subprocess.DEVNULL)
    with open(out) as lines:
        yield from map(json.loads, lines)


def mu_of(epsilon, delta):
    """The Gaussian privacy parameter of (epsilon, delta), by bisection."""
    phi = lambda x: 0.5 * math.erfc(-x / math.sqrt(2))
    spent = lambda mu: phi(-epsilon / mu + mu / 2) - math.exp(epsilon) * phi(-epsilon / mu - mu / 2)
    low, high = 1e-6, 10.0
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if spent(middle) < delta else (low, middle)
    return low


def fresh_gaussian():
    """The error of a cell, asked afresh every day: two cells change by one, so the distance is the root of 2."""
    return math.sqrt(2 * DAYS) / mu_of(EPSILON, DELTA)


def fresh_laplace():
    """The same with Laplace noise of epsilon/365 a day."""
    return math.sqrt(2) * 2 * DAYS / EPSILON


def opendp_gaussian():
    """The scale that opendp finds for 365 Gaussian answers of distance root 2 within the budget."""
    try:
        import opendp.prelude as dp
    except ImportError:
        return None
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.l2_distance(T=float)
    fits = lambda scale: dp.c.make_zCDP_to_approxDP(dp.c.make_composition([dp.m.make_gaussian(*space, scale)] * DAYS))
    needed = lambda scale: fits(scale).map(math.sqrt(2)).epsilon(DELTA)
    low, high = 1.0, 1e5
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if needed(middle) > EPSILON else (low, middle)
    return high


def main(program, flights, seeds=100):
    """Prints coverage and errors."""
    exact = truths(truth(flights))
    held, all_, squares = collections.Counter(), collections.Counter(), collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(int(seeds)):
            for table in run(program, flights, seed, folder):
                for row in table["rows"]:
                    group = row.get("group", {})
                    cells = exact[table["release"] - 1, row["span"], group.get("origin"), group.get("late")]
                    for name, true in cells:
                        value, low, high = row[name]
                        what = name.split()[0] + ("" if group else " of all")
                        kind = (row["span"], what, "flights" if true else "none")
                        all_[kind] += 1
                        held[kind] += low <= true <= high
                        squares[kind] += (value - true) ** 2
    for kind in sorted(all_):
        print(f"{kind[0]:>8} {kind[1]:<14} {kind[2]:<8} intervals hold the truth in {held[kind] / all_[kind]:.2%} "
              f"of {all_[kind]}, error {math.sqrt(squares[kind] / all_[kind]):.1f}")
    flights_in = [kind for kind in all_ if kind[2] == "flights"]
    share = sum(held[kind] for kind in flights_in) / sum(all_[kind] for kind in flights_in)
    print(f"{'all':>8} {'':<14} {'flights':<8} intervals hold the truth in {share:.2%}")
    ours = math.sqrt(squares["total", "hour", "flights"] / all_["total", "hour", "flights"])
    print(f"late and other arrivals by origin and hour, since the beginning: error {ours:.1f} over all days")
    for name, error in [("fresh Gaussian, exact accounting", fresh_gaussian()), ("fresh Laplace", fresh_laplace()),
                        ("fresh Gaussian of opendp, zCDP", opendp_gaussian())]:
        if error:
            print(f"  {name}: {error:.1f}, {error / ours:.1f} times as large")


if __name__ == "__main__":
    main(*sys.argv[1:])
