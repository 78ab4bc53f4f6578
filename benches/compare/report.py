"""BENCHMARKS.md and its charts, from what was measured."""

import math

import chart
import recipes
from aims import aims
from programs import DEFAULT

HEAD = """# Benchmarks

Written by `make bench` (this run: `{command}`). Programs take turns in every round, and a ratio is the median of the rounds' own ratios: it compares runs of the same moments. Other figures are medians of {rounds}
rounds with the least and the greatest in brackets. Ratios travel better than times; times belong to the machine below.

`hushstream learn` runs as a user would run it: real noise, a ledger on disk, every record predicted before it is learned from, and timed from outside, the start
of the process included. The other programs run inside Python and time themselves, without the start of the interpreter; their memory includes it. VW, River and
scikit-learn are not private.
"""


def rate(seconds):
    """Units a second."""
    value = 1 / seconds
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def time(seconds):
    """With a unit."""
    for size, name in ((1, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if seconds >= size:
            return f"{seconds / size:.3g} {name}"
    return f"{seconds / 1e-9:.3g} ns"


def megabytes(outcome):
    """Peak memory."""
    return "–" if outcome.peak() is None else f"{outcome.peak() / 1e6:.0f} MB"


def machine_section(about):
    """A table of two columns."""
    return ["## Machine and versions", "", "| | |", "|---|---|", *(f"| {what} | {value} |" for what, value in about), ""]


def aims_section(found):
    """Where this run stands."""
    lines = ["## Aims", "", "| what | aim | measured | |", "|---|---|---|---|"]
    lines += [f"| {aim.words} | {aim.goal()} | {aim.shown()} | {aim.verdict()} |" for aim in found]
    return [*lines, ""]


def columns(table):
    """Rates for rows, times for everything smaller."""
    if table.unit == "row":
        return ["", "rows a second", "processor time a row", "peak memory", f"rate, times *{table.base}*"]
    return ["", f"time a {table.unit}", *(["ε"] if table.key.startswith("accounting") else []), f"time, times *{table.base}*"]


def ratio(value):
    """Three digits."""
    return "–" if value is None else f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def row(table, outcome):
    """One contender."""
    name = outcome.contender.name
    if not outcome.runs:
        cells = [f"not measured: {(outcome.trouble or 'no reason').replace('|', '/')}"] + [""] * (len(columns(table)) - 2)
        return f"| {name} | " + " | ".join(cells) + " |"
    middle, least, greatest = outcome.each()
    found = table.ratio(name)
    if table.unit == "row":
        cells = [f"{rate(middle)} ({rate(greatest)} to {rate(least)})", time(outcome.cpu()) if outcome.cpu() else "–", megabytes(outcome), ratio(found)]
    else:
        epsilon = [f"{outcome.epsilon():.6f}"] if table.key.startswith("accounting") else []
        cells = [f"{time(middle)} ({time(least)} to {time(greatest)})", *epsilon, ratio(found and 1 / found)]
    return f"| {name} | " + " | ".join(cells) + " |"


def table_section(table):
    """One contest, with its commands."""
    heads = columns(table)
    lines = [f"### {table.title}", "", table.note, "", "| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    lines += [row(table, outcome) for outcome in table.outcomes]
    lines += ["", "<details><summary>commands</summary>", "", "```sh", *(outcome.contender.shown for outcome in table.outcomes), "```", "", "</details>", ""]
    return lines


def counts_section(counts):
    """Instructions."""
    lines = ["## Instructions a row", ""]
    if counts is None:
        return [*lines, "Not measured: there is no valgrind here.", ""]
    lines += [
        "By callgrind, as the difference of runs over 2,000 and 6,000 rows, all threads together; ours with a seed (`--seed-insecure`), so that counts of two runs",
        "agree to 0.1 %. This is the figure to compare between versions: it hardly depends on the machine.",
        "",
        "| | instructions a row |",
        "|---|---|",
    ]
    lines += [f"| {name} | {'not measured' if value is None else f'{value:,.0f}'} |" for name, value in counts.items()]
    return [*lines, ""]


def costs_section(costs):
    """Rounds early and late."""
    lines = ["## Recipes: does a round cost more later?", ""]
    if costs is None:
        return [*lines, "Not measured: there is no valgrind here.", ""]
    (first, second), (third, last) = recipes.EARLY, recipes.LATE
    lines += [
        f"Instructions a row by callgrind, all threads together, in the octaves from {first:,} to {second:,} and from {third:,} to {last:,} rows of runs that are planned for",
        f"{recipes.PLANNED:,}, reading included; {recipes.DIMENSION} features, experts or arms. log t grows by {math.log(last) / math.log(second):.2f} between them. (`cover`, whose every round asks about every point of its net, at a tenth of the rows, planned for {recipes.SHORT:,}.)",
        "",
        f"| recipe | rows {first:,} to {second:,} | rows {third:,} to {last:,} | times |",
        "|---|---|---|---|",
    ]
    for name, (early, late) in costs.items():
        if early is None or late is None:
            lines.append(f"| {name} | not measured | | |")
        else:
            lines.append(f"| {name} | {early:,.0f} | {late:,.0f} | {late / early:.2f} |")
    return [*lines, ""]


def panel_section(panel):
    """Curves as a table: rate and memory."""
    lines = [f"### {panel.title}", "", panel.note, ""]
    names = [curve.name for curve in panel.curves]
    lines += ["| " + " | ".join([panel.x, *(f"{name}: rows a second | peak memory" for name in names)]) + " |", "|" + "---|" * (1 + 2 * len(names))]
    for x in sorted({x for curve in panel.curves for x, _ in curve.points}):
        cells = [f"{x:,}"]
        for curve in panel.curves:
            outcome = dict(curve.points).get(x)
            cells += [rate(outcome.each()[0]), megabytes(outcome)] if outcome else ["–", "–"]
        lines.append("| " + " | ".join(cells) + " |")
    return [*lines, ""]


# Why a default run of a contest may be slower than VW.
REASONS = {
    "covtype": "the CSV holds five times as many numbers as VW's text, and ours reads it twice: once to check it before anything is charged.",
    "sparse": "every one of the 2^20 weights is noised at every release, also those of features that never occur; VW touches 37 a row.",
    "tuples": "every cell of every table is noised at every release, touched or not.",
}


def slower_section(tables):
    """Default runs that are slower than VW from text."""
    lines = ["## Default runs slower than Vowpal Wabbit", ""]
    slower = [(table, table.ratio(DEFAULT)) for table in tables if table.of(DEFAULT)]
    slower = [(table, found) for table, found in slower if found is not None and found < 1]
    if not slower:
        return [*lines, "None of those measured.", ""]
    for table, found in slower:
        reason = REASONS.get(table.key.split("-")[0], "the reason is not known.")
        lines.append(f"- {table.title}: {ratio(found)} times its rate; {reason}")
    return [*lines, ""]


def front_section(told):
    """One front end."""
    words = f"Not measured: {told.trouble}" if told.trouble else told.text
    return [f"### {told.title}", "", told.note, "", "```text", f"$ {told.shown}", words, "```", ""]


def draw(folder, tables, panels, fronts):
    """The two charts."""
    folder.mkdir(exist_ok=True)
    groups = [
        (table.title, [(outcome.contender.name, 1 / outcome.each()[0], "hushstream" in outcome.contender.name) for outcome in table.outcomes if outcome.runs])
        for table in tables
        if table.key in ("dense-54-1", "dense-90-1", "sparse-1", "covtype-1", "tuples-1")
    ]
    groups += [(f"{told.title}, d = 54, one core", told.rates()) for told in fronts if told.rates()]
    (folder / "bench-rows.svg").write_text(chart.bars("Rows a second (grey: without privacy, or one model only)", groups))
    several = [
        (panel.title, panel.x, [(curve.name, [(x, 1 / outcome.each()[0]) for x, outcome in curve.points]) for curve in panel.curves if curve.points])
        for panel in panels
    ]
    (folder / "bench-scaling.svg").write_text(chart.panels("Rows a second against size, one core", [part for part in several if part[2]]))


def write(root, command, rounds, about, tables, counts, costs, panels, fronts):
    """BENCHMARKS.md in `root`, charts in its docs/."""
    draw(root / "docs", tables, panels, fronts)
    found = aims({table.key: table for table in tables}, panels)
    lines = [HEAD.format(command=command, rounds=rounds)]
    lines += ["![Rows a second](docs/bench-rows.svg)", "", *aims_section(found), *slower_section(tables), *machine_section(about), "## Contests", ""]
    for table in tables:
        lines += table_section(table)
    lines += ["## Where users are", ""]
    for told in fronts:
        lines += front_section(told)
    lines += [*counts_section(counts), *costs_section(costs)]
    lines += ["## Size", "", "![Rows a second against size](docs/bench-scaling.svg)", ""]
    for panel in panels:
        lines += panel_section(panel)
    (root / "BENCHMARKS.md").write_text("\n".join(lines).rstrip() + "\n")
    for aim in found:
        print(f"{aim.verdict().strip('*'):>12}  {aim.shown():>10}  {aim.goal():>10}  {aim.words}")
