"""The operator's metrics, computed once more by scikit-learn from what a run has published.

    python metrics.py write    runs the small cases and writes crates/cli/tests/vectors/metrics.json
    python metrics.py check    runs all cases; exits with 1 if a metric differs in its third digit, or the file does

Needs numpy, scikit-learn and target/release/hushstream. A run with a seed writes its releases; every record is then
predicted again with the model that predicted it in the run. With batches of B records, record i (from 0) is predicted
by release number floor(i / B), where number 0 is the model of all zeros that a run starts with; records after the last
release by the last one. Records without a target are not scored.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
from sklearn import metrics as sk

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = ROOT / "target" / "release" / "hushstream"
VECTORS = ROOT / "crates" / "cli" / "tests" / "vectors" / "metrics.json"
CLASSES = ["low", "middle", "high"]
# The least probability that a score of least squares stands for, as docs/how-to/output.md says.
LEAST = 0.001
GROUPS = 15

BOUNDS = "--features a,b,c --bounds a=0:1,b=-2:2,c=0:10"
BUDGET = "--delta 1e-6 --seed-insecure 1 --missing-target null"
FIRST = "--recipe pftal-convex --sum blt"
# name: (kind, rows, what is written to the file of golden numbers, flags)
CASES = {
    "logistic": ("sign", 400, True, f"--target label {FIRST} --epsilon 20 --batch 4"),
    "second order": ("sign", 400, True, "--target label --recipe pqftl --sum blt --epsilon 5 --batch 10"),
    "several classes": ("class", 400, True, f"--target class --classes {','.join(CLASSES)} --recipe pqftl --sum blt --epsilon 5 --batch 10"),
    "number": ("number", 400, True, "--target y --target-bounds 0:8 --recipe pqftl --sum blt --epsilon 5 --batch 10"),
    "logistic, long": ("sign", 20000, False, f"--target label {FIRST} --epsilon 1"),
    "logistic, a release for each record": ("sign", 3000, False, f"--target label {FIRST} --epsilon 8 --batch 1"),
    "logistic, a large radius": ("sign", 5000, False, f"--target label {FIRST} --epsilon 50 --radius 60 --batch 10"),
    "second order, long": ("sign", 20000, False, "--target label --recipe pqftl --sum blt --epsilon 1"),
    "second order, mostly noise": ("sign", 3000, False, "--target label --recipe pqftl --epsilon 0.1"),
    "rare positives": ("sign", 20000, False, f"--target rare {FIRST} --epsilon 4"),
    "rare positives, second order": ("sign", 20000, False, "--target rare --recipe pqftl --sum blt --epsilon 4"),
    "hinge": ("score", 3000, False, f"--target label {FIRST} --loss hinge --epsilon 8"),
    "perturbed iterates": ("sign", 3000, False, "--target label --recipe pigd-convex --epsilon 8"),
    "softmax": ("softmax", 5000, False, f"--target class --classes {','.join(CLASSES)} {FIRST} --epsilon 8"),
    "number, first order": ("number", 5000, False, f"--target y --target-bounds 0:8 {FIRST} --epsilon 4"),
    "number, long": ("number", 20000, False, "--target y --target-bounds 0:8 --recipe pqftl --sum blt --epsilon 1"),
}


def table(rows):
    """Records that follow a noisy linear rule; one target in twenty is missing."""
    rng = np.random.default_rng(7)
    x = rng.uniform(-1.0, 1.0, (rows, 3))
    rule = 3.0 * x[:, 0] - 2.0 * x[:, 1] + x[:, 2] - 0.5
    noisy = rule + rng.logistic(size=rows)
    lines = ["a,b,c,label,rare,class,y"]
    for point, truth, gone in zip(x, noisy, rng.uniform(size=rows) < 0.05):
        a, b, c = (1.0 + point[0]) / 2.0, 2.0 * point[1], 5.0 * (1.0 + point[2])
        number = float(np.clip(5.0 + truth / 2.0, 0.0, 8.0))
        targets = [int(truth > 0), int(truth > 4), CLASSES[int(truth > -1) + int(truth > 1)], f"{number:.3f}"]
        targets = [""] * 4 if gone else [str(target) for target in targets]
        lines.append(",".join([f"{a:.4f}", f"{b:.4f}", f"{c:.4f}", *targets]))
    return "\n".join(lines) + "\n"


def run(text, flags):
    """The JSON object of a run, and its releases in order."""
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "d.csv").write_text(text)
        line = [PROGRAM, "learn", "d.csv", *flags.split(), "--json", "--releases", "releases"]
        done = subprocess.run(line, cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise SystemExit(f"metrics.py: {flags}\n{done.stderr}")
        releases = (pathlib.Path(folder) / "releases").read_text().splitlines()
        return json.loads(done.stdout), [json.loads(release)["weights"] for release in releases]


def scores_of(text, target, told, releases, blocks):
    """Scores of the records that have a target, and the targets as text."""
    rows = [line.split(",") for line in text.splitlines()]
    column, rows = rows[0].index(target), rows[1:]
    numbers = np.array([[float(field) for field in row[:3]] for row in rows])
    low, high = np.array([0.0, -2.0, 0.0]), np.array([1.0, 2.0, 10.0])
    x = np.hstack([2.0 * (numbers - low) / (high - low) - 1.0, np.ones((len(rows), 1))])
    length = told["parameters"]["length"]
    x *= np.minimum(1.0, length / np.linalg.norm(x, axis=1))[:, None]
    models = [np.zeros((blocks, 4))] + [np.reshape(weights, (blocks, 4)) for weights in releases]
    batch = told["parameters"]["batch"]
    scores = np.array([models[min(i // batch, len(models) - 1)] @ point for i, point in enumerate(x)])
    kept = [i for i, row in enumerate(rows) if row[column]]
    return scores[kept], [rows[i][column] for i in kept]


def bins(scores):
    """Where scores are counted, as docs/how-to/output.md says: 2^14 equal steps of s/(1 + |s|), a power of two wide, that cover all."""
    places = scores / (1.0 + np.abs(scores))
    for power in range(50, 12, -1):
        steps = np.floor(places * 2.0**power)
        if steps.min() >= -(2**13) and steps.max() < 2**13:
            return steps
    return steps


def calibration_error(scores, chances, labels):
    """Records in the order of their scores, in 15 groups of equal size that end where a bin ends."""
    order = np.argsort(scores, kind="stable")
    steps, chances, labels = bins(scores)[order], chances[order], labels[order]
    error, start = 0.0, 0
    for group in range(1, GROUPS + 1):
        end = -(-group * len(labels) // GROUPS)
        while 0 < end < len(labels) and steps[end] == steps[end - 1]:
            end += 1
        error += abs(np.sum(chances[start:end] - labels[start:end]))
        start = max(start, end)
    return error / len(labels)


def shares(labels):
    """Accuracy of the baselines."""
    labels = np.array(labels)
    common = np.unique(labels, return_counts=True)
    dummy = np.full(len(labels), common[0][np.argmax(common[1])])
    return {
        "majority": sk.accuracy_score(labels, dummy),
        "last_label": sk.accuracy_score(labels[1:], labels[:-1]),
    }


def of_signs(scores, labels, kind, told):
    """Metrics of two classes."""
    y, scores = np.array(labels) == "1", scores[:, 0]
    found = {"accuracy": sk.accuracy_score(y, scores > 0), "auc": sk.roc_auc_score(y, scores), **shares(labels)}
    if kind == "sign":
        linear = np.clip((1.0 + scores) / 2.0, LEAST, 1.0 - LEAST)
        chances = linear if told["recipe"] == "pqftl" else 1.0 / (1.0 + np.exp(-scores))
        prior = np.full(len(y), np.mean(y))
        found |= {
            "log_loss": sk.log_loss(y, chances),
            "brier": sk.brier_score_loss(y, chances),
            "calibration_error": calibration_error(scores, chances, y),
            "prior_log_loss": sk.log_loss(y, prior),
        }
    return found


def of_classes(scores, labels, kind):
    """Metrics of several classes."""
    if kind == "softmax":
        chances = np.exp(scores - scores.max(axis=1, keepdims=True))
    else:
        chances = np.clip(scores, LEAST, 1.0)
    chances /= chances.sum(axis=1, keepdims=True)
    numbers = [CLASSES.index(label) for label in labels]
    best = np.argmax(scores, axis=1)
    return {
        "accuracy": sk.accuracy_score(numbers, best),
        "log_loss": sk.log_loss(numbers, chances, labels=[0, 1, 2]),
        **shares(labels),
    }


def of_numbers(scores, labels):
    """Metrics of numbers, which weights predict from the midpoint of their bounds."""
    y = np.array([float(label) for label in labels])
    found = np.clip(4.0 + scores[:, 0], 0.0, 8.0)
    return {
        "mse": sk.mean_squared_error(y, found),
        "mae": sk.mean_absolute_error(y, found),
        "r2": sk.r2_score(y, found),
        "constant": sk.mean_squared_error(y, np.full(len(y), np.mean(y))),
    }


def replayed(case):
    """(the program's metrics, scikit-learn's, table, flags) of a case."""
    kind, rows, _, own = CASES[case]
    text, flags = table(rows), f"{BOUNDS} {BUDGET} {own}"
    told, releases = run(text, flags)
    blocks = 3 if kind in ("class", "softmax") else 1
    target = own.split()[1]
    scores, labels = scores_of(text, target, told, releases, blocks)
    if told["scored"] != len(labels):
        raise SystemExit(f"metrics.py: {case}: {told['scored']} records are scored, not {len(labels)}")
    if kind in ("sign", "score"):
        found = of_signs(scores, labels, kind, told)
    elif kind == "number":
        found = of_numbers(scores, labels)
    else:
        found = of_classes(scores, labels, kind)
    return told["metrics"], {key: float(value) for key, value in found.items()}, text, flags


def differences(case):
    """Metrics that differ, in words, and the golden numbers of a case."""
    own, found, text, flags = replayed(case)
    wrong = []
    for key, value in found.items():
        # The AUC is off by its bound at most, everything else by rounding alone.
        allowed = (min(own["auc_error"], 5e-4) if key == "auc" else 0.0) + 1e-9
        if own[key] is None or abs(own[key] - value) > allowed * max(1.0, abs(value)):
            wrong.append(f"{case}: {key} is {own[key]}, and {value} by scikit-learn")
    if CASES[case][0] == "score" and own["log_loss"] is not None:
        wrong.append(f"{case}: a log loss is told, and the loss has no probabilities")
    shown = ", ".join(f"{key} {value:.4f}" for key, value in found.items())
    print(f"{case}: {shown}", flush=True)
    return wrong, {"name": case, "flags": flags, "table": text, "metrics": found}


def main(arguments):
    """Runs the command."""
    if arguments not in (["write"], ["check"]):
        print(__doc__.strip())
        return 2
    if not PROGRAM.exists():
        print("metrics.py: build first: cargo build --release", file=sys.stderr)
        return 1
    writes = arguments == ["write"]
    wrong, golden = [], []
    for case in CASES:
        if writes and not CASES[case][2]:
            continue
        found, vector = differences(case)
        wrong += found
        golden += [vector] if CASES[case][2] else []
    if writes and not wrong:
        VECTORS.parent.mkdir(exist_ok=True)
        VECTORS.write_text(json.dumps(golden, indent=1) + "\n")
    elif not writes:
        for stored, vector in zip(json.loads(VECTORS.read_text()), golden, strict=True):
            same = all(abs(stored["metrics"][key] - value) < 1e-9 for key, value in vector["metrics"].items())
            if not same or stored["table"] != vector["table"] or stored["flags"] != vector["flags"]:
                wrong.append(f"{vector['name']}: {VECTORS.name} is not up to date")
    print("\n".join(wrong) or "all metrics are scikit-learn's")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
