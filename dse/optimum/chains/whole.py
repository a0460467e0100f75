"""Which tensors of a chain stay on chip, and which layers share tiles: the least sum, by dynamic programming.

The state between two layers is which of the tensors that are alive there stay. A layer's cost depends on
which of its own do, and on the room that all of them take: each such phase is a problem of its own. A group
of layers that share tiles is a step over all of them. Phases and groups are proven only where a least path
goes through one that is not: until then it has the bound of what relaxes it, so that no path is below what is
said.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from math import inf

from dse.core.residence import Home, Phase
from dse.optimum.chains.line_buffers import LineBuffers
from dse.optimum.chains.program import Program
from dse.optimum.chains.proofs import Proofs
from dse.optimum.chains.sharing import Sharing
from dse.optimum.chains.tilings import Group, is_product, subsets
from dse.optimum.lines import SAME

Step = tuple[int, int]
"""The first and the last layer of what is run as one: a layer, or a group that shares tiles."""


@dataclass(frozen=True)
class Path:
    """Of a chain run once: the makers of the tensors that stay, its steps, and what it costs."""

    staying: frozenset[int]
    cost: float
    steps: tuple[Step, ...] = ()


Cost = Callable[[Step, frozenset[int]], float]
"""What one run of a step costs, where tensors of these makers stay."""


def least_path(program: Program, cost: Cost, room: int) -> Path:
    """The steps and the tensors that stay of the least sum of costs; of cost inf if none is possible."""
    states: list[dict[frozenset[int], Path]] = [{} for _ in range(len(program.chain.layers) + 1)]
    states[0][frozenset()] = Path(frozenset(), 0.0)
    for place in range(len(program.chain.layers)):
        steps = [(place, place), *(one for one in program.groups if one[0] == place and room)]
        for path in states[place].values():
            for step in steps:
                for grown in _grown(program, path, step, cost, room):
                    _, end = step
                    after = frozenset(one for one in grown.staying if program.tensors[one].last > end)
                    if after not in states[end + 1] or grown.cost < states[end + 1][after].cost:
                        states[end + 1][after] = grown
    return min(states[-1].values(), key=lambda path: path.cost)


def _grown(program: Program, path: Path, step: Step, cost: Cost, room: int) -> Iterator[Path]:
    """The path with one more step, for each choice of the tensors that may stay from there on."""
    place, end = step
    if any(place <= one < end for one in path.staying):
        return
    for more in all_subsets(program.begins(place, end)):
        staying = path.staying | more
        if program.taken(place, staying, end) > room:
            continue
        least = path.cost + program.runs[place] * cost(step, staying)
        yield Path(staying, least, (*path.steps, step))


def phase_of(program: Program, place: int, staying: frozenset[int]) -> Phase:
    """What a layer is run as where these tensors stay."""
    held, taken = program.held(place, staying), program.taken(place, staying)
    return Phase(program.chain.layers[place], held, taken)


def all_subsets(items: Iterable[int]) -> Iterator[frozenset[int]]:
    """All subsets, the smallest first."""
    return map(frozenset, subsets(sorted(items)))


def relaxed(program: Program, place: int) -> Phase:
    """A phase that relaxes all of a layer's: whatever can stay does, and takes no room."""
    return Phase(program.chain.layers[place], program.held(place, frozenset(program.tensors)), 0)


@dataclass
class Settling:
    """Proves a chain under one objective, a sum; `groups` are those met so far."""

    program: Program
    proofs: Proofs
    home: Home | None
    over: Callable[[], bool]
    """Whether the time is over: then nothing more is refined, and what bounds there are stand."""
    groups: dict[Group, Sharing] = field(default_factory=dict)

    def sharing(self, step: Step, staying: frozenset[int]) -> Sharing:
        """The group of a step."""
        group = self.program.group(*step, staying)
        if group not in self.groups:
            tiles = self.proofs.residence.tiles
            assert self.home is not None
            assert tiles is not None
            kind = Sharing if all(map(is_product, group.layers)) else LineBuffers
            self.groups[group] = kind(group, self.home, tiles, self.proofs)
        return self.groups[group]

    def bound(self, step: Step, staying: frozenset[int]) -> float:
        """What one run of a step costs at least."""
        if step[0] == step[1]:
            return self.proofs.bound(phase_of(self.program, step[0], staying))
        return self.sharing(step, staying).bound()

    def best(self, step: Step, staying: frozenset[int]) -> float:
        """What the best that is known of it costs."""
        if step[0] == step[1]:
            return self.proofs.best(phase_of(self.program, step[0], staying))
        group = self.program.group(*step, staying)
        return self.groups[group].best[0] if group in self.groups else inf

    def settle(self, room: int) -> tuple[float, Path]:
        """The least that a run may cost, and the best that is known: equal where all is proven."""
        for place in range(len(self.program.chain.layers)):
            self.proofs.settle(phase_of(self.program, place, frozenset()))
            self.proofs.settle(relaxed(self.program, place))
        while True:
            least = least_path(self.program, self.bound, room)
            known = least_path(self.program, self.best, room)
            # Sums that are equal may be rounded otherwise.
            if known.cost <= least.cost * (1 + SAME) or self.over() or not self._refine(least):
                return min(least.cost, known.cost), known

    def _refine(self, path: Path) -> bool:
        """Prove what the path goes through and is not proven; False if all is."""
        more = False
        for step in path.steps:
            if self.over():
                break
            if step[0] == step[1]:
                phase = phase_of(self.program, step[0], path.staying)
                more |= phase not in self.proofs.known
                self.proofs.settle(phase)
            else:
                sharing = self.sharing(step, path.staying)
                if not sharing.closed:
                    sharing.refine()
                    more = True
        return more
