"""Measures the tables of docs/results.md again.

usage: results.py DATA [TABLE ...]    DATA is the folder that fetch_data.py filled; tables: covtype covtype7 bandit elec2 weather flights delay nyse

Runs target/release/hushstream with simulated noise (--seed-insecure), which has the law of real noise but a seed, so that everyone finds
the same numbers. Each figure is the mean over the seeds, with the least and the greatest where they differ. All of it takes about two
minutes of processor time, most of it for CoverType.
"""

import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = ROOT / "target" / "release" / "hushstream"
EPSILONS = ["0.1", "1", "10"]
METRICS = ["accuracy", "auc", "log_loss", "brier", "calibration_error", "mse", "mae", "r2"]
BASELINES = ["majority", "last_label", "prior_log_loss", "constant"]

COVTYPE = "covtype.csv --schema {root}/examples/covtype.toml --shuffle 1"
FIRST = "--recipe pftal-convex"
# table: (command, seeds, [(row, flags)])
TABLES = {
    "covtype": (COVTYPE, 3, [
        ("automatic", ""),
        ("first order on BLT", f"{FIRST} --sum blt"),
        ("first order on the tree", FIRST),
    ]),
    "covtype7": ("covtype.csv --schema {root}/examples/covtype7.toml --shuffle 1", 3, [("automatic", "")]),
    "bandit": ("covtype.csv --task bandit --target Cover_Type --arms 1,2,3,4,5,6,7 --shuffle 1", 3, [
        ("automatic", ""),
        ("exp2, an arm a round, as in its paper", "--recipe exp2 --noise laplace"),
    ]),
    "elec2": ("elec2.csv --schema {root}/examples/elec2.toml", 10, [("automatic", ""), ("first order on BLT", f"{FIRST} --sum blt")]),
    "weather": ("weather.csv --schema {root}/examples/weather.toml", 10, [("automatic", ""), ("first order on BLT", f"{FIRST} --sum blt")]),
    "flights": ("flights.csv.gz --schema {root}/examples/flights.toml", 3, [("automatic", ""), ("first order on BLT", f"{FIRST} --sum blt")]),
    "delay": (
        "flights.csv.gz --schema {root}/examples/flights.toml --task regress --target delay --target-bounds -60:180 --ignore late",
        3,
        [("automatic", ""), ("first order on BLT", f"{FIRST} --sum blt")],
    ),
    "nyse": ("nyse_o-losses.csv --schema {root}/examples/nyse.toml", 10, [
        ("automatic", ""),
        ("ftrl on BLT", "--recipe ftrl --sum blt"),
        ("ftrl on the padded tree, as in its paper", "--recipe ftrl"),
    ]),
}


def run(data, command, flags, epsilon, seed, compare):
    """The JSON object of one run."""
    line = command.format(root=ROOT).split() + flags.split()
    line += ["--epsilon", epsilon, "--delta", "1e-6", "--seed-insecure", str(seed), "--json"]
    line += ["--without-privacy"] if compare else []
    done = subprocess.run([PROGRAM, "learn", *line], cwd=data, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"results.py: hushstream learn {' '.join(line)}\n{done.stderr}")
    return json.loads(done.stdout)


def spread(values):
    """Mean, and least to greatest where they differ in what is shown."""
    digits = 3 if max(abs(value) for value in values) < 100 else 0
    shown = [f"{value:.{digits}f}" for value in (sum(values) / len(values), min(values), max(values))]
    return shown[0] if shown[1] == shown[2] else f"{shown[0]} ({shown[1]} to {shown[2]})"


def figures(outcome):
    """What a table shows of a run: metrics, the reward a round, or for experts what 1 has become (e to the minus summed loss)."""
    if outcome["metrics"] is not None:
        return {key: outcome["metrics"].get(key) for key in METRICS}
    if outcome["rewards"] is not None:
        return {"reward": outcome["rewards"]["average"]}
    return {"log wealth": -outcome["loss"]["average"] * outcome["rounds"]}


def references(outcome):
    """The learner without privacy and the predictors without skill."""
    other, rounds, loss = outcome["without_privacy"], outcome["rounds"], outcome["loss"]
    if outcome["metrics"] is not None:
        told = [f"without privacy {key} {other['metrics'][key]:.3f}" for key in METRICS if other["metrics"].get(key) is not None]
        told += [f"{key} {outcome['metrics'][key]:.3f}" for key in BASELINES if key in outcome["metrics"]]
        return "; ".join(told)
    if outcome["rewards"] is not None:
        all_of = outcome["rewards"]
        return f"without privacy {all_of['without_privacy']:.4f}; uniform {all_of['uniform']:.4f}; best arm {all_of['best']:.4f}"
    twin = f"without privacy {-other['loss'] * rounds:.4f}; " if other else ""
    return f"{twin}uniform {-loss['baseline'] * rounds:.4f}; best stock {-loss['hindsight'] * rounds:.4f}"


def measure(data, name):
    """Prints one table."""
    command, seeds, rows = TABLES[name]
    print(f"\n## {name}\n\n| method | ε | figures | beside |\n|---|---|---|---|", flush=True)
    for row, flags in rows:
        for epsilon in EPSILONS:
            outcomes = [run(data, command, flags, epsilon, seed, seed == 1) for seed in range(1, seeds + 1)]
            seen = [figures(outcome) for outcome in outcomes]
            told = "; ".join(f"{key} {spread([one[key] for one in seen])}" for key in seen[0] if seen[0][key] is not None)
            speed = outcomes[-1]["rows_per_second"]
            print(f"| {row} | {epsilon} | {told} | {references(outcomes[0])}; {outcomes[0]['recipe']}, {speed:,.0f} rows/s |", flush=True)


def main(arguments):
    """Runs the command."""
    if not arguments or arguments[0].startswith("-") or not set(arguments[1:]) <= set(TABLES):
        print(__doc__.strip())
        return 2
    if not PROGRAM.exists():
        print("results.py: build first: cargo build --release", file=sys.stderr)
        return 1
    for name in arguments[1:] or TABLES:
        measure(pathlib.Path(arguments[0]), name)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
