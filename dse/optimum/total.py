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
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dse.core.certificate import Certificate, Incumbent, gap_between
from dse.core.objective import Objective, objective_named
from dse.core.problem import AnyProblem
from dse.optimum.lines import SAME, Choice, Line, LineSearch

Prove = Callable[[Sequence[tuple[str, AnyProblem]]], Iterator[Certificate]]
"""Proves problems of the layers of those names."""


PART = 0.25
"""Of the gap that is enough, the share that may be left in the layers' parts of a line."""


def least_of_weights(objective: Objective, bound: float, energy: float, latency: float) -> float:
    """What a weighted sum of energy and latency is not below where their product of powers is not below a
    bound: by the inequality of the weighted arithmetic and geometric means."""
    a, b = objective.exponents["energy"], objective.exponents["latency"]
    if not energy or not latency:
        return 0.0
    return float((a + b) * (bound * (energy / a) ** a * (latency / b) ** b) ** (1 / (a + b)))


def floors_of(problem: AnyProblem) -> tuple[float, float] | None:
    """Joules and seconds of a layer that its roofline says no mapping is below; None if it has none."""
    if problem.hardware_genes:
        return None
    found = problem.model.roofline(problem.layer, problem.accelerator)
    return found and (found.energy_nj * 1e-9, found.cycles * problem.accelerator.cycle_seconds)


def has_total(problems: Mapping[str, AnyProblem]) -> bool:
    """Whether a network's objective is a product of total energy and latency, for several layers."""
    objective = objective_named(next(iter(problems.values())).objective)
    return len(problems) > 1 and not objective.caps and objective.exponents.keys() == {"energy", "latency"}


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


def least_total(
    problems: Mapping[str, AnyProblem],
    own: Sequence[Certificate],
    prove: Prove,
    over: Callable[[], bool] = lambda: False,
    within: float = 0.0,
    observe: Callable[[float], None] = lambda gap: None,
) -> Total | None:
    """The least total of a network; `own` is what is proven of each layer's objective by itself.

    No line is begun once the time is `over`, or the gap, of which `observe` is told, is `within` a share.
    None if a proof found no mapping in its time, or there was none for the first three lines. The condition
    is that of `has_total`.
    """
    search = _Search(problems, [proof.lower_bound for proof in own], prove, over, within, observe)
    best = [proof.best for proof in own]
    return search.run([one for one in best if one]) if all(best) else None


class _Search(LineSearch):
    def __init__(
        self,
        problems: Mapping[str, AnyProblem],
        bounds: Sequence[float],
        prove: Prove,
        over: Callable[[], bool],
        within: float,
        observe: Callable[[float], None],
    ) -> None:
        super().__init__(objective_named(next(iter(problems.values())).objective), within, observe)
        self.bounds = bounds
        self.problems, self.prove, self.over = problems, prove, over
        self.proofs: dict[tuple[str, str], Certificate] = {}

    def run(self, own: Sequence[Incumbent]) -> Total | None:
        self.own = own
        found = self.close(self._choice(own))
        if found is None:
            return None
        return Total(found.status, found.lower_bound, found.best, found.loss, tuple(self.lines), self.proofs)

    def floors(self, best: Choice) -> list[Line]:
        """The layers' rooflines, where their cost model has them."""
        found = [floors_of(problem) for problem in self.problems.values()]
        if any(one is None for one in found):
            return []
        joules, seconds = zip(*(one for one in found if one), strict=True)
        return [
            Line(energy, latency, sum(map(self._times, range(len(own)), own)), best, own, floor=True)
            for energy, latency, own in ((1.0, 0.0, joules), (0.0, 1.0, seconds))
        ]

    def draw(self, energy: float, latency: float) -> bool:
        """Prove all layers with these weights; False if one has no mapping, or the time is over."""
        text = f"energy + {latency!r} * latency" if energy and latency else "energy" if energy else "latency"
        known = [self._known(place, energy, latency) for place in range(len(self.problems))]
        asked = [
            (name, problem.with_changes(objective=text))
            for (name, problem), one in zip(self.problems.items(), known, strict=True)
            if one is None
        ]
        answers, least, chosen = self.prove(asked), [], []
        for name, one in zip(self.problems, known, strict=True):
            if self.over():
                return False
            if one is None:
                found = self.proofs[name, text] = next(answers)
                if found.best is None:
                    return False
                one = found.lower_bound, found.best
            least.append(one[0])
            chosen.append(one[1])
        total = sum(map(self._times, range(len(least)), least))
        self.lines.append(Line(energy, latency, total, self._choice(chosen), tuple(least)))
        return True

    def _known(self, place: int, energy: float, latency: float) -> tuple[float, Incumbent] | None:
        """A layer's least with these weights and its mapping, where what is proven already says it.

        That is the lines that are flatter and steeper, and the least of the layer's own objective. A part of
        the gap that is enough may be left.
        """
        slope = latency / energy if energy else math.inf
        bounds = [least_of_weights(self.objective, self.bounds[place], energy, latency)]
        flatter = [line for line in self.lines if line.slope < slope]
        steeper = [line for line in self.lines if line.slope > slope]
        if flatter and steeper:
            low, high = max(flatter, key=lambda one: one.slope), min(steeper, key=lambda one: one.slope)
            # These weights are so much of the one line's and so much of the other's; so, at least, is the
            # least.
            weights = np.array([[low.energy, high.energy], [low.latency, high.latency]])
            of_low, of_high = np.linalg.solve(weights, [energy, latency])
            bounds.append(float(of_low * low.own[place] + of_high * high.own[place]))
        values = []
        for mapping in [self.own[place], *(line.choice.mappings[place] for line in self.lines)]:
            joules, seconds = self._figures(place, mapping)
            values.append((energy * joules + latency * seconds, mapping))
        value, mapping = min(values, key=lambda entry: entry[0])
        enough = max(SAME, self.within * PART)
        return (max(bounds), mapping) if value <= max(bounds) * (1.0 + enough) else None

    def _times(self, place: int, value: float) -> float:
        return value * self._repeats(place)

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
