"""Charts as SVG, in the style of the program's own: bars of rates, and panels of curves with both axes logarithmic."""

import html
import math

# Distinguishable also without colour vision (Okabe and Ito), as in the program's charts.
COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7f7f7f"]


def whole(width, height, parts):
    """The file."""
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12">'
    return "\n".join([head, '<rect width="100%" height="100%" fill="white"/>', *parts, "</svg>"]) + "\n"


def text(x, y, words, more=""):
    """One line of text."""
    return f'<text x="{x:.1f}" y="{y:.1f}" {more}>{html.escape(words)}</text>'


def short(value):
    """12k, 3.4M."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:.3g}{letter}"
    return f"{value:.3g}"


def bars(title, groups):
    """`groups`: [(heading, [(name, value, is ours)])], one bar each, all on one scale."""
    most = max(value for _, rows in groups for _, value, _ in rows)
    parts, y, left, wide = [text(20, 24, title, 'font-size="15"')], 44, 300, 400
    for heading, rows in groups:
        y += 18
        parts.append(text(20, y, heading, 'font-weight="bold"'))
        for name, value, is_ours in rows:
            y += 20
            length = max(wide * value / most, 1)
            parts.append(text(left - 8, y, name, 'text-anchor="end" fill="#333"'))
            parts.append(f'<rect x="{left}" y="{y - 11}" width="{length:.1f}" height="14" fill="{COLOURS[0 if is_ours else 6]}"/>')
            parts.append(text(left + length + 6, y, short(value), 'fill="#333"'))
        y += 10
    return whole(left + wide + 70, y + 16, parts)


def panel(left, title, x_label, curves, low, high):
    """One panel: `curves` are (name, [(x, y)]); y from 10^low to 10^high."""
    top, wide, tall = 52, 230, 240
    xs = [math.log10(x) for _, points in curves for x, _ in points]
    start, end = min(xs), max(xs)
    end = end if end > start else start + 1
    across = lambda x: left + wide * (math.log10(x) - start) / (end - start)
    up = lambda y: top + tall * (high - math.log10(y)) / (high - low)
    parts = [text(left, 44, title, 'font-weight="bold"'), text(left + wide / 2, top + tall + 34, x_label, 'text-anchor="middle" fill="#333"')]
    for power in range(math.ceil(start), math.floor(end) + 1):
        x = across(10**power)
        parts.append(f'<line x1="{x:.1f}" y1="{top}" x2="{x:.1f}" y2="{top + tall}" stroke="#ddd"/>')
        parts.append(text(x, top + tall + 16, short(10**power), 'text-anchor="middle" fill="#333"'))
    for power in range(math.ceil(low), math.floor(high) + 1):
        y = up(10**power)
        parts.append(f'<line x1="{left}" y1="{y:.1f}" x2="{left + wide}" y2="{y:.1f}" stroke="#ddd"/>')
        parts.append(text(left - 6, y + 4, short(10**power), 'text-anchor="end" fill="#333"'))
    for number, (name, points) in enumerate(curves):
        colour = COLOURS[number]
        way = " ".join(f"{across(x):.1f},{up(y):.1f}" for x, y in points)
        parts.append(f'<polyline points="{way}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [f'<circle cx="{across(x):.1f}" cy="{up(y):.1f}" r="3" fill="{colour}"/>' for x, y in points]
        y = top + tall + 56 + 18 * number
        parts.append(f'<line x1="{left}" y1="{y - 4}" x2="{left + 20}" y2="{y - 4}" stroke="{colour}" stroke-width="2"/>')
        parts.append(text(left + 26, y, name, 'fill="#333"'))
    return parts


def panels(title, several):
    """`several`: [(title, label of x, curves)], side by side with one y axis."""
    values = [math.log10(y) for _, _, curves in several for _, points in curves for _, y in points]
    low, high = math.floor(min(values)), math.ceil(max(values))
    parts = [text(20, 24, title, 'font-size="15"')]
    for number, (name, x_label, curves) in enumerate(several):
        parts += panel(60 + 290 * number, name, x_label, curves, low, high if high > low else low + 1)
    lines = max(len(curves) for _, _, curves in several)
    return whole(60 + 290 * len(several), 356 + 18 * lines, parts)
