"""The least product of a whole network's totals, such as EDP: total energy times total latency.

A product of powers E^a D^b, a and b above 0, of total energy E and total latency D is quasi-concave: over all
choices of mappings its least value is at a vertex of the lower hull of their totals. A vertex is what is
least of E + m D for some m, and that is a sum over the layers: each layer's own least, proven as its
objective `energy + m * latency`. Proofs of all layers with one m make a *line* that no choice of mappings is
below. The lines together leave a polygon; the least value at its corners is a lower bound. The corner that
has it says which m is proven next, that of the edge between the totals beside it, until no corner is below
the best found. A layer whose proofs with a smaller and a larger m say what is least in between is not proven
again.

Where some gap is enough, layers are proven one by one under two m, whichever raises the bound most, and lines
follow from all that is known of each layer (see `dse.optimum.lines`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dse.core.certificate import BOUNDED, Certificate, Incumbent, gap_between
from dse.core.objective import objective_named
from dse.core.problem import AnyProblem
from dse.optimum.lines import (
    SAME,
    Choice,
    Closed,
    Line,
    LineSearch,
    Sum,
    least_of_weights,
    least_weighted,
    sum_of,
    weights_of,
)

Prove = Callable[[Sequence[tuple[str, AnyProblem]]], Iterator[Certificate]]
"""Proves problems of the layers of those names."""


PART = 0.25
"""Of the gap that is enough, the share that may be left in the layers' parts of a line."""
BETWEEN = 12
"""Lines between the two whose proofs are asked for first: what is known of layers draws them."""
LIKE = 0.5
"""Proofs that gain no less than this share of what the first one gains are asked for with it."""


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
        self.layers = list(problems.items())
        self.proofs: dict[tuple[str, str], Certificate] = {}
        self._found: dict[tuple[int, float, tuple[Sum, ...]], float] = {}
        self._floors: dict[int, tuple[float, float] | None] = {}

    def run(self, own: Sequence[Incumbent]) -> Total | None:
        self.own = own
        best = self._choice(own)
        found = self._close_by_layers(best) or self.close(best)
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
            Line(energy, latency, self._total(own), best, own, floor=True)
            for energy, latency, own in ((1.0, 0.0, joules), (0.0, 1.0, seconds))
        ]

    def _close_by_layers(self, best: Choice) -> Closed | None:
        """Prove layers under two weights, the one that gains most first, until the gap is enough.

        Lines between the two, and those of layers that are not proven, follow from what is known. None if
        all is proven and the gap is not enough, or no gap is: then lines are proven whole.
        """
        floors = self.floors(best)
        if not floors or not self.within:
            return None
        self.lines = floors
        ends = [latency / energy for energy, latency in self._first(best) if energy and latency]
        if len(ends) < 2 or ends[0] >= ends[1]:
            self.lines = []
            return None
        slopes = np.geomspace(ends[0], ends[1], BETWEEN + 2).tolist()
        while True:
            self.lines = [*floors, *map(self._line_of, slopes)]
            best, loss, corner, (one, two) = self._best_and_corner(best)
            gap = max(0.0, gap_between(loss, corner))
            self.observe(gap)
            if gap <= self.within or self.over():
                return Closed(BOUNDED, min(corner, loss), best, loss)
            inside = min(max(math.sqrt(max(one.slope, ends[0]) * min(two.slope, ends[1])), ends[0]), ends[1])
            if not self._prove_what_gains(ends, inside):
                self.lines = []
                return None

    def _line_of(self, slope: float) -> Line:
        """The line of a weight of latency that follows from what is known of each layer."""
        own = tuple(self._least(place, slope, self._sums(place)) for place in range(len(self.layers)))
        chosen = [self._best_known(place, 1.0, slope)[1] for place in range(len(self.layers))]
        return Line(1.0, slope, self._total(own), self._choice(chosen), own)

    def _prove_what_gains(self, ends: Sequence[float], slope: float) -> bool:
        """Prove layers under one of two weights whose proofs may raise the line of a slope most; False if
        none may."""
        gains = []
        for place, (name, problem) in enumerate(self.layers):
            known = self._sums(place)
            now = self._least(place, slope, known)
            for end in ends:
                if (name, sum_of(1.0, end)) not in self.proofs:
                    hoped = (1.0, end, self._best_known(place, 1.0, end)[0])
                    gain = self._least(place, slope, (*known, hoped)) - now
                    gains.append((gain * problem.layer.repeats, place, end))
        gains.sort(key=lambda one: (-one[0], *one[1:]))
        if not gains or gains[0][0] <= 0:
            return False
        # A layer's other weight waits for what the first one says.
        asked: dict[int, float] = {}
        for gain, place, end in gains:
            if gain >= LIKE * gains[0][0]:
                asked.setdefault(place, end)
        chosen = [(self.layers[place][0], sum_of(1.0, end)) for place, end in asked.items()]
        problems = [(name, self.problems[name].with_changes(objective=text)) for name, text in chosen]
        for key, found in zip(chosen, self.prove(problems), strict=True):
            self.proofs[key] = found
        return True

    def _least(self, place: int, slope: float, known: tuple[Sum, ...]) -> float:
        """What a layer's energy and so much times its latency is not below; once for all that is known."""
        key = place, slope, known
        if key not in self._found:
            self._found[key] = least_weighted(self.objective, self.bounds[place], known, 1.0, slope)
        return self._found[key]

    def _sums(self, place: int) -> tuple[Sum, ...]:
        """What is known of a layer's sums: its roofline, and proofs."""
        name, problem = self.layers[place]
        floors = self._floors.setdefault(place, floors_of(problem))
        known = [(1.0, 0.0, floors[0]), (0.0, 1.0, floors[1])] if floors else []
        for (layer, text), found in self.proofs.items():
            if layer == name:
                known.append((*weights_of(text), found.lower_bound))
        return tuple(known)

    def _best_known(self, place: int, energy: float, latency: float) -> tuple[float, Incumbent]:
        """The least weighted sum of a layer's known mappings, and the mapping."""
        name, _ = self.layers[place]
        proven = (found.best for (layer, _), found in self.proofs.items() if layer == name)
        return self._least_of(place, (one for one in proven if one is not None), energy, latency)

    def _least_of(
        self, place: int, mappings: Iterable[Incumbent], energy: float, latency: float
    ) -> tuple[float, Incumbent]:
        """The least weighted sum of some mappings of a layer and its own best one, and the mapping."""
        found = []
        for mapping in (self.own[place], *mappings):
            joules, seconds = self._figures(place, mapping)
            found.append((energy * joules + latency * seconds, mapping))
        return min(found, key=lambda entry: entry[0])

    def draw(self, energy: float, latency: float) -> bool:
        """Prove all layers with these weights; False if one has no mapping, or the time is over."""
        text = sum_of(energy, latency)
        known = [self._known(place, energy, latency) for place in range(len(self.layers))]
        asked = [
            (name, problem.with_changes(objective=text))
            for (name, problem), one in zip(self.layers, known, strict=True)
            if one is None and (name, text) not in self.proofs
        ]
        answers, least, chosen = self.prove(asked), [], []
        for name, one in zip(self.problems, known, strict=True):
            if self.over():
                return False
            if one is None:
                if (name, text) not in self.proofs:
                    self.proofs[name, text] = next(answers)
                found = self.proofs[name, text]
                if found.best is None:
                    return False
                one = found.lower_bound, found.best
            least.append(one[0])
            chosen.append(one[1])
        self.lines.append(Line(energy, latency, self._total(least), self._choice(chosen), tuple(least)))
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
        drawn = (line.choice.mappings[place] for line in self.lines)
        value, mapping = self._least_of(place, drawn, energy, latency)
        enough = max(SAME, self.within * PART)
        return (max(bounds), mapping) if value <= max(bounds) * (1.0 + enough) else None

    def _total(self, figures: Sequence[float]) -> float:
        """The sum of the layers' figures, each times its repeats."""
        return sum(one * layer.layer.repeats for one, (_, layer) in zip(figures, self.layers, strict=True))

    def _choice(self, mappings: Sequence[Incumbent]) -> Choice:
        joules, seconds = zip(*(self._figures(*one) for one in enumerate(mappings)), strict=True)
        return Choice(tuple(mappings), self._total(seconds), self._total(joules))

    def _figures(self, place: int, mapping: Incumbent) -> tuple[float, float]:
        """Joules and seconds of a layer's mapping, once."""
        _, problem = self.layers[place]
        return mapping.energy_nj * 1e-9, mapping.cycles * problem.accelerator.cycle_seconds
