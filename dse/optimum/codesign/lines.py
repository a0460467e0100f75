"""Bounds of a network's product of powers of energy and latency, from bounds of weighted sums of the two.

Whatever mappings the layers have, the network's energy E and cycles D keep every proven line
`a E + b D >= c`. A product of powers has convex upper level sets, so its least value over all (E, D) that
keep the lines is at a corner of theirs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

KEPT = 1e-12
"""By so much of itself a corner may miss a line and still count: that only lowers the bound."""

Value = Callable[[float, float], float]
"""From energy and cycles to what is minimised; it falls in neither."""


class Line(NamedTuple):
    """`energy * E + cycles * D >= least`."""

    energy: float
    cycles: float
    least: float


class Corner(NamedTuple):
    """Where two lines meet, and the value there."""

    value: float
    energy: float
    cycles: float
    lines: tuple[int, int]


def lowest_corner(lines: Iterable[Line], value: Value) -> Corner:
    """The corner of the least value. There is a line of energy alone and one of cycles alone."""
    every = list(lines)
    if any(line.least == math.inf for line in every):
        return Corner(math.inf, math.inf, math.inf, (0, 0))
    found = Corner(math.inf, math.inf, math.inf, (0, 0))
    for place, one in enumerate(every):
        for other in range(place + 1, len(every)):
            met = _meet(one, every[other])
            if met is None or not all(_keeps(met, line) for line in every):
                continue
            corner = Corner(value(*met), *met, (place, other))
            found = min(found, corner, key=lambda corner: corner.value)
    return found


def _meet(one: Line, other: Line) -> tuple[float, float] | None:
    across = one.energy * other.cycles - other.energy * one.cycles
    if abs(across) <= 1e-15 * (abs(one.energy * other.cycles) + abs(other.energy * one.cycles)):
        return None
    energy = (one.least * other.cycles - other.least * one.cycles) / across
    cycles = (one.energy * other.least - other.energy * one.least) / across
    if not np.isfinite([energy, cycles]).all():
        return None
    # Nothing is below 0, whatever the rounding.
    return max(energy, 0.0), max(cycles, 0.0)


def _keeps(met: tuple[float, float], line: Line) -> bool:
    return line.energy * met[0] + line.cycles * met[1] >= line.least * (1 - KEPT)
