"""Axes to be read: ticks on logarithmic axes, numbers as people write them, units with their prefix."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dse.core.objective import MODEL_UNITS
from dse.report.plots.style import clean_text
from dse.support.arrays import FloatArray
from dse.support.quantities import PREFIXED, PREFIXES, raised_power

_WORDS = {0: "", 3: "thousand ", 6: "million ", 9: "billion "}
_MANTISSAS = (
    (1.0, 1.2, 1.4, 1.6, 1.8, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0),
    (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0),
    (1.0, 1.5, 2.0, 3.0, 5.0, 7.0),
    (1.0, 2.0, 3.0, 5.0),
    (1.0, 2.0, 5.0),
    (1.0, 3.0),
    (1.0,),
)


def log_ticks(low: float, high: float, most: int = 6) -> list[float]:
    """At most `most` round values from `low` to `high` (positive), spread for a logarithmic axis."""
    if high / low < 2.5:
        return _even_ticks(low, high, most)
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    for mantissas in _MANTISSAS:
        ticks = [round(m * 10.0**k, 15 - k) for k in range(first, last + 1) for m in mantissas]
        inside = [tick for tick in ticks if low <= tick <= high]
        if len(inside) <= most:
            return inside
    step = math.ceil((last - first + 1) / most)
    return [10.0**k for k in range(first, last + 1, step) if low <= 10.0**k <= high]


def _even_ticks(low: float, high: float, most: int) -> list[float]:
    """Round values at even steps: what a narrow part of a logarithmic axis needs."""
    span = max(high - low, low * 1e-9)
    power = math.floor(math.log10(span / most))
    for step in (factor * 10.0**power for factor in (1, 2, 2.5, 5, 10, 20, 50)):
        start, stop = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
        if stop - start < most:
            return [round(i * step, 15 - power) for i in range(start, stop + 1)]
    return []


def axis_number(value: float) -> str:
    """A number as on an axis: 20,000, 1.5, 0.02, and 1e+07 only where it would be long otherwise."""
    if value >= 1e7 or (value and value < 1e-4):
        return f"{value:.3g}"
    return f"{value:,.4f}".rstrip("0").rstrip(".")


def unit_scale(objective: str, unit: str, typical: float) -> tuple[float, str]:
    """What to divide an objective's figures by, and its name with its unit after that, as in latency (µs).

    The prefix, or of a product of units the power of ten, puts the `typical` figure between 1 and 1,000.
    """
    name = "EDP" if objective == "edp" else clean_text(objective)
    power = 3 * math.floor(math.log10(typical) / 3)
    if unit != MODEL_UNITS and re.search("[ ^]", unit):
        shown = re.sub(r"\^(\d+)(?![\d.])", lambda found: raised_power(int(found[1])), unit)
        return 10.0**power, f"{name} ({f'10{raised_power(power)} ' if power else ''}{shown})"
    names = PREFIXES if unit in PREFIXED else {0: ""} if unit in ("mm2", "mW") else _WORDS
    power = min(max(power, min(names)), max(names))
    label = f"{names[power]}{unit}".strip()
    return 10.0**power, f"{name} ({label})" if label else name


def thin_points(x: FloatArray, *curves: FloatArray, tolerance: float = 0.0015) -> NDArray[np.intp]:
    """Which points to keep so that no curve is seen to change: Ramer, Douglas and Peucker's, for all at once.

    `x` and the curves are in shares of the axis; a point stays if any curve would miss it by `tolerance`.
    """
    keep = np.zeros(len(x), dtype=bool)
    keep[[0, -1]] = True
    open_spans = [(0, len(x) - 1)]
    while open_spans:
        start, stop = open_spans.pop()
        if stop - start < 2:
            continue
        inner = slice(start + 1, stop)
        share = (x[inner] - x[start]) / max(x[stop] - x[start], 1e-12)
        misses = [np.abs(c[start] + share * (c[stop] - c[start]) - c[inner]) for c in curves]
        miss = np.max(misses, axis=0)
        worst = int(np.argmax(miss))
        if miss[worst] > tolerance:
            middle = start + 1 + worst
            keep[middle] = True
            open_spans += [(start, middle), (middle, stop)]
    return np.flatnonzero(keep)


def thin_steps(x: FloatArray, *curves: FloatArray, tolerance: float = 0.0015) -> NDArray[np.intp]:
    """Which points to keep of curves that go in steps: the ends, and each where one has moved since the last.

    As in `thin_points`, all are in shares of the axis, and no curve is off by more than `tolerance`.
    """
    kept = [0]
    for place in range(1, len(x)):
        if any(abs(curve[place] - curve[kept[-1]]) > tolerance for curve in curves):
            kept.append(place)
    if kept[-1] != len(x) - 1:
        kept.append(len(x) - 1)
    return np.array(kept, np.intp)


def spread_positions(wanted: Sequence[float], apart: float, low: float, high: float) -> list[float]:
    """Positions at least `apart` from each other, as near as can be (least squares) to those wanted.

    They keep the order of `wanted`, equals in their order of appearance, and stay within `low` to `high` if
    there is room for all of them, else they are centred on it.
    """
    if not wanted:
        return []
    room = (len(wanted) - 1) * apart
    if room > high - low:
        low = (low + high - room) / 2
        high = low + room
    order = sorted(range(len(wanted)), key=lambda i: wanted[i])
    blocks: list[tuple[float, int]] = []
    for place, index in enumerate(order):
        # Without their distances the positions have only to rise: pool those that do not.
        mean, count = min(max(wanted[index], low), high) - place * apart, 1
        while blocks and blocks[-1][0] >= mean:
            before, members = blocks.pop()
            mean, count = (before * members + mean * count) / (members + count), members + count
        blocks.append((mean, count))
    level = [mean for mean, count in blocks for _ in range(count)]
    found = [0.0] * len(wanted)
    for place, index in enumerate(order):
        found[index] = min(max(level[place], low), high - room) + place * apart
    return found
