"""Turns a table of prices into a table of daily losses of experts, for `hushstream learn --task experts`.

usage: expert_losses.py PRICES.csv LOSSES.csv

PRICES.csv has one column a stock and one row a day, prices (or wealth, or an index) that are greater than 0. An expert holds one stock;
what it loses on a day is -ln(price today / price yesterday): below 0 when the price rises, and summed over days -ln of what 1 has become.
Nothing is clipped here: the bounds of a loss are public and stated to Hushstream (--bounds '*=-0.1:0.1' clips a day to about +-10 %).
A price that is missing stays missing, and counts as the middle of the bounds.
"""

import csv
import math
import sys


class Trouble(Exception):
    """What is wrong with the file, by place."""


def price(text, line, stock):
    """A price, or None if there is none."""
    if text.strip() in ("", "NA", "nan", "NaN"):
        return None
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0.0 < value < math.inf:
        raise Trouble(f"line {line}, column {stock}: not a price greater than 0")
    return value


def losses(before, now):
    """One day's row."""
    known = lambda pair: None not in pair
    return [f"{-math.log(pair[1] / pair[0]):.9f}" if known(pair) else "" for pair in zip(before, now)]


def convert(source, target):
    """Writes one row fewer than it reads: the first day has no yesterday."""
    table = csv.reader(source)
    header = next(table, None)
    if not header:
        raise Trouble("the file is empty")
    out = csv.writer(target, lineterminator="\n")
    out.writerow(header)
    before = None
    for row in table:
        if len(row) != len(header):
            raise Trouble(f"line {table.line_num}: {len(row)} columns, and the header has {len(header)}")
        now = [price(text, table.line_num, stock) for text, stock in zip(row, header)]
        if before is not None:
            out.writerow(losses(before, now))
        before = now


def main(arguments):
    """Runs the command."""
    if len(arguments) != 2:
        print(__doc__.strip())
        return 2
    try:
        with open(arguments[0], newline="") as source, open(arguments[1], "w", newline="") as target:
            convert(source, target)
    except (Trouble, OSError) as error:
        print(f"expert_losses.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
