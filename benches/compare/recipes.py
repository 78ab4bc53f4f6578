"""What a round of every recipe costs, early and late in a run: instructions a row by callgrind, over octaves of the same planned run.

An octave holds one power of two, so that what is done at powers of two counts once in each.
"""

import files
from callgrind import SEED, instructions, is_there
from contests import say
from programs import learn, ours, sparse_flags

EARLY, LATE = (500, 1_000), (8_000, 16_000)
PLANNED = 50_000
# A net of as many points takes its time.
SHORT = 2_500
EARLY_OF_NET, LATE_OF_NET = (50, 100), (800, 1_600)
DIMENSION = 10
BITS = 18

TABLE = "--target y --bounds x*=0:1"
CURVED = "--strong-convexity 0.1"
# (recipe, flags): linear models on a table.
MODELS = [
    ("pftal", f"{CURVED} --batch 1"),
    ("pftal-convex", "--batch 1"),
    ("pftal-convex", "--batch 1 --sum blt"),
    ("pftal-convex", "--batch 1 --sum honaker"),
    ("pftal-convex", "--batch 1 --sum smooth"),
    ("pftal-convex", "--batch 1 --sum octave --horizon unknown"),
    ("pqftl", "--batch 1"),
    ("coco-p", f"{CURVED} --batch 1 --window 200"),
    ("coco-l", f"{CURVED} --batch 1 --window 200"),
    ("pigd", CURVED),
    ("pigd-convex", ""),
    ("pgiga", CURVED),
    ("pocp", CURVED),
    ("pocp-anytime", CURVED),
    ("pol", CURVED),
    ("limited-updates", ""),
]
NET = f"--recipe cover --features x0 --radius 1 --rounds {SHORT}"
# The same among as many experts, and arms.
EXPERTS = [("ftrl", "--batch 1"), ("ftpl", "--batch 1"), ("dartboard", ""), ("dartboard-batched", ""), ("hedge-batched", ""), ("limited-updates", "")]
ARMS = [("exp2", ""), ("exp2-batched", ""), ("scrible", "")]


def named(recipe, kind, flags):
    """As the table shows it."""
    words = flags.split()
    on = f" on {words[words.index('--sum') + 1]}" if "--sum" in words else ""
    return f"{recipe}{on}{kind}"


def cases(folder):
    """(name, contender by rows)."""

    def run(file, flags, planned=f" --rounds {PLANNED}"):
        return lambda rows: learn("", f"{file(rows).name} {flags}{planned}", tail=SEED)

    most = LATE[1]

    def dense(rows):
        return files.first(files.dense_csv(folder, most, DIMENSION), rows, has_header=True)

    def losses(rows):
        return files.first(files.experts(folder, most, DIMENSION), rows, has_header=True)

    def words(rows):
        return files.first(files.sparse(folder, most, BITS, "vw"), rows, has_header=False)

    yield "default", run(dense, TABLE)
    for recipe, flags in MODELS:
        yield named(recipe, "", flags), run(dense, f"{TABLE} --recipe {recipe} {flags}")
    for task, recipes in (("experts", EXPERTS), ("bandit", ARMS)):
        for recipe, flags in recipes:
            yield named(recipe, f", {task}", flags), run(losses, f"--task {task} --bounds e*=0:1 --recipe {recipe} {flags}")
    yield "cover", run(dense, f"{TABLE} {NET}", "")
    yield "pftal-bandit", lambda rows: ours("", "pftal-bandit", rows)
    yield (
        f"sparse-ftrl, {files.SPARSE_FEATURES} of 2^{BITS}",
        lambda rows: learn("", sparse_flags(words(rows).name, PLANNED, BITS), tail=SEED),
    )


def costs(folder):
    """{name: instructions a row, early and late}; None if there is no valgrind."""
    if not is_there():
        return None
    found = {}
    for name, make in cases(folder):
        say(f"rounds: {name}")
        octaves = (EARLY_OF_NET, LATE_OF_NET) if name == "cover" else (EARLY, LATE)
        counted = [[instructions(make(rows), folder) for rows in octave] for octave in octaves]
        pairs = zip(counted, octaves)
        found[name] = [None if None in (short, long) else (long - short) / (last - first) for (short, long), (first, last) in pairs]
    return found
