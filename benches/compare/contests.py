"""Who is compared with whom, on what."""

import dataclasses
import statistics
import subprocess
import sys

import files
from contest import hold
from programs import PYTHONS, ROOT, default_runs, dense_flags, learn, ours, peer, sparse_flags, vw


@dataclasses.dataclass
class Table:
    """One contest as measured: `base` is the contender that ratios refer to, `unit` what is counted."""

    key: str
    title: str
    note: str
    unit: str
    base: str
    outcomes: list

    def ratio(self, name, base=None):
        """How many times as fast as the base `name` is, the median over rounds: the two runs of a round saw the same moment of the machine, whose speed may change by half in
        the next. None if one of them was not measured."""
        found = {outcome.contender.name: outcome for outcome in self.outcomes}
        one, other = found.get(name), found.get(base or self.base)
        if not (one and other and one.runs and other.runs):
            return None
        if len(one.runs) != len(other.runs):
            return other.each()[0] / one.each()[0]
        return statistics.median(base.each() / run.each() for run, base in zip(one.runs, other.runs))

    def of(self, name):
        """The outcome of one contender, if it was measured."""
        return next((outcome for outcome in self.outcomes if outcome.contender.name == name and outcome.runs), None)


def say(text):
    """Progress."""
    print(text, file=sys.stderr, flush=True)


CORES = {1: "one core", 2: "two cores"}
TREE, BLT = "hushstream, tree", "hushstream, BLT"
SECOND = "hushstream, second order"
VW_TEXT, VW_CACHE = "VW, text", "VW, its cache"
# Tuples of columns: how many columns, ours, and VW with all its products of so many features.
TUPLES = {
    2: ("hushstream, tables of pairs", "VW, --interactions ::"),
    3: ("hushstream, tables of triples", "VW, --interactions :::"),
}


def make_cache(folder, text):
    """VW's binary cache of a text file; making it is not timed."""
    cache = text.with_suffix(".cache")
    if not cache.exists():
        # VW appends to the name of an unfinished cache itself and renames it when it is done.
        flags = ["-d", text.name, "--cache_file", cache.name, "-k", "--loss_function", "logistic"]
        subprocess.run([PYTHONS["peers"], ROOT / "benches" / "peers" / "vw.py", *flags], cwd=folder, check=False, stdout=subprocess.DEVNULL)
    return cache


def dense(folder, sizes, dimension):
    """The main contest, on one core and on two."""
    rows = sizes.dense[dimension]
    csv, text = files.dense_csv(folder, rows, dimension), files.dense_vw(folder, rows, dimension)
    cache = make_cache(folder, text)
    contenders = [
        learn(TREE, dense_flags(csv.name, rows, "tree")),
        learn(BLT, dense_flags(csv.name, rows, "blt")),
        *default_runs(f"{csv.name} --target y --bounds x*=0:1"),
        learn(SECOND, f"{csv.name} --target y --bounds x*=0:1 --recipe pqftl --sum blt"),
        vw(VW_TEXT, f"-d {text.name}"),
        vw("VW, text, --sgd", f"-d {text.name} --sgd"),
        vw(VW_CACHE, f"-d {text.name} --cache_file {cache.name}"),
    ]
    if dimension == 54:
        contenders += [
            peer("scikit-learn SGDClassifier, batches of 1000", "sklearn_sgd.py", csv.name),
            peer(f"River LogisticRegression, {sizes.river:,} rows", "river_logistic.py", csv.name, sizes.river),
            peer("diffprivlib LogisticRegression, one model", "diffprivlib_logistic.py", csv.name),
        ]
    for cores, words in CORES.items():
        say(f"dense, d = {dimension}, {words}")
        yield Table(
            f"dense-{dimension}-{cores}",
            f"Dense rows, d = {dimension}, {words}",
            f"{rows:,} generated rows. Ours: exact noise, (1, 1e-6), from CSV; a release every row, or what the default chooses. VW: no privacy, the same rows as VW text, features called by number.",
            "row",
            VW_TEXT,
            hold(contenders, folder, cores, sizes.rounds),
        )


def covtype(folder, sizes):
    """Real rows, most of them zeros, which VW's text leaves out."""
    csv = folder / "covtype.csv"
    if not csv.exists():
        subprocess.run([sys.executable, ROOT / "scripts" / "fetch_data.py", folder], check=False, stdout=subprocess.DEVNULL)
    if not csv.exists():
        say("CoverType could not be fetched: not measured")
        return
    text = files.covtype_vw(folder, csv)
    flags = f"covtype.csv --schema {{root}}/examples/covtype.toml --recipe pftal-convex --sum {{total}} --batch 1 --rounds 581012"
    contenders = [learn(name, flags.format(root=ROOT, total=total)) for name, total in ((TREE, "tree"), (BLT, "blt"))]
    contenders += default_runs(f"covtype.csv --schema {ROOT}/examples/covtype.toml")
    for contender in contenders:
        contender.shown = contender.shown.replace(f"{ROOT}/", "")
    contenders += [vw(VW_TEXT, f"-d {text.name}")]
    for cores, words in CORES.items():
        say(f"CoverType, {words}")
        yield Table(
            f"covtype-{cores}",
            f"CoverType, {words}",
            "581,012 real rows. The CSV holds all 54 columns, VW's text only the 12 or so of a row that are not zero: VW parses and learns from a fifth of the numbers.",
            "row",
            VW_TEXT,
            hold(contenders, folder, cores, sizes.rounds),
        )


def tuples(folder, sizes):
    """Tables of pairs and triples of columns beside VW's products of features, on real rows."""
    if not (folder / "covtype.csv").exists():
        return
    whole = folder / "covtype.csv"
    csv = files.first(whole, sizes.tuples, has_header=True)
    text = files.first(files.covtype_vw(folder, whole), sizes.tuples, has_header=False)
    contenders = []
    for size, (own, other) in TUPLES.items():
        flags = f"{csv.name} --schema {ROOT}/examples/covtype.toml --tables {size}"
        contenders += [learn(own, flags), vw(other, f"-d {text.name} --interactions {':' * size}")]
        contenders[-2].shown = contenders[-2].shown.replace(f"{ROOT}/", "")
    contenders.append(vw(VW_TEXT, f"-d {text.name}"))
    for cores, words in CORES.items():
        say(f"tuples, {words}")
        yield Table(
            f"tuples-{cores}",
            f"Pairs and triples of columns, {words}",
            f"{sizes.tuples:,} rows of CoverType. Ours: curves, and all tables of two or of three of the 12 columns, (1, 1e-6), the file checked first. VW: all products of two or of three of the 12 or so features of a row, no privacy.",
            "row",
            VW_TEXT,
            hold(contenders, folder, cores, sizes.rounds),
        )


def sparse(folder, sizes):
    """37 of 2^20."""
    rows, bits = sizes.sparse, 20
    text, svm = files.sparse(folder, rows, bits, "vw"), files.sparse(folder, rows, bits, "libsvm")
    contenders = [
        learn("hushstream, sparse-ftrl", sparse_flags(text.name, rows, bits)),
        learn("hushstream, sparse-ftrl, libsvm", sparse_flags(svm.name, rows, bits)),
        *default_runs(f"{text.name} --hash-bits {bits} --norm 7"),
        vw(VW_TEXT, f"-d {text.name} -b {bits}"),
        vw("VW, text, --ftrl", f"-d {text.name} -b {bits} --ftrl"),
    ]
    for cores, words in CORES.items():
        say(f"sparse, {words}")
        yield Table(
            f"sparse-{cores}",
            f"Sparse rows, 37 of 2^20 features, {words}",
            f"{rows:,} generated rows, features by a power law, called by number, in VW text. Ours: exact noise on all 2^20 coordinates, (1, 1e-6). VW: no privacy.",
            "row",
            VW_TEXT,
            hold(contenders, folder, cores, sizes.rounds),
        )


def outputs(folder, sizes):
    """What the outputs of `learn` cost."""
    rows = sizes.dense[54]
    csv = files.dense_csv(folder, rows, 54)
    flags = dense_flags(csv.name, rows, "tree")
    counted = flags.replace(f" --rounds {rows}", "")
    contenders = [
        learn("as above", flags),
        learn("the file counted first (no --rounds)", counted),
        learn("the last model written", f"{flags} --model model.json", ("model.json",)),
        learn("can be resumed: journal on disk", f"{flags} --state state", ("state",)),
        learn("every release written as JSON", f"{flags} --releases releases.jsonl", ("releases.jsonl",)),
    ]
    say("outputs")
    yield Table(
        "outputs",
        "What outputs cost: d = 54, tree, one core",
        "The tables above write the ledger and nothing else (VW writes nothing).",
        "row",
        "as above",
        hold(contenders, folder, 1, sizes.rounds),
    )


def samplers(folder, sizes):
    """Gaussian samples."""
    contenders = [
        ours("round(2^30 N(0,1)), exact, addressed (ours)", "rounded"),
        ours("floor(2^46 N(0,1)), exact, addressed (ours)", "fine"),
        ours("rand_distr ziggurat, floating point, same generator", "ziggurat"),
        peer("OpenDP discrete Gaussian, scale 2^30", "opendp_gaussian.py"),
    ]
    say("samplers")
    yield Table("samplers", "Gaussian samples, one core", "Vectors of 1024.", "sample", contenders[0].name, hold(contenders, folder, 1, sizes.rounds))


def steps(folder, sizes, dimension):
    """Private running sums."""
    contenders = [
        ours("binary tree, exact noise, journalled (ours)", "tree", dimension),
        ours("BLT, 4 buffers, exact noise, journalled (ours)", "blt", dimension),
        ours("the same loop without noise or journal", "plain", dimension),
        peer("jax-privacy BLT, compiled, float64", "jax_blt.py", dimension, "float64", python="jax"),
        peer("jax-privacy BLT, compiled, noise in float32", "jax_blt.py", dimension, "float32", python="jax"),
        peer("tensorflow-privacy tree", "tfp_tree.py", dimension, python="tensorflow"),
    ]
    say(f"steps, d = {dimension}")
    yield Table(
        f"steps-{dimension}",
        f"Steps of private sums, d = {dimension}, one core",
        "One release a step. Ours clips, adds, adds noise, journals in memory (sync every 256 steps) and decodes; the peers add noise only.",
        "step",
        contenders[0].name,
        hold(contenders, folder, 1, sizes.rounds),
    )


def accounting(folder, sizes, kind):
    """1000 charges."""
    contenders = [
        ours("as the ledger adds up (ours)", "spent", kind),
        ours("by Rényi curves (ours)", "curves", kind),
        peer("dp-accounting RdpAccountant", "accounting.py", "rdp", kind),
    ]
    if kind == "gaussian":
        contenders.append(peer("dp-accounting PLDAccountant", "accounting.py", "pld", kind, once=True))
    say(f"accounting, {kind}")
    words = {"gaussian": "Gaussian mechanisms of 1000 sizes", "mixed": "Gaussian and Laplace mechanisms of 1000 sizes"}[kind]
    yield Table(f"accounting-{kind}", f"Accounting: {words}, one core", "Composed one by one, then ε at δ = 1e-6.", "sum of 1000", contenders[0].name, hold(contenders, folder, 1, sizes.rounds))


def tables(folder, sizes):
    """All of them."""
    yield from dense(folder, sizes, 54)
    yield from dense(folder, sizes, 90)
    yield from sparse(folder, sizes)
    yield from covtype(folder, sizes)
    yield from tuples(folder, sizes)
    yield from outputs(folder, sizes)
    yield from samplers(folder, sizes)
    for dimension in sizes.steps:
        yield from steps(folder, sizes, dimension)
    yield from accounting(folder, sizes, "mixed")
    yield from accounting(folder, sizes, "gaussian")
