"""What is known of a whole network on the machines of one structure: bounds, and mappings that reach them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import islice, pairwise
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from dse.core.domains import make_problem
from dse.core.hardware_figures import CAPACITY, ENERGY, RATE
from dse.core.layer import Layer
from dse.core.objective import Objective
from dse.domains.codesign.space import Box, HardwareSpace, Point, Priced
from dse.optimum.codesign import lemmas
from dse.optimum.codesign.lemmas import Corner, Costs, LayerLemmas, Lemma, Line, Shares, lowest_corner
from dse.optimum.codesign.proving import Ask, Proven
from dse.support.arrays import FloatArray

Each = list[tuple[list[float], list[int], list[Any]]]
"""Of every layer the energies in nJ and the cycles of mappings, and the mappings."""

EQUAL = 1e-10
"""Values that differ by less than so much of themselves are one: they are sums, added up in another order."""
ROUNDS = 20
RANDOM_MAPPINGS = 2000
"""Of a layer on a machine that is tried before there are proofs."""


class Chosen(NamedTuple):
    """A mapping for each layer, and what the network costs with them, energy in nJ."""

    value: float
    energy: float
    cycles: float
    mappings: tuple[Any, ...]


class Bound(NamedTuple):
    """What no mappings of the network are below, and the lines that say so, each by its lemmas."""

    corner: Corner
    lines: tuple[Line, ...]
    shares: tuple[tuple[Shares, ...], ...]


@dataclass
class Structure:
    """The machines of one root of a space, and a network's layers on them."""

    space: HardwareSpace
    layers: Sequence[Layer]
    objective: Objective
    cycle_seconds: float
    times: Sequence[float] = ()
    """How often each layer counts; its repeats if it is not said."""
    known: list[LayerLemmas] = field(init=False)
    _needs: dict[tuple[int, str], dict[str, int]] = field(default_factory=dict)
    _paid: dict[tuple[int, str], tuple[float, ...]] = field(default_factory=dict)
    _relaxed: dict[Box, Priced] = field(default_factory=dict)
    _machines: dict[Point, Priced] = field(default_factory=dict)
    _costs: dict[tuple[int, int], Costs] = field(default_factory=dict)
    """By layer and machine, which is known by its identity."""

    def __post_init__(self) -> None:
        self.known = [LayerLemmas() for _ in self.layers]
        self.times = self.times or [layer.repeats for layer in self.layers]

    def relaxed(self, box: Box) -> Priced:
        """The relaxed machine of a box, made once."""
        found = self._relaxed[box] = self._relaxed.get(box) or self.space.relaxed(box)
        return found

    def machine(self, point: Point) -> Priced:
        """The machine at a point, made once."""
        found = self._machines[point] = self._machines.get(point) or self.space.machine(point)
        return found

    def value(self, energy: float, cycles: float) -> float:
        """The objective of a network's energy in nJ and cycles."""
        return self.objective.total({"energy": energy * 1e-9, "latency": cycles * self.cycle_seconds})

    def values(self, energy: FloatArray, cycles: FloatArray) -> FloatArray:
        """The same of many networks, to rounding."""
        costs = SimpleNamespace(energy_nj=energy, cycles=cycles)
        return np.asarray(self.objective.value(costs, 1.0 / self.cycle_seconds), dtype=np.float64)

    # Bounds

    def limits(self, box: Box) -> tuple[float, ...]:
        """The largest capacities and rates of a box."""
        ends = self.space.intervals(box)
        return tuple(ends[name][1] for kind in (CAPACITY, RATE) for name in self.space.varied[kind])

    def prices(self, box: Box, weight: float | None) -> tuple[float, ...]:
        """The least energies of a box and the weight of a cycle; without one, cycles alone."""
        ends, names = self.space.intervals(box), self.space.varied[ENERGY]
        if weight is None:
            return (*(0.0 for _ in range(len(names) + 1)), 1.0)
        return (1.0, *(ends[name][0] for name in names), weight)

    @property
    def weights(self) -> tuple[float | None, ...]:
        """The weights of a cycle that the objective needs: 0 for energy, None for cycles alone."""
        if self.objective.weights and len(self.objective.figures) > 1:
            return (self._weight_at(1.0, 1.0),)
        wanted = (("latency", None), ("energy", 0.0))
        return tuple(weight for figure, weight in wanted if figure in self.objective.exponents)

    def bound(self, box: Box, more: Sequence[float] = ()) -> Bound:
        """What follows from the lemmas for every machine of a box; `more` weights make it sharper."""
        limits, lines, shares = self.limits(box), [], []
        for weight in (*self.weights, *more):
            prices = self.prices(box, weight)
            each = [known.bound(limits, prices) for known in self.known]
            least = sum(times * one for times, (one, _) in zip(self.times, each, strict=True))
            lines.append(Line(0.0, 1.0, least) if weight is None else Line(1.0, weight, least))
            shares.append(tuple(of for _, of in each))
        for weight, line in ((0.0, Line(1.0, 0.0, 0.0)), (None, Line(0.0, 1.0, 0.0))):
            if weight not in self.weights:
                # Nothing is below 0.
                lines.append(line)
                shares.append(tuple(() for _ in self.layers))
        return Bound(self.corner(lines), tuple(lines), tuple(shares))

    def corner(self, lines: Sequence[Line]) -> Corner:
        """The lowest corner of what the lines leave."""
        return lowest_corner(lines, self.value)

    def reached(self, each: Each, more: Sequence[float]) -> float:
        """What no bound of a box is above, by the known mappings on its relaxed machine; inf without any."""
        if not all(mappings for _, _, mappings in each):
            return math.inf
        lines = [Line(1.0, 0.0, 0.0), Line(0.0, 1.0, 0.0)]
        for weight in (*self.weights, *more):
            found = self.at_weight(each, math.inf if weight is None else weight)
            of = (0.0, 1.0) if weight is None else (1.0, weight)
            lines.append(Line(*of, of[0] * found.energy + of[1] * found.cycles))
        return self.corner(lines).value

    def roofline(self, box: Box) -> float:
        """What the layers' MACs and compulsory traffic say of a box, before any proof; 0 if nothing."""
        priced, energy, cycles = self.relaxed(box), 0.0, 0.0
        for layer, times in zip(self.layers, self.times, strict=True):
            bound = priced.model.roofline(layer, priced.hardware)
            if bound is None:
                return 0.0
            energy += times * bound.energy_nj
            cycles += times * bound.cycles
        return self.value(energy, cycles) * (1 - EQUAL)

    def asks(self, box: Box, weight: float | None, priced: Priced) -> list[tuple[int, Ask]]:
        """What to prove, by layer: the least at a weight on a box's relaxed machine, where not known."""
        limits, prices = self.limits(box), self.prices(box, weight)
        figure = "latency" if weight is None else "weighted" if weight else "energy"
        found = []
        for place, (layer, known) in enumerate(zip(self.layers, self.known, strict=True)):
            least, _ = known.bound(limits, prices)
            if least == math.inf:
                return []
            energy, cycles, _ = self.priced(place, priced)
            reached = min(
                (c if weight is None else e + weight * c for e, c in zip(energy, cycles, strict=True)),
                default=math.inf,
            )
            if reached > least / (1 - EQUAL / 10):  # Else a known mapping is the optimum.
                found.append((place, Ask(layer, priced, figure, weight or 0.0)))
        return found

    def learn(self, number: int, place: int, box: Box, weight: float | None, proven: Proven) -> Lemma:
        """Take in a proof on the relaxed machine of a box."""
        lemma = Lemma(number, self.limits(box), self.prices(box, weight), proven.least)
        self.known[place].lemmas.append(lemma)
        if proven.mapping is not None:
            self.known[place].add_mapping(proven.mapping)
        return lemma

    # Mappings

    def priced(self, place: int, priced: Priced) -> tuple[list[float], list[int], list[Any]]:
        """The energy in nJ and the cycles of a layer's known mappings that a machine can run, and these."""
        costs = self._costs.setdefault((place, id(priced)), Costs(priced))
        mappings = list(islice(self.known[place].mappings.values(), costs.seen, None))
        if mappings:
            costs.learn(self.layers[place], self.space.domain, mappings)
        return costs.energies, costs.cycles, costs.mappings

    def draw(self, place: int, priced: Priced, rng: np.random.Generator) -> None:
        """Take in the mappings of a layer of least energy, cycles and EDP of templates and random ones."""
        problem = make_problem(self.layers[place], priced.hardware, "edp", priced.model)
        genes = problem.space.sample(rng, RANDOM_MAPPINGS)
        if problem.templates:
            templates = [problem.template(name) for name in problem.templates]
            genes = np.concatenate([problem.vectors(templates), genes])
        found = problem.price(genes)
        figures = (found.loss, found.energy_nj, found.cycles)
        rows = {int(np.where(found.reason == 0, figure, np.inf).argmin()) for figure in figures}
        for row in sorted(rows):
            if found.reason[row] == 0:
                self.known[place].add_mapping(problem.space.decode(genes[[row]])[0])

    def each(self, priced: Priced) -> Each:
        """Of every layer the known mappings that a machine can run."""
        return [self.priced(place, priced) for place in range(len(self.layers))]

    def choose(self, each: Each) -> Chosen | None:
        """The best known mappings of a network on a machine; None where a layer has none."""
        if not all(mappings for _, _, mappings in each):
            return None
        best: Chosen | None = None
        tried: set[float] = set()
        weights = [0.0, math.inf]
        while weights:
            weight = weights.pop()
            tried.add(weight)
            found = self.at_weight(each, weight)
            if best is None or (found.value, found.energy) < (best.value, best.energy):
                best = found
            steepness = self._weight_at(found.energy, found.cycles)  # The objective's own slope there.
            if steepness not in tried and len(tried) < ROUNDS:
                weights.append(steepness)
        return best

    def at_weight(self, each: Each, weight: float) -> Chosen:
        """The least sum of energy and weight times cycles; at inf, the fewest cycles."""
        places = []
        for energy, cycles, _ in each:
            if weight == math.inf:
                keys: list[tuple[float, float]] = list(zip(map(float, cycles), energy, strict=True))
            else:
                keys = [(e + weight * c, c) for e, c in zip(energy, cycles, strict=True)]
            places.append(keys.index(min(keys)))
        return self.chosen(each, places)

    def chosen(self, each: Each, places: Sequence[int]) -> Chosen:
        """The network with one of each layer's known mappings."""
        total, steps, mappings = 0.0, 0.0, []
        for times, at, (energy, cycles, of) in zip(self.times, places, each, strict=True):
            total += times * energy[at]
            steps += times * cycles[at]
            mappings.append(of[at])
        return Chosen(self.value(total, steps), total, lemmas.int_if_whole(steps), tuple(mappings))

    def _weight_at(self, energy: float, cycles: float) -> float:
        """What a cycle is worth in nJ where the network has that energy and those cycles."""
        given = {figure.name: weight for figure, weight in self.objective.weights}
        if len(given) > 1:
            return given["latency"] / given["energy"] * self.cycle_seconds * 1e9
        of = self.objective.exponents or given
        if not of.get("energy"):
            return math.inf
        return of.get("latency", 0.0) / of["energy"] * energy / max(cycles, 1e-300)

    def next_weight(self, bound: Bound, each: Each, more: Sequence[float]) -> float | None:
        """The weight at which a proof may lift the lowest corner of a bound; None if none may.

        It is the slope between what is known to touch the two lines of the corner. Where both touch at the
        corner, it is reached; where a line at that slope is no lower, the two are next to each other on the
        lower hull of the network's energies and cycles, and nothing is between.
        """
        weights = (*self.weights, *more)
        if len(self.weights) < 2 or not all(mappings for _, _, mappings in each):
            return None
        one, other = (
            self.at_weight(each, math.inf if weights[at] is None else weights[at])  # type: ignore[arg-type]
            for at in bound.corner.lines
        )
        if one.cycles == other.cycles:
            return None
        weight = (one.energy - other.energy) / (other.cycles - one.cycles)
        near = any(abs(weight - tried) <= 1e-9 * weight for tried in more)
        return None if near or not 0 < weight < math.inf else weight

    def ascending_weights(self, more: Sequence[float]) -> list[float]:
        """The weights of all lines; that of cycles alone is inf."""
        return sorted({math.inf if weight is None else weight for weight in (*self.weights, *more)})

    def weight_between(
        self, each: Each, more: Sequence[float], is_open: Callable[[float, float], bool]
    ) -> float | None:
        """The slope between what touches two neighbouring lines, of the first whose cycles are `is_open`."""
        touching = [self.at_weight(each, weight) for weight in self.ascending_weights(more)]
        for slow, fast in pairwise(touching):
            if slow.cycles <= fast.cycles or fast.energy <= slow.energy:
                continue
            weight = (fast.energy - slow.energy) / (slow.cycles - fast.cycles)
            new = all(abs(weight - tried) > 1e-9 * weight for tried in more)
            if new and is_open(fast.cycles, slow.cycles):
                return weight
        return None

    # Machines

    def paid_counts(self, place: int, mapping: Any, box: Box) -> tuple[float, ...]:
        """How often a mapping pays each energy that varies: what it takes more at 2 than at 1."""
        key = place, mapping.to_json()
        if key not in self._paid:
            ends, kinds = self.space.intervals(box), self.space.figures
            names = self.space.varied[ENERGY]
            values = {name: ends[name][kinds[name].kind != ENERGY] for name in self.space.formulas}
            ones = values | dict.fromkeys(names, 1.0)

            def energy(figures: dict[str, float]) -> float:
                priced = self.space.with_figures(figures)
                problem = make_problem(self.layers[place], priced.hardware, "energy", priced.model)
                return float(self.space.domain.price(problem, [mapping]).energy_nj[0])

            self._paid[key] = tuple(energy({**ones, name: 2.0}) - energy(ones) for name in names)
        return self._paid[key]

    def least_machine(self, box: Box, chosen: Chosen, priced: Priced) -> Point:
        """The machine of a box with the least capacities that hold the mappings, and the largest rates."""
        wanted: dict[str, int] = {}
        for place, mapping in enumerate(chosen.mappings):
            key = place, mapping.to_json()
            if key not in self._needs:
                problem = make_problem(self.layers[place], priced.hardware, "energy", priced.model)
                self._needs[key] = dict(self.space.domain.needs(problem, mapping))
            for name, words in self._needs[key].items():
                wanted[name] = max(wanted.get(name, 0), words)
        names = [name for name in self.space.varied[CAPACITY] if name in wanted]
        point, sizing = [last for _, last in box], self.space.parameters_of(CAPACITY)
        for at, (low, high) in enumerate(box):
            if low < high and at in sizing:
                while low < high:
                    middle = (low + high) // 2
                    ends = self.space.intervals(
                        tuple((middle, middle) if i == at else (p, p) for i, p in enumerate(point))
                    )
                    if all(ends[name][0] >= wanted[name] for name in names):
                        high = middle
                    else:
                        low = middle + 1
                point[at] = low
        return tuple(point)
