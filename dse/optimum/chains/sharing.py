"""The least cost of a group under shared tiles, over all of them, proven from the lowest bound on.

A bound of every tiling comes first. What it moves over the edge of the home is no less than the least of each
of its parts (`words`) and its held tensors. Inside, its parts come to a mapping of the whole product, so that
the layer with everything held, which is proven, is no worse; for parts that begin sums again, what first sums
save is taken off. The tilings of the lowest bound have their parts proven, until no other is below.

Where time counts, a part takes no less than its words do at each port, with those of what is held that come
or go meanwhile. The mapping that is fastest by itself need not be where these are many: such a part has the
one of least energy as well, and a gap may remain.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import ceil, inf

from dse.core.certificate import Incumbent
from dse.core.edges import OUTPUT, WEIGHT
from dse.core.problem import AnyProblem
from dse.core.residence import Home, Phase, Rates, SharedTiles
from dse.optimum.chains.proofs import Proofs
from dse.optimum.chains.tilings import (
    Group,
    Part,
    Size,
    Tiling,
    carried_moves,
    fitting_tilings,
    least_moved,
    part_of,
    size_of,
)
from dse.optimum.lines import weights_of
from dse.support.arrays import FloatArray


@dataclass(frozen=True)
class Cost:
    """What a tiling costs in one run of its group."""

    joules: float
    cycles: float
    mappings: tuple[Incumbent, ...] = ()
    """Of its parts."""

    def value(self, weights: tuple[float, float], cycle_seconds: float) -> float:
        """The weighted sum."""
        return weights[0] * self.joules + weights[1] * self.cycles * cycle_seconds


@dataclass
class Sharing:
    """The tilings of one group, of the lowest bound first; `proofs` are of the objective, a sum."""

    group: Group
    home: Home
    tiles: SharedTiles
    proofs: Proofs
    best: tuple[float, Tiling | None] = (inf, None)
    _heap: list[tuple[float, int, bool]] = field(default_factory=list)
    _inner: dict[tuple[str, Size, bool], float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.weights = weights_of(self.proofs.objective)

    @cached_property
    def floor(self) -> float:
        """A bound that needs no tilings: everything inside the home, and outer words once."""
        energy, latency = self.weights
        return sum(self._inside(self.proofs, [1] * len(self.group.layers), 0.0 if latency else energy))

    @cached_property
    def listed(self) -> list[Tiling]:
        """All tilings that the home's tensors allow."""
        may_hold = WEIGHT in self.home.may_hold
        return [
            one for one in self._fitting() if may_hold or not any(move.tensor == WEIGHT for move in one.moves)
        ]

    def _fitting(self) -> Iterator[Tiling]:
        return fitting_tilings(self.group, self.home.room)

    @cached_property
    def all(self) -> list[Tiling]:
        """The same, each with its bound."""
        self._heap = [(self._bound(one), number, False) for number, one in enumerate(self.listed)]
        heapq.heapify(self._heap)
        return self.listed

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
        before = self._heap[0][0]
        self._tighten()
        bound, number, proven = self._heap[0]
        if bound > before:
            return
        heapq.heappop(self._heap)
        tiling = self.all[number]
        if not proven:
            behind = self._settle_parts(tiling, bound)
            if behind is not None:
                heapq.heappush(self._heap, (behind, number, False))
                return
            value = self.cost(tiling)
            if value < self.best[0]:
                self.best = value, tiling
            bound = self._parts(tiling)
            # Of energy both are the same; where they are not, the bound stays.
            if bound < value * (1 - 1e-12):
                heapq.heappush(self._heap, (bound, number, True))
            return
        heapq.heappush(self._heap, (self._parts(tiling), number, True))

    def _settle_parts(self, tiling: Tiling, bound: float) -> float | None:
        """Prove the parts of a tiling; its bound, as soon as that is above another's and parts are left."""
        limit = min(self._heap[0][0] if self._heap else inf, self.best[0])
        for part in tiling.parts:
            more = [self.proofs]
            if self.weights[1] and carried_moves(tiling, part):
                more.append(self._by_energy)
            for proofs in more:
                if part.phase in proofs.known:
                    continue
                bound = max(bound, self._parts(tiling))
                if bound > limit:
                    return bound
                proofs.settle(part.phase)
        return None

    def _tighten(self) -> None:
        """Until the lowest bound stands: what is proven of others' parts may tell more of a tiling."""
        while True:
            bound, number, proven = self._heap[0]
            tighter = bound if proven else self._parts(self.all[number])
            if tighter <= bound:
                return
            heapq.heapreplace(self._heap, (tighter, number, False))

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
        seconds = self._problem.accelerator.cycle_seconds
        joules, cycles, mappings = 0.0, 0.0, list[Incumbent]()
        for part in tiling.parts:
            options = list(self._part_costs(tiling, part))
            if not options:
                return None
            best = min(options, key=lambda one: one.value(self.weights, seconds))
            joules, cycles = joules + best.joules, cycles + best.cycles
            mappings += best.mappings
        return Cost(joules, cycles, tuple(mappings))

    def _part_costs(self, tiling: Tiling, part: Part) -> Iterator[Cost]:
        """What a part's runs cost with each mapping that is known of it, and the moves that go with it."""
        problem = self.proofs.problem_of(part.phase)
        for proofs in (self.proofs, self._by_energy):
            found = proofs.known.get(part.phase)
            if found is None or found.best is None or problem is None:
                continue
            best = found.best
            joules = part.count * best.energy_nj * 1e-9
            ports: FloatArray = part.count * self.tiles.demands(problem, best.mapping)
            for move in carried_moves(tiling, part):
                spent, more = self.tiles.moved(problem, move.tensor, move.words)
                joules += move.count * spent * 1e-9
                ports = ports + move.count * more
            yield Cost(joules, max(float(ceil(ports.max() - 1e-9)), part.count * best.cycles), (best,))

    @cached_property
    def _by_energy(self) -> Proofs:
        """Proofs of least energy."""
        return self.proofs.of("energy")

    @cached_property
    def _problem(self) -> AnyProblem:
        found = self.proofs.problem_of(Phase(part_of(self.group.sizes[0])))
        assert found is not None
        return found

    @cached_property
    def _rates(self) -> tuple[Rates, tuple[Rates, ...]]:
        return self.tiles.rates(self._problem)

    def _inside(self, proofs: Proofs, rounds: Sequence[int], energy: float) -> list[float]:
        """What each layer costs inside the home at least, its sums begun in the first of so many rounds.

        `energy` is the weight of energy, if nothing else counts.
        """
        found = []
        for size, count in zip(self.group.sizes, rounds, strict=True):
            whole = self._relaxed(proofs, size, returned=count > 1)
            if count == 1:
                found.append(whole)
                continue
            # Nothing is known of what first sums save of the time.
            first = whole / count - energy * self._saved * size[0] * size[1] if energy else 0.0
            found.append(whole * (count - 1) / count + max(0.0, first))
        return found

    def _relaxed(self, proofs: Proofs, size: Size, *, returned: bool) -> float:
        """The least cost of a layer inside the home, from nothing on, or as it goes on with sums."""
        key = proofs.objective, size, returned
        if key not in self._inner:
            held = tuple(sorted({"I", OUTPUT} | ({WEIGHT} & self._rates[0].kept)))
            phase = Phase(part_of(size), held, 0, returned)
            proofs.settle(phase)
            self._inner[key] = proofs.bound(phase)
        return self._inner[key]

    @cached_property
    def _saved(self) -> float:
        return self.tiles.first_visits(self._problem)

    def _bound(self, tiling: Tiling) -> float:
        """A bound of a tiling from what each layer moves and what it costs inside."""
        layers = range(len(self.group.layers))
        rounds, moved, ports = [1 for _ in layers], [0.0 for _ in layers], [0.0 for _ in layers]
        for part in tiling.parts:
            if part.phase.returned:
                rounds[part.place] = part.count // tiling.rows + 1
            moved[part.place] += self._moved(tiling, part, self._rates[0])
            if moved[part.place] == inf:
                return inf
            ports[part.place] += self._at_ports(tiling, part) if self.weights[1] else 0.0
        energy, latency = self.weights
        inside = self._inside(self.proofs, rounds, 0.0 if latency else energy)
        total = sum(inside) + energy * sum(moved)
        if latency:
            spent = self._inside(self._by_energy, rounds, 1.0) if energy else [0.0 for _ in layers]
            total = sum(
                max(one + energy * words, energy * (least + words) + latency * port)
                for one, least, words, port in zip(inside, spent, moved, ports, strict=True)
            )
        return total

    def _moved(self, tiling: Tiling, part: Part, rates: Rates) -> float:
        """What a part moves over the edge of the home at least, in all runs, and what is held besides."""
        phase = part.phase
        room, held = self.home.room - phase.taken, frozenset(phase.held)
        total = part.count * least_moved(size_of(phase.layer), room, held, phase.returned, rates)
        return total + self._held(tiling, part, rates)

    def _held(self, tiling: Tiling, part: Part, rates: Rates) -> float:
        """What moving what is held costs that comes or goes as a part is run."""
        return sum(
            move.count * move.words * (rates.goes if move.tensor == OUTPUT else rates.of(move.tensor)[0])
            for move in carried_moves(tiling, part)
        )

    def _spent(self, tiling: Tiling, part: Part) -> float:
        """The energy of the same, in J, whole blocks of words counted."""
        moved = self.tiles.moved
        each = (
            move.count * moved(self._problem, move.tensor, move.words)[0]
            for move in carried_moves(tiling, part)
        )
        return sum(each) * 1e-9

    def _at_ports(self, tiling: Tiling, part: Part) -> float:
        """Seconds that a part's words take at least, with those that come and go meanwhile."""
        return max((self._moved(tiling, part, port) for port in self._rates[1]), default=0.0)

    def _parts(self, tiling: Tiling) -> float:
        """A bound from the proofs of its parts."""
        return self._over_parts(tiling, lambda proofs, part: proofs.bound(part.phase), self._spent)

    def _over_parts(
        self, tiling: Tiling, least: Callable[[Proofs, Part], float], moved: Callable[[Tiling, Part], float]
    ) -> float:
        """A bound from the least that a run of each part costs by proofs, and the energy that it moves."""
        (energy, latency), total = self.weights, 0.0
        for part in tiling.parts:
            moves = energy * moved(tiling, part)
            found = part.count * least(self.proofs, part) + moves
            if latency:
                spent = energy * part.count * least(self._by_energy, part) if energy else 0.0
                found = max(found, spent + moves + latency * self._at_ports(tiling, part))
            total += found
        return total


def described_loops(tiling: Tiling, group: Group) -> Iterator[str]:
    """The loops that a group's layers share, a line each, and what is held over them."""
    names = [layer.name for layer in group.layers]
    loops = [f"for rows in {tiling.rows}"] if tiling.rows > 1 else []
    for name, count in zip(names, tiling.columns, strict=False):
        if count > 1:
            loops.insert(0 if tiling.columns_outside else len(loops), f"for columns of {name} in {count}")
    yield f"{' and '.join(names)} share: {', '.join(loops)}"
    if tiling.held:
        yield f"held over them: {', '.join(tiling.held)}"
