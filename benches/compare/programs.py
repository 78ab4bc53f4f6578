"""How each program is called: ours as a user would call it, the others at their best."""

import os
import pathlib

from contest import Contender

ROOT = pathlib.Path(__file__).resolve().parents[2]
TARGET = ROOT / "target"
BINARIES = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", TARGET)).resolve() / "release"
PEERS = ROOT / "benches" / "peers"
PYTHONS = {
    "peers": TARGET / "bench-python" / "bin" / "python",
    "jax": TARGET / "oracle-jax" / "bin" / "python",
    "tensorflow": TARGET / "bench-tensorflow" / "bin" / "python",
}
DEFAULT, DEFAULT_KEPT = "hushstream, default", "hushstream, default, model and journal kept"
BUDGET = "--epsilon 1 --delta 1e-6"


def learn(name, flags, leaves=(), feed=None, tail="--json"):
    """`hushstream learn` with real noise and a ledger on disk, which starts anew in every run. It predicts every record before it learns from it and
    tells how well, as VW does."""
    line = f"learn {flags} {BUDGET} --ledger run.ledger {tail}"
    return Contender(
        name,
        [BINARIES / "hushstream", *line.split()],
        f"hushstream {line}",
        is_learn=True,
        leaves=("run.ledger", "run.ledger.lock", "run.ledger.witness", *leaves),
        feed=feed,
    )


# What a run leaves that can be resumed and whose model is kept.
KEPT, LEAVES = "--state state --model model.json", ("state", "model.json")


def default_runs(flags):
    """As a user runs it: no recipe, batch or number of rows named; the file is checked before the charge. The second keeps model and journal, with a digest of every row."""
    return [learn(DEFAULT, flags), learn(DEFAULT_KEPT, f"{flags} {KEPT}", LEAVES)]


def dense_flags(file, rows, total):
    """A release every row."""
    return f"{file} --target y --bounds x*=0:1 --recipe pftal-convex --sum {total} --batch 1 --rounds {rows}"


def sparse_flags(file, rows, bits):
    """VW text or libsvm; 37 features of size 1 are no longer than 7."""
    space = f"--hash-bits {bits}" if file.endswith("vw") else f"--dim {1 << bits}"
    return f"{file} --recipe sparse-ftrl {space} --norm 7 --rounds {rows}"


def peer(name, script, *arguments, python="peers", once=False):
    """Somebody else's implementation."""
    line = " ".join([script, *map(str, arguments)])
    return Contender(name, [PYTHONS[python], PEERS / script, *map(str, arguments)], f"python benches/peers/{line}", once=once)


def vw(name, flags):
    """Vowpal Wabbit, logistic loss."""
    return peer(name, "vw.py", *flags.split(), "--loss_function", "logistic")


def ours(name, *arguments):
    """A contestant of the Rust crate beside this folder."""
    return Contender(name, [BINARIES / "hushstream-benches", *map(str, arguments)], f"hushstream-benches {' '.join(map(str, arguments))}")
