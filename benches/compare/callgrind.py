"""Instructions a row, by callgrind: a figure that hardly depends on the machine or on what else it does.

Two runs of different length, planned for the same number of rounds, so that the start and everything else that is done once cancels.
"""

import re
import shutil
import subprocess

import files
from contest import remove
from contests import say
from programs import dense_flags, learn, sparse_flags, vw

SHORT, LONG = 2_000, 6_000
# A seed instead of real noise: counts of two runs then agree to 0.1 % (what is left is how threads meet).
SEED = "--seed-insecure 1 --json"


def instructions(contender, folder):
    """Of one run; None if it did not come to its end."""
    remove(folder / name for name in contender.leaves)
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", *contender.command]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    found = re.search(r"Collected : (\d+)", done.stderr)
    return int(found[1]) if found and done.returncode == 0 else None


def per_row(make, folder):
    """`make(rows)` is the contender over a file of that many rows."""
    short, long = (instructions(make(rows), folder) for rows in (SHORT, LONG))
    return None if short is None or long is None else (long - short) / (LONG - SHORT)


def cases(folder):
    """(name, contender by rows)."""
    plan = 1_000_000
    for dimension in (54, 90):
        for total in ("tree", "blt"):
            yield f"hushstream, d = {dimension}, {total}", lambda rows, d=dimension, total=total: learn(
                "", dense_flags(files.dense_csv(folder, rows, d).name, plan, total), tail=SEED
            )
        # As the default learns from many rows: one pass, the file checked first.
        yield f"hushstream, default, d = {dimension}", lambda rows, d=dimension: learn(
            "", f"{files.dense_csv(folder, rows, d).name} --target y --bounds x*=0:1 --passes 1 --batch 400", tail=SEED
        )
        yield f"VW, text, d = {dimension}", lambda rows, d=dimension: vw("", f"-d {files.dense_vw(folder, rows, d).name}")
    yield "hushstream, sparse-ftrl, 37 of 2^20", lambda rows: learn(
        "", sparse_flags(files.sparse(folder, rows, 20, "vw").name, plan, 20), tail=SEED
    )
    yield "VW, text, 37 of 2^20", lambda rows: vw("", f"-d {files.sparse(folder, rows, 20, 'vw').name} -b 20")


def is_there():
    """Whether there is valgrind."""
    return shutil.which("valgrind") is not None


def counts(folder):
    """{name: instructions a row}; None if there is no valgrind."""
    if not is_there():
        return None
    found = {}
    for name, make in cases(folder):
        say(f"callgrind: {name}")
        found[name] = per_row(make, folder)
    return found
