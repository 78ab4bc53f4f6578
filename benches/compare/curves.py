"""How rate and memory go with the size: rows T, sparse dimensions, experts."""

import dataclasses

import files
from contest import hold
from contests import say
from programs import dense_flags, learn, sparse_flags, vw

DIMENSION = 54


@dataclasses.dataclass
class Curve:
    """Points (x, outcome) of one contender."""

    name: str
    points: list


@dataclasses.dataclass
class Panel:
    """Curves over the same x."""

    title: str
    x: str
    note: str
    curves: list


def rounds_for(seconds, most):
    """Short runs are repeated; a run of a minute is its own average."""
    return most if seconds < 10 else 3 if seconds < 30 else 1


def gather(panel, x, outcomes):
    """Adds a point to each curve."""
    for outcome in outcomes:
        curve = next((curve for curve in panel.curves if curve.name == outcome.contender.name), None)
        if curve is None:
            curve = Curve(outcome.contender.name, [])
            panel.curves.append(curve)
        if outcome.runs:
            curve.points.append((x, outcome))


def feeder(header, body, block_rows, total):
    """Writes `total` rows, the block again and again."""

    def feed(pipe):
        pipe.write(header + b"\n")
        for _ in range(total // block_rows):
            pipe.write(body)
        lines = body.split(b"\n", total % block_rows)
        pipe.write(b"".join(line + b"\n" for line in lines[: total % block_rows]))

    return feed


def rows(folder, sizes):
    """T·d up to 10^9, or 10^10: rows come through a pipe, the same block again and again, so that no disk has to hold them."""
    block_rows = 100_000
    block = files.dense_csv(folder, block_rows, DIMENSION)
    header, _, body = block.read_bytes().partition(b"\n")
    panel = Panel(
        f"Dense rows, d = {DIMENSION}",
        "rows T",
        f"Through a pipe, one core, T·d from {sizes.numbers[0]:.0e} to {sizes.numbers[-1]:.0e}; the process that feeds the pipe shares the core.",
        [],
    )
    for numbers in sizes.numbers:
        total = numbers // DIMENSION
        say(f"rows: T = {total:,}")
        feed = feeder(header, body, block_rows, total)
        contenders = [learn(f"hushstream, {kind}", dense_flags("- --format csv", total, kind), feed=feed) for kind in ("tree", "blt")]
        gather(panel, total, hold(contenders, folder, 1, rounds_for(total / 200_000, sizes.rounds)))
    return panel


def sparse(folder, sizes):
    """Dimensions to 2^24."""
    count = sizes.sparse_curve
    panel = Panel("Sparse rows, 37 features", "dimensions", f"{count:,} rows of VW text, one core.", [])
    for bits in sizes.sparse_bits:
        say(f"sparse: 2^{bits}")
        text = files.sparse(folder, count, bits, "vw")
        contenders = [
            learn("hushstream, sparse-ftrl", sparse_flags(text.name, count, bits)),
            vw("VW, text", f"-d {text.name} -b {bits}"),
        ]
        gather(panel, 1 << bits, hold(contenders, folder, 1, sizes.rounds))
    return panel


def experts(folder, sizes):
    """Experts to 10^5."""
    panel = Panel("Experts", "experts", f"{sizes.losses:,} losses from CSV at each point, at most 20,000 rows, one core; every loss of a row is read.", [])
    for number in sizes.expert_numbers:
        say(f"experts: {number:,}")
        count = min(sizes.losses // number, 20_000)
        csv = files.experts(folder, count, number)
        flags = f"{csv.name} --task experts --bounds e*=0:1 --recipe ftrl --sum {{}} --batch 1 --rounds {count}"
        contenders = [learn(f"hushstream, ftrl on {kind}", flags.format(kind)) for kind in ("tree", "blt")]
        gather(panel, number, hold(contenders, folder, 1, sizes.rounds))
    return panel


def panels(folder, sizes):
    """All of them."""
    return [rows(folder, sizes), sparse(folder, sizes), experts(folder, sizes)]
