"""The least cost of a group under shared tiles, over all of them, proven from the lowest bound on.

A bound of every tiling comes first. What it moves over the edge of the home is no less than the least of each
of its parts (`words`) and its held tensors. Inside, its parts come to a mapping of the whole product, so that
the layer with everything held, which is proven, is no worse; for parts that begin sums again, what first sums
save is taken off. The tilings of the lowest bound have their parts proven, until no other is below.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from math import ceil, inf

from dse.core.edges import OUTPUT, WEIGHT
from dse.core.objective import objective_named
from dse.core.problem import AnyProblem
from dse.core.residence import Home, Phase, Rates
from dse.optimum.chains.proofs import Proofs
from dse.optimum.chains.tilings import Group, Part, Tiling, part_of, size_of, tilings
from dse.optimum.chains.words import least_moved
from dse.support.arrays import FloatArray


@dataclass(frozen=True)
class Cost:
    """What a tiling costs in one run of its group."""

    joules: float
    cycles: float

    def value(self, weights: tuple[float, float], cycle_seconds: float) -> float:
        """The weighted sum."""
        return weights[0] * self.joules + weights[1] * self.cycles * cycle_seconds


@dataclass
class Sharing:
    """The tilings of one group, of the lowest bound first; `proofs` are of the objective, a sum."""

    group: Group
    home: Home
    proofs: Proofs
    best: tuple[float, Tiling | None] = (inf, None)
    _heap: list[tuple[float, int, bool]] = field(default_factory=list)

    def __post_init__(self) -> None:
        objective = objective_named(self.proofs.objective)
        given = {figure.name: weight for figure, weight in objective.weights} or {self.proofs.objective: 1.0}
        self.weights = given.get("energy", 0.0), given.get("latency", 0.0)

    @cached_property
    def floor(self) -> float:
        """A bound that needs no tilings: everything inside the home, and outer words once."""
        return self._inside([1] * len(self.group.layers), first_again=False)

    @cached_property
    def all(self) -> list[Tiling]:
        """All tilings that the home's tensors allow."""
        may = set(self.home.may_hold)
        found = [
            one
            for one in tilings(self.group, self.home.room)
            if WEIGHT in may or not any(name.startswith(WEIGHT) for name in one.held)
        ]
        self._heap = [(self._bound(one), number, False) for number, one in enumerate(found)]
        heapq.heapify(self._heap)
        return found

    def bound(self) -> float:
        """No tiling is below it."""
        if "all" not in self.__dict__:
            return self.floor
        return min(self._heap[0][0] if self._heap else inf, self.best[0])

    def refine(self) -> None:
        """Make a bound of every tiling, or prove the parts of the lowest one."""
        if "all" not in self.__dict__:
            _ = self.all
            return
        if not self._heap:
            return
        _, number, proven = heapq.heappop(self._heap)
        tiling = self.all[number]
        if not proven:
            for part in tiling.parts:
                self.proofs.settle(part.phase)
            value = self.cost(tiling)
            if value < self.best[0]:
                self.best = value, tiling
            bound = self._parts(tiling)
            # Of energy both are the same; where they are not, the bound stays.
            if bound < value * (1 - 1e-12):
                heapq.heappush(self._heap, (bound, number, True))
            return
        heapq.heappush(self._heap, (self._parts(tiling), number, True))

    @property
    def closed(self) -> bool:
        """Whether nothing more can be learnt."""
        return "all" in self.__dict__ and (
            not self._heap or self._heap[0][2] or self._heap[0][0] >= self.best[0]
        )

    def cost(self, tiling: Tiling) -> float:
        """What the best known mappings of its parts cost; inf if one has none."""
        found = self.figures(tiling)
        seconds = self._problem.accelerator.cycle_seconds
        return inf if found is None else found.value(self.weights, seconds)

    def figures(self, tiling: Tiling) -> Cost | None:
        """Energy and cycles of one run, with what is held moved once; None where a part has no mapping."""
        joules, cycles = 0.0, 0.0
        residence = self.proofs.residence
        for part in tiling.parts:
            known = self.proofs.known.get(part.phase)
            problem = self.proofs.problem_of(part.phase)
            if known is None or known.best is None or problem is None:
                return None
            joules += part.count * known.best.energy_nj * 1e-9
            ports: FloatArray = part.count * residence.demands(problem, known.best.mapping)
            for move in tiling.moves:
                if self._carries(tiling, part, move.place, move.tensor):
                    spent, more = residence.moved(problem, move.tensor, move.words)
                    joules += move.count * spent * 1e-9
                    ports = ports + move.count * more
            cycles += max(float(ceil(ports.max() - 1e-9)), part.count * known.best.cycles)
        return Cost(joules, cycles)

    @staticmethod
    def _carries(tiling: Tiling, part: Part, place: int, tensor: str) -> bool:
        """Whether a part's time has a move: what comes is of the layer's first, what goes of its last."""
        mine = [one for one in tiling.parts if one.place == place]
        return part is (mine[-1] if tensor == OUTPUT else mine[0])

    @cached_property
    def _problem(self) -> AnyProblem:
        found = self.proofs.problem_of(Phase(part_of(self.group.sizes[0])))
        assert found is not None
        return found

    @cached_property
    def _rates(self) -> tuple[Rates, tuple[Rates, ...]]:
        return self.proofs.residence.rates(self._problem)

    @cached_property
    def _relaxed(self) -> tuple[tuple[float, float], ...]:
        """Of each layer the least cost inside the home, from nothing on, and as it goes on with sums."""
        inside = tuple(sorted({"I", OUTPUT} | ({WEIGHT} & self._rates[0].kept)))
        found = []
        for size in self.group.sizes:
            both = [Phase(part_of(size), inside, 0, returned) for returned in (False, True)]
            for phase in both:
                self.proofs.settle(phase)
            found.append((self.proofs.bound(both[0]), self.proofs.bound(both[1])))
        return tuple(found)

    def _inside(self, rounds: list[int], *, first_again: bool) -> float:
        """What all layers cost inside the home at least, their sums begun in the first of so many rounds."""
        total, energy = 0.0, self.weights[0]
        saved = self.proofs.residence.first_visits(self._problem)
        for (begun, gone_on), size, count in zip(self._relaxed, self.group.sizes, rounds, strict=True):
            if not first_again or count == 1:
                total += begun
                continue
            first = gone_on / count - energy * saved * size[0] * size[1]
            if self.weights[1]:
                first = 0.0
            total += gone_on * (count - 1) / count + max(0.0, first)
        return total

    def _bound(self, tiling: Tiling) -> float:
        """A bound of a tiling from what it moves and what its layers cost inside."""
        rounds = [1] * len(self.group.layers)
        for part in tiling.parts:
            if part.phase.returned:
                rounds[part.place] = part.count // tiling.rows + 1
        joules, ports = self._rates
        inside = self._inside(rounds, first_again=True)
        moved = self._moved(tiling, joules)
        if moved == inf:
            return inf
        found = inside + self.weights[0] * moved
        if self.weights[1] and not self.weights[0]:
            # Each layer's time is no less than that of its words.
            words = [self._moved(tiling, port, held=False) for port in ports]
            found = max(found, self.weights[1] * max(words, default=0.0))
        return found

    def _moved(self, tiling: Tiling, rates: Rates, *, held: bool = True) -> float:
        """What its parts move over the edge of the home at least, and what it holds."""
        total = 0.0
        for part in tiling.parts:
            phase = part.phase
            total += part.count * least_moved(
                size_of(phase.layer),
                self.home.room - phase.taken,
                frozenset(phase.held),
                phase.returned,
                rates,
            )
            if total == inf:
                return inf
        if held:
            for move in tiling.moves:
                each = rates.goes if move.tensor == OUTPUT else rates.of(move.tensor)[0]
                total += move.count * move.words * each
        return total

    def _parts(self, tiling: Tiling) -> float:
        """A bound from the proofs of its parts."""
        joules = self._rates[0]
        moved = sum(
            move.count * move.words * (joules.goes if move.tensor == OUTPUT else joules.of(move.tensor)[0])
            for move in tiling.moves
        )
        parts = sum(part.count * self.proofs.bound(part.phase) for part in tiling.parts)
        return parts + self.weights[0] * moved


def described(tiling: Tiling, group: Group) -> Iterator[str]:
    """The loops that a group's layers share, a line each, and what is held over them."""
    names = [layer.name for layer in group.layers]
    loops = [f"for rows in {tiling.rows}"] if tiling.rows > 1 else []
    for name, count in zip(names, tiling.columns, strict=False):
        if count > 1:
            loops.insert(0 if tiling.columns_outside else len(loops), f"for columns of {name} in {count}")
    yield f"{' and '.join(names)} share: {', '.join(loops)}"
    if tiling.held:
        yield f"held over them: {', '.join(tiling.held)}"
