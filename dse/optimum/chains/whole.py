"""Which tensors of a chain stay on chip whole: the least sum, by dynamic programming over its layers.

The state between two layers is which of the tensors that are alive there stay. A layer's cost depends on
which of its own do, and on the room that all of them take: each such phase is a problem of its own. Phases
are proven only where a least path goes through one that is not: until then it has the bound of what relaxes
it, so that no path is below what is said.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain as joined
from itertools import combinations
from math import inf

from dse.core.residence import Phase
from dse.optimum.chains.program import Program
from dse.optimum.chains.proofs import Proofs

Cost = Callable[[Phase], float]


@dataclass(frozen=True)
class Path:
    """Of a chain run once: the makers of the tensors that stay, and what it costs."""

    staying: frozenset[int]
    cost: float


def least_path(program: Program, cost: Cost, room: int) -> Path:
    """The choice of tensors that stay of the least sum of costs; `cost` inf of all if nothing is possible."""
    states: dict[frozenset[int], Path] = {frozenset(): Path(frozenset(), 0.0)}
    for place in range(len(program.chain.layers)):
        alive = frozenset(program.alive(place))
        begins = [maker for maker in alive if program.tensors[maker].first == place]
        grown: dict[frozenset[int], Path] = {}
        for path in states.values():
            for more in subsets(begins):
                staying = path.staying | more
                if program.taken(place, staying) > room:
                    continue
                least = path.cost + program.runs[place] * cost(phase_of(program, place, staying))
                after = frozenset(maker for maker in staying & alive if program.tensors[maker].last > place)
                if least < grown.get(after, Path(frozenset(), inf)).cost or after not in grown:
                    grown[after] = Path(staying, least)
        states = grown
    return min(states.values(), key=lambda path: path.cost)


def phase_of(program: Program, place: int, staying: frozenset[int]) -> Phase:
    """What a layer is run as where these tensors stay."""
    held, taken = program.held(place, staying), program.taken(place, staying)
    return Phase(program.chain.layers[place], held, taken)


def subsets(items: list[int]) -> Iterator[frozenset[int]]:
    """All subsets, the smallest first."""
    sizes = range(len(items) + 1)
    return map(frozenset, joined.from_iterable(combinations(sorted(items), size) for size in sizes))


def relaxed(program: Program, place: int) -> Phase:
    """A phase that relaxes all of a layer's: whatever can stay does, and takes no room."""
    return Phase(program.chain.layers[place], program.held(place, frozenset(program.tensors)), 0)


def settle(program: Program, proofs: Proofs, room: int) -> tuple[float, Path]:
    """The least that a run of the chain may cost, and the best that is known: equal where all is proven."""
    for place in range(len(program.chain.layers)):
        for phase in (phase_of(program, place, frozenset()), relaxed(program, place)):
            proofs.settle(phase)
    while True:
        least = least_path(program, proofs.bound, room)
        open_ = [
            phase
            for place in range(len(program.chain.layers))
            if (phase := phase_of(program, place, least.staying)) not in proofs.known
        ]
        if not open_ or least.cost == inf:
            return least.cost, least_path(program, proofs.best, room)
        for phase in open_:
            proofs.settle(phase)
