"""The least product of a whole network's totals, such as EDP: total energy times total latency.

A product of powers E^a D^b, a and b above 0, of total energy E and total latency D is quasi-concave: over all
choices of mappings its least value is at a vertex of the lower hull of their totals. A vertex is what is
least of E + m D for some m, and that is a sum over the layers: each layer's own least, proven as its
objective `energy + m * latency`. Proofs of all layers with one m make a *line* that no choice of mappings is
below. The lines together leave a polygon; the least value at its corners is a lower bound. The corner that
has it says which m is proven next, that of the edge between the totals beside it, until no corner is below
the best found. A layer whose proofs with a smaller and a larger m say what is least in between is not proven
again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np

from dse.core.certificate import BOUNDED, OPTIMAL, Certificate, Incumbent, gap_between
from dse.core.objective import Objective, objective_named
from dse.core.problem import AnyProblem

SAME = 1e-12
"""Sums of a network's figures are rounded: what is nearer than so much, as a share, counts as equal."""
MAX_LINES = 200

Prove = Callable[[str, AnyProblem], Certificate]
"""Proves a problem of the layer of that name."""


def has_total(problems: Mapping[str, AnyProblem]) -> bool:
    """Whether a network's objective is a product of total energy and latency, for several layers."""
    objective = objective_named(next(iter(problems.values())).objective)
    return len(problems) > 1 and not objective.caps and objective.exponents.keys() == {"energy", "latency"}


@dataclass(frozen=True)
class Choice:
    """A mapping for each layer, and what they come to, each times its repeats."""

    mappings: tuple[Incumbent, ...]
    seconds: float
    joules: float

    def value(self, objective: Objective) -> float:
        """The objective's total."""
        return objective.total({"energy": self.joules, "latency": self.seconds})


@dataclass(frozen=True)
class Line:
    """No choice has `energy * joules + latency * seconds` below `least`; `choice` comes nearest.

    `own` are the layers' parts of `least`, of one run each.
    """

    energy: float
    latency: float
    least: float
    choice: Choice
    own: tuple[float, ...]

    @property
    def slope(self) -> float:
        """What a second counts, in joules."""
        return self.latency / self.energy if self.energy else math.inf


@dataclass(frozen=True)
class Total:
    """The least total of a network: `optimal`, or `bounded` where proofs ran out of time."""

    status: str
    lower_bound: float
    best: Choice
    loss: float
    lines: tuple[Line, ...]
    proofs: dict[tuple[str, str], Certificate] = field(repr=False)
    """By layer and objective."""

    def to_dict(self) -> dict[str, Any]:
        """The total as plain data."""
        return {
            "status": self.status,
            "loss": self.loss,
            "lower_bound": self.lower_bound,
            "gap": gap_between(self.loss, self.lower_bound),
            "energy": self.best.joules,
            "latency": self.best.seconds,
            "proofs": len(self.proofs),
            "seconds": sum(proof.seconds for proof in self.proofs.values() if not proof.cached),
            "lines": [
                {
                    "energy_weight": line.energy,
                    "latency_weight": line.latency,
                    "least": line.least,
                    "energy": line.choice.joules,
                    "latency": line.choice.seconds,
                }
                for line in self.lines
            ],
        }


def least_total(problems: Mapping[str, AnyProblem], own: Sequence[Incumbent], prove: Prove) -> Total | None:
    """The least total of a network; `own` is some mapping of each layer, such as its own best, to begin with.

    None if a proof found no mapping in its time. The condition is that of `has_total`.
    """
    search = _Search(problems, prove)
    return search.run(own)


@dataclass
class _Search:
    problems: Mapping[str, AnyProblem]
    prove: Prove
    lines: list[Line] = field(default_factory=list)
    proofs: dict[tuple[str, str], Certificate] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.objective = objective_named(next(iter(self.problems.values())).objective)

    def run(self, own: Sequence[Incumbent]) -> Total | None:
        powers = self.objective.exponents
        best = self._choice(own)
        slope = powers["latency"] * best.joules / (powers["energy"] * best.seconds)
        for energy, latency in ((1.0, slope), (1.0, 0.0), (0.0, 1.0)):
            if not self._draw(energy, latency):
                return None
        while True:
            best = min(
                (best, *(line.choice for line in self.lines)), key=lambda one: one.value(self.objective)
            )
            loss = best.value(self.objective)
            corner, pair = self._least_corner()
            closed = corner >= loss * (1.0 - SAME)
            if closed or len(self.lines) >= MAX_LINES or not self._draw_between(*pair):
                status = OPTIMAL if closed else BOUNDED
                bound = loss if closed else corner
                return Total(status, bound, best, loss, tuple(self.lines), self.proofs)

    def _least_corner(self) -> tuple[float, tuple[Line, Line]]:
        """The least value at a corner of what the lines leave, and the two lines that meet there."""
        self.lines.sort(key=lambda line: line.slope)
        found = [(math.inf, (self.lines[0], self.lines[-1]))]
        for one, two in combinations(self.lines, 2):
            point = _meeting(one, two)
            if all(_at(line, *point) >= line.least * (1.0 - SAME) for line in self.lines):
                joules, seconds = point
                value = self.objective.total({"energy": joules, "latency": seconds})
                found.append((value, (one, two)))
        return min(found, key=lambda entry: entry[0])

    def _draw_between(self, one: Line, two: Line) -> bool:
        """Draw the line along the edge between the choices of two lines; False if there is none between."""
        less, more = one.choice, two.choice
        seconds = less.seconds - more.seconds
        slope = (more.joules - less.joules) / seconds if seconds > 0 else math.nan
        between = one.slope * (1 + SAME) < slope < two.slope * (1 - SAME)
        # Where proofs ran out of time, lines need not touch their choices.
        new = all(abs(line.slope - slope) > SAME * slope for line in self.lines)
        return between and new and self._draw(1.0, slope)

    def _draw(self, energy: float, latency: float) -> bool:
        """Prove all layers with these weights; False if one has no mapping."""
        text = f"energy + {latency!r} * latency" if energy and latency else "energy" if energy else "latency"
        least, chosen = [], []
        for place, (name, problem) in enumerate(self.problems.items()):
            value, mapping = self._known(place, energy, latency) or self._proven(name, problem, text)
            if mapping is None:
                return False
            least.append(value)
            chosen.append(mapping)
        total = sum(value * self._repeats(place) for place, value in enumerate(least))
        self.lines.append(Line(energy, latency, total, self._choice(chosen), tuple(least)))
        return True

    def _proven(self, name: str, problem: AnyProblem, text: str) -> tuple[float, Incumbent | None]:
        found = self.prove(name, problem.with_changes(objective=text))
        self.proofs[name, text] = found
        return found.lower_bound, found.best

    def _known(self, place: int, energy: float, latency: float) -> tuple[float, Incumbent] | None:
        """A layer's least with these weights, where that of a flatter and of a steeper line say it."""
        slope = latency / energy if energy else math.inf
        flatter = [line for line in self.lines if line.slope < slope]
        steeper = [line for line in self.lines if line.slope > slope]
        if not flatter or not steeper:
            return None
        low, high = max(flatter, key=lambda one: one.slope), min(steeper, key=lambda one: one.slope)
        # These weights are so much of the one line's and so much of the other's; so, at least, is the least.
        weights = np.array([[low.energy, high.energy], [low.latency, high.latency]])
        of_low, of_high = np.linalg.solve(weights, [energy, latency])
        bound = float(of_low * low.own[place] + of_high * high.own[place])
        values = []
        for mapping in (low.choice.mappings[place], high.choice.mappings[place]):
            joules, seconds = self._figures(place, mapping)
            values.append((energy * joules + latency * seconds, mapping))
        value, mapping = min(values, key=lambda entry: entry[0])
        return (bound, mapping) if value <= bound * (1.0 + SAME) else None

    def _choice(self, mappings: Sequence[Incumbent]) -> Choice:
        figures = [self._figures(place, mapping) for place, mapping in enumerate(mappings)]
        joules = sum(one[0] * self._repeats(place) for place, one in enumerate(figures))
        seconds = sum(one[1] * self._repeats(place) for place, one in enumerate(figures))
        return Choice(tuple(mappings), seconds, joules)

    def _figures(self, place: int, mapping: Incumbent) -> tuple[float, float]:
        """Joules and seconds of a layer's mapping, once."""
        problem = list(self.problems.values())[place]
        return mapping.energy_nj * 1e-9, mapping.cycles * problem.accelerator.cycle_seconds

    def _repeats(self, place: int) -> int:
        return list(self.problems.values())[place].layer.repeats


def _at(line: Line, joules: float, seconds: float) -> float:
    """What a line's figure is there."""
    return line.energy * joules + line.latency * seconds


def _meeting(one: Line, two: Line) -> tuple[float, float]:
    """Joules and seconds of the point where two lines of different slopes meet."""
    scale = one.energy * two.latency - two.energy * one.latency
    joules = (one.least * two.latency - two.least * one.latency) / scale
    seconds = (one.energy * two.least - two.energy * one.least) / scale
    return joules, seconds
