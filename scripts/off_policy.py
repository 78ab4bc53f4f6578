"""How often the private intervals of off-policy estimates hold the truth.

CoverType as a log whose truth is known: rows of the file, drawn at random, each with one of its
seven kinds named by a public policy that prefers the first two; the reward is 1 if the kind is the
right one. What a fixed kind earns is its share in the whole file. For every seed the program learns
from another log of so many rows, and prints 95 % intervals of what two fixed kinds and the uniform
policy earn.

    python3 scripts/off_policy.py PROGRAM data/covtype.csv examples/covtype7.toml [SEEDS] [ROWS]
"""

import csv
import json
import random
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

CHANCES = [0.3, 0.3, 0.08, 0.08, 0.08, 0.08, 0.08]
ARMS = [str(arm) for arm in range(1, 8)]
JUDGED = "arm:1,arm:2,uniform"


def main():
    program, data, schema = sys.argv[1:4]
    seeds = int(sys.argv[4]) if len(sys.argv) > 4 else 100
    count = int(sys.argv[5]) if len(sys.argv) > 5 else 20000
    with open(data, newline="") as file:
        reader = csv.reader(file)
        header = next(reader)
        rows = list(reader)
    label = header.index("Cover_Type")
    shares = Counter(row[label] for row in rows)
    truth = {f"always {arm}": shares[arm] / len(rows) for arm in ARMS}
    truth["uniform policy"] = 1 / len(ARMS)
    held, all_of_them = Counter(), Counter()
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log.csv"
        for seed in range(seeds):
            dice = random.Random(seed)
            with open(log, "w", newline="") as file:
                writer = csv.writer(file)
                writer.writerow(header + ["played", "reward", "chance"])
                for row in dice.choices(rows, k=count):
                    arm = dice.choices(range(7), CHANCES)[0]
                    reward = int(ARMS[arm] == row[label])
                    writer.writerow(row + [ARMS[arm], reward, CHANCES[arm]])
            command = [
                program, "learn", str(log), "--schema", schema, "--task", "decide",
                "--arm", "played", "--arms", ",".join(ARMS), "--target", "reward",
                "--target-bounds", "0:1", "--ignore", "Cover_Type", "--propensity", "chance",
                "--least-propensity", "0.08", "--evaluate", JUDGED, "--knots", "0",
                "--batch", str(count // 32), "--epsilon", "1", "--delta", "1e-6",
                "--seed-insecure", str(seed), "--json",
            ]
            told = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
            for one in told["evaluation"]:
                if one["policy"] in truth:
                    name = (one["policy"], one["estimate"])
                    held[name] += one["low"] <= truth[one["policy"]] <= one["high"]
                    all_of_them[name] += one["high"] - one["low"]
    for name, count_held in sorted(held.items()):
        width = all_of_them[name] / seeds
        print(f"{name[0]:<16} {name[1]:<6} {count_held} of {seeds}, mean width {width:.4f}")


if __name__ == "__main__":
    main()
