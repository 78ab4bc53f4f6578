"""What the project aims at, and where this run stands."""

import dataclasses

from contests import BLT, SECOND, TREE, TUPLES, VW_CACHE, VW_TEXT
from programs import DEFAULT


@dataclasses.dataclass
class Aim:
    """`value` is at least `least` (or at most, if `most` is set); None if it was not measured."""

    words: str
    value: float | None
    least: float | None = None
    most: float | None = None
    unit: str = "×"

    def verdict(self):
        """One word."""
        if self.value is None:
            return "not measured"
        reached = self.value >= self.least if self.most is None else self.value <= self.most
        return "reached" if reached else "**missed**"

    def goal(self):
        """As the table shows it."""
        return f"≥ {self.least:g}{self.unit}" if self.most is None else f"≤ {self.most:g}{self.unit}"

    def shown(self):
        """The value with as many digits as it deserves."""
        if self.value is None:
            return "–"
        if not self.unit:
            return f"{self.value:.7f}"
        return f"{self.value:,.0f}{self.unit}" if self.value >= 100 else f"{self.value:.3g}{self.unit}"


def speed(tables):
    """Against VW."""
    for dimension in (54, 90):
        for cores, words in ((1, "one core"), (2, "two cores")):
            table = tables.get(f"dense-{dimension}-{cores}")
            for name in (TREE, BLT):
                yield Aim(f"{name}, d = {dimension}, against VW from text, {words}", table and table.ratio(name, VW_TEXT), 3)
            for name in (DEFAULT, SECOND):
                yield Aim(f"{name}, d = {dimension}, against VW from text, {words}", table and table.ratio(name, VW_TEXT), 2)
        table = tables.get(f"dense-{dimension}-2")
        for name in (TREE, BLT):
            yield Aim(f"{name}, d = {dimension}, against VW from its cache, two cores", table and table.ratio(name, VW_CACHE), 1)
    for cores, words in ((1, "one core"), (2, "two cores")):
        table = tables.get(f"sparse-{cores}")
        yield Aim(f"hushstream, sparse-ftrl, against VW from text, {words}", table and table.ratio("hushstream, sparse-ftrl", VW_TEXT), 0.6)


def tuples(tables):
    """Tables against VW's products of features."""
    for cores, words in ((1, "one core"), (2, "two cores")):
        table = tables.get(f"tuples-{cores}")
        for own, other in TUPLES.values():
            yield Aim(f"{own}, against {other}, {words}", table and table.ratio(own, other), 2)


def parts(tables):
    """Samples, steps, accounting."""
    samplers, steps = tables.get("samplers"), tables.get("steps-54")
    rounded, fine, ziggurat, opendp = (outcome.contender.name for outcome in samplers.outcomes) if samplers else [None] * 4
    yield Aim("rounded Gaussian samples against the ziggurat of rand_distr", samplers and samplers.ratio(rounded, ziggurat), 0.4)
    yield Aim("rounded Gaussian samples against OpenDP", samplers and samplers.ratio(rounded, opendp), 500)
    tree, blt, _, jax, _, tensorflow = (outcome.contender.name for outcome in steps.outcomes) if steps else [None] * 6
    for name, one in (("tree", tree), ("BLT", blt)):
        yield Aim(f"a step of our {name} against tensorflow-privacy's tree, d = 54", steps and steps.ratio(one, tensorflow), 1000)
        yield Aim(f"a step of our {name} against jax-privacy's compiled BLT, d = 54", steps and steps.ratio(one, jax), 5)
    mixed, gaussian = tables.get("accounting-mixed"), tables.get("accounting-gaussian")
    ledger, rdp, pld = "as the ledger adds up (ours)", "dp-accounting RdpAccountant", "dp-accounting PLDAccountant"
    yield Aim("accounting of 1000 charges, Gaussian and Laplace, against dp-accounting's RDP", mixed and mixed.ratio(ledger, rdp), 1000)
    yield Aim("accounting of 1000 charges, Gaussian, against dp-accounting's RDP", gaussian and gaussian.ratio(ledger, rdp), 1000)
    found = [gaussian.of(name) for name in (ledger, pld)] if gaussian else [None, None]
    value = found[0].epsilon() / found[1].epsilon() if all(found) else None
    yield Aim("ε of 1000 Gaussians over dp-accounting's PLD (a ratio; 1 or less is no looser)", value, most=1.0, unit="")


def memory(tables, panels):
    """Peak memory, and that it does not grow with T."""
    for name in (DEFAULT, SECOND, TREE, BLT):
        outcome = tables["dense-54-2"].of(name) if "dense-54-2" in tables else None
        yield Aim(f"peak memory, {name}, d = 54", outcome and outcome.peak() / 1e6, most=20, unit=" MB")
    for curve in panels[0].curves if panels else []:
        if len(curve.points) > 1:
            first, last = curve.points[0], curve.points[-1]
            times = last[0] / first[0]
            yield Aim(f"peak memory, {curve.name}, {times:,.0f} times as many rows", last[1].peak() / first[1].peak(), most=1.25)


def aims(tables, panels):
    """All of them."""
    return [*speed(tables), *tuples(tables), *parts(tables), *memory(tables, panels)]
