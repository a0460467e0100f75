"""The least value of a product such as EDP over sums of choices, by lines that no sum is below.

What is least of a product of powers of energy and latency is at a vertex of the lower hull of all sums (see
`dse.optimum.total`). A line is the least of a weighted sum of both; whoever proves such sums draws lines, and
the corner that they leave lowest says which is drawn next.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

from dse.core.certificate import BOUNDED, OPTIMAL, gap_between
from dse.core.objective import Objective, objective_named

SAME = 1e-12
"""Sums of a network's figures are rounded: what is nearer than so much, as a share, counts as equal."""
MAX_LINES = 200
WIDER = 0.9
"""The first lines are so much further from each other than they need be if both touched the best sum."""


@dataclass(frozen=True)
class Choice:
    """A mapping for each layer, and what they come to, each times its repeats."""

    mappings: tuple[Any, ...]
    seconds: float
    joules: float

    def value(self, objective: Objective) -> float:
        """The objective's total."""
        return objective.total({"energy": self.joules, "latency": self.seconds})


@dataclass(frozen=True)
class Line:
    """No choice has `energy * joules + latency * seconds` below `least`; `choice` comes nearest.

    `own` are the layers' parts of `least`, of one run each. A `floor` is known without a proof: `choice` is
    some choice then.
    """

    energy: float
    latency: float
    least: float
    choice: Choice
    own: tuple[float, ...]
    floor: bool = False

    @property
    def slope(self) -> float:
        """What a second counts, in joules."""
        return self.latency / self.energy if self.energy else math.inf


def sum_of(energy: float, latency: float) -> str:
    """The objective of these weights."""
    return f"energy + {latency!r} * latency" if energy and latency else "energy" if energy else "latency"


def weights_of(text: str) -> tuple[float, float]:
    """The weights of energy and latency in an objective, a figure or a sum."""
    given = {figure.name: weight for figure, weight in objective_named(text).weights} or {text: 1.0}
    return given.get("energy", 0.0), given.get("latency", 0.0)


@dataclass(frozen=True)
class Closed:
    """The least value, `optimal`, or `bounded` where lines do not touch their choices or a gap is enough."""

    status: str
    lower_bound: float
    best: Choice
    loss: float


@dataclass
class LineSearch:
    """Draws lines until the least value is known, or `within` so much as a share of the bound.

    Who inherits says how a line is drawn. `observe` is told the gap that is left, a share, after each.
    """

    objective: Objective
    within: float = 0.0
    observe: Callable[[float], None] = lambda gap: None
    lines: list[Line] = field(default_factory=list)

    def draw(self, energy: float, latency: float) -> bool:
        """Add the line of these weights; False if there is no choice at all."""
        raise NotImplementedError

    def close(self, best: Choice) -> Closed | None:
        """Draw lines, from some choice on, until no corner is below the best; None if there is none."""
        self.lines += self.floors(best)
        for energy, latency in self._first(best):
            if not self.draw(energy, latency):
                return None
        while True:
            best, loss, corner, pair = self._best_and_corner(best)
            closed = corner >= loss * (1.0 - SAME)
            gap = 0.0 if closed else gap_between(loss, corner)
            self.observe(gap)
            if gap <= self.within or len(self.lines) >= MAX_LINES or not self._draw_next(*pair, best):
                return Closed(OPTIMAL if closed else BOUNDED, loss if closed else corner, best, loss)

    def _best_and_corner(self, best: Choice) -> tuple[Choice, float, float, tuple[Line, Line]]:
        """The best of a choice and the lines' and its value; the least value at a corner of what the lines
        leave, and the two lines that meet there."""
        best = min((best, *(line.choice for line in self.lines)), key=lambda one: one.value(self.objective))
        self.lines.sort(key=lambda line: line.slope)
        found = [(math.inf, (self.lines[0], self.lines[-1]))]
        for one, two in combinations(self.lines, 2):
            if one.slope == two.slope:
                # Where proofs ran out of time, a line may be drawn again.
                continue
            point = _meeting(one, two)
            if all(_at(line, *point) >= line.least * (1.0 - SAME) for line in self.lines):
                joules, seconds = point
                value = self.objective.total({"energy": joules, "latency": seconds})
                found.append((value, (one, two)))
        return best, best.value(self.objective), *min(found, key=lambda entry: entry[0])

    def floors(self, best: Choice) -> list[Line]:
        """What is known of energy alone and of latency alone without a proof, a line each, or nothing."""
        return []

    def _first(self, best: Choice) -> list[tuple[float, float]]:
        """The weights of the first lines.

        Between floors they are two. Each leaves the best sum towards a floor, and meets it no lower.
        """
        powers = self.objective.exponents
        slope = powers["latency"] * best.joules / (powers["energy"] * best.seconds)
        if not any(line.floor for line in self.lines):
            return [(1.0, slope), (1.0, 0.0), (0.0, 1.0)]
        return [self._towards(line, best) for line in self.lines]

    def _towards(self, floor: Line, best: Choice) -> tuple[float, float]:
        """Weights of the line from the best sum to where a floor has its value, and a little further."""
        powers = self.objective.exponents
        ratio = powers["energy"] / powers["latency"]
        if floor.energy:
            slower = best.seconds * (best.joules / floor.least) ** ratio if floor.least > 0 else math.inf
            slope = (best.joules - floor.least) / (slower - best.seconds) if slower > best.seconds else 0.0
            return (1.0, slope * WIDER) if slope > 0 else (1.0, 0.0)
        more = best.joules * (best.seconds / floor.least) ** (1 / ratio) if floor.least > 0 else math.inf
        slope = (
            (more - best.joules) / (best.seconds - floor.least) if best.seconds > floor.least else math.inf
        )
        return (1.0, slope / WIDER) if slope < math.inf else (0.0, 1.0)

    def _draw_next(self, one: Line, two: Line, best: Choice) -> bool:
        """Draw the line that cuts off the corner of two lines; False if there is none."""
        for floor in (one, two):
            if not floor.floor:
                continue
            energy, latency = self._towards(floor, best)
            slope = latency / energy if energy else math.inf
            if one.slope * (1 + SAME) < slope < two.slope * (1 - SAME):
                return self.draw(energy, latency)
            # Whatever is least of it alone is proven instead.
            self.lines.remove(floor)
            return self.draw(floor.energy, floor.latency)
        return self._draw_between(one, two)

    def _draw_between(self, one: Line, two: Line) -> bool:
        """Draw the line along the edge between the choices of two lines; False if there is none between."""
        less, more = one.choice, two.choice
        seconds = less.seconds - more.seconds
        slope = (more.joules - less.joules) / seconds if seconds > 0 else math.nan
        between = one.slope * (1 + SAME) < slope < two.slope * (1 - SAME)
        # Where proofs ran out of time, lines need not touch their choices.
        new = all(abs(line.slope - slope) > SAME * slope for line in self.lines)
        return between and new and self.draw(1.0, slope)


def _at(line: Line, joules: float, seconds: float) -> float:
    """What a line's figure is there."""
    return line.energy * joules + line.latency * seconds


def _meeting(one: Line, two: Line) -> tuple[float, float]:
    """Joules and seconds of the point where two lines of different slopes meet."""
    scale = one.energy * two.latency - two.energy * one.latency
    joules = (one.least * two.latency - two.least * one.latency) / scale
    seconds = (one.energy * two.least - two.energy * one.least) / scale
    return joules, seconds


STEPS = 40
"""Of the search for the best share; with any share the bound holds."""

Sum = tuple[float, float, float]
"""Weights of energy and latency, and what this sum of a layer is not below."""


def least_of_weights(objective: Objective, bound: float, energy: float, latency: float) -> float:
    """What a weighted sum of energy and latency is not below where their product of powers is not below a
    bound: by the inequality of the weighted arithmetic and geometric means."""
    a, b = objective.exponents["energy"], objective.exponents["latency"]
    if energy <= 0 or latency <= 0:
        return 0.0
    return float((a + b) * (bound * (energy / a) ** a * (latency / b) ** b) ** (1 / (a + b)))


def least_weighted(
    objective: Objective, bound: float, known: Sequence[Sum], energy: float, latency: float
) -> float:
    """What a layer's weighted sum is not below: by its product of powers, by its `known` sums, and by both.

    The weights are shared out: what a share is not below and what the rest is not below add up.
    """
    best = least_of_weights(objective, bound, energy, latency)
    for one in known:
        best = max(best, _beside(objective, bound, one, energy, latency))
    for one, two in combinations(known, 2):
        across = one[0] * two[1] - two[0] * one[1]
        if not across:
            continue
        first = (energy * two[1] - latency * two[0]) / across
        second = (latency * one[0] - energy * one[1]) / across
        if first >= 0 and second >= 0:
            best = max(best, first * one[2] + second * two[2])
    return best


def _beside(objective: Objective, bound: float, one: Sum, energy: float, latency: float) -> float:
    """The most that a share of a known sum and the product of powers say together: concave in the share."""
    low, high = 0.0, min(energy / one[0] if one[0] else math.inf, latency / one[1] if one[1] else math.inf)

    def at(share: float) -> float:
        rest = least_of_weights(objective, bound, energy - share * one[0], latency - share * one[1])
        return share * one[2] + rest

    best = at(high)
    for _ in range(STEPS):
        less, more = low + (high - low) * 0.382, low + (high - low) * 0.618
        at_less, at_more = at(less), at(more)
        best = max(best, at_less, at_more)
        low, high = (low, more) if at_less > at_more else (less, high)
    return best
