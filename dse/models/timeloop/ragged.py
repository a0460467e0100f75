"""The counts of nests with tiles that do not divide, in plain Python.

Along a dim, the loops down to a tile leave a number of pieces of each length: whole tiles and, at the end of
each, a shorter rest. Tensors' words are sums over pieces, axis by axis. The first instance always has the
longest of them, so that it is the one at work longest; what all instances move makes the energy.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import product

from dse.domains.levels.checks import SINGLE
from dse.domains.levels.machine import RETURNED, Machine
from dse.domains.levels.mapping import HierarchyMapping
from dse.domains.levels.tiles import SPATIAL_SLOT, lengths_of
from dse.domains.levels.workload import Axis, Tensor, Workload

Words = tuple[int, int, int]
"""Reads, fills and updates."""


@dataclass
class RaggedNest:
    """A mapping's loops, and what they leave of every dim."""

    workload: Workload
    machine: Machine
    mapping: HierarchyMapping
    lengths: dict[str, list[int]] = field(init=False)

    def __post_init__(self) -> None:
        self.lengths = {dim: lengths_of(self.mapping, dim, size) for dim, size in self.workload.dims}

    def outside(self, place: int) -> list[tuple[int, str]]:
        """The temporal loops outside a level's tiles, from the innermost to the outermost: level and dim."""
        return [
            (at, dim)
            for at in reversed(range(place))
            for dim, n in reversed(self.mapping.levels[at].temporal)
            if n > 1
        ]

    def counts(self, tensor: Tensor, place: int) -> tuple[Words, Words]:
        """What `tensor` does at a level that keeps it: in the first instance, and in all."""
        keeping = [at for at, level in enumerate(self.mapping.levels) if tensor.name in level.keep]
        child = next((at for at in keeping if at > place), len(self.mapping.levels))
        own, found = self._own_words(tensor, place) if tensor.output else (0, 0), []
        for number, every in enumerate((False, True)):
            served = self._served(tensor, place, child, all_instances=every)
            fills = 0 if place == keeping[0] else self._received(tensor, place, place, all_instances=every)
            share = 0 if self.machine.first_fill == RETURNED else own[number]
            if self.machine.first_fill == "elided" and place != keeping[0]:
                fills -= share
            found.append((served - share, fills, served) if tensor.output else (served, fills, 0))
        return found[0], found[1]

    def waited(self, tensor: Tensor, place: int) -> Words | None:
        """Words of a tensor for which all else waits: that come to the first instance of a level, that the
        next one outside reads for all that it serves, and that it gets back. None where nothing waits.
        """
        outside = [at for at, level in enumerate(self.mapping.levels[:place]) if tensor.name in level.keep]
        single = self.machine.levels[place].buffering == SINGLE
        if not outside or not (single or self.machine.fill_and_drain):
            return None
        fresh = tensor.output and self.machine.first_fill != RETURNED
        found = []
        for at in (place, outside[-1]):
            # At the first step, of tiles that are there once; of an output along the dims that it has.
            free = {dim: place * (single and any(tensor.coefficients(dim))) for dim in self.workload.names}
            first = self._pieces(tensor, at, place, free, all_instances=False)
            every = self._received(tensor, at, place, all_instances=False) if single else first
            found.append((every - first * fresh, every))
        return found[0][0], found[1][0], found[1][1] * tensor.output

    @property
    def steps(self) -> int:
        """Of the first MAC, and no other has more."""
        last = len(self.mapping.levels)
        return self._pieces(None, last, last, all_instances=False)

    def used(self, place: int) -> int:
        """The instances at work at a level, or of the MACs."""
        return self._pieces(None, place, place, free=dict.fromkeys(self.workload.names, 0))

    def _served(self, tensor: Tensor, place: int, child: int, *, all_instances: bool) -> int:
        """Words that a level is asked for by the next one inside that keeps the tensor, or by the MACs."""
        if child == len(self.mapping.levels):
            return self._pieces(tensor, place, child, all_instances=all_instances)
        return self._received(tensor, place, child, all_instances=all_instances)

    def _own_words(self, tensor: Tensor, place: int) -> tuple[int, int]:
        """Words of an output that the first instance works on, and that all do, each by itself."""
        outputs = [dim for dim in self.workload.names if any(tensor.coefficients(dim))]
        apart = {dim: 0 for dim in self.workload.names if dim not in outputs}
        first = math.prod(
            sum(length * many for (length,), many in self._along((dim,), place, place, None, False).items())
            for dim in outputs
        )
        everywhere = math.prod(self.workload.sizes[dim] for dim in outputs)
        for dim in apart:
            everywhere *= sum(self._along((dim,), place, place, None, True, apart).values())
        return first, everywhere

    def _received(self, tensor: Tensor, place: int, child: int, *, all_instances: bool) -> int:
        """Words of the tiles of `child`, as the instances of `place` are asked for them.

        Loops next to the tile that leave the tensor in place bring nothing. Along the innermost loop, if it
        moves the tensor, only new words come; at any other step all words of the tile that is next.
        """

        def words(state: dict[str, int], along: str | None = None) -> int:
            return self._pieces(tensor, place, child, state, all_instances=all_instances, along=along)

        state, loops = dict.fromkeys(self.workload.names, child), self.outside(child)
        if loops and any(tensor.coefficients(loops[0][1])):
            at, dim = loops[0]
            stepped = state | {dim: at}
            return words(state, dim) - words(stepped, dim) + words(stepped)
        for at, dim in loops:
            if any(tensor.coefficients(dim)):
                break
            state[dim] = at
        return words(state)

    def _pieces(
        self,
        tensor: Tensor | None,
        place: int,
        child: int,
        free: dict[str, int] | None = None,
        *,
        all_instances: bool = True,
        along: str | None = None,
    ) -> int:
        """Words of a tensor in all pieces that `child` gets; without a tensor, and at the MACs, the pieces.

        Of each dim the temporal loops of so many outer levels are `free`, the others at their first step.
        With `along`, only the words that a step along that dim brings.
        """
        axes = tensor.axes if tensor else ()
        total, last = 1, len(self.mapping.levels)
        for axis in axes:
            dims = tuple(dim for dim, _ in axis)
            found = self._along(dims, place, child, tensor, all_instances, free, axis)
            total *= sum(
                many * (1 if child == last else _extent(axis, lengths, along))
                for lengths, many in found.items()
            )
        moving = {dim for axis in axes for dim, _ in axis}
        for dim in self.workload.names:
            if dim not in moving:
                total *= sum(self._along((dim,), place, child, tensor, all_instances, free).values())
        return total

    def _along(
        self,
        dims: tuple[str, ...],
        place: int,
        child: int,
        tensor: Tensor | None,
        all_instances: bool,
        free: dict[str, int] | None = None,
        axis: Axis | None = None,
    ) -> Counter[tuple[int, ...]]:
        """How many pieces of which lengths along dims, of one axis, there are at a level."""
        found = Counter({tuple(self.workload.sizes[dim] for dim in dims): 1})
        for slot in range(2 * child):
            level = slot // 2
            spread, asked = slot % 2 == SPATIAL_SLOT, level >= place
            machine = self.machine.levels[level]
            shared = tensor is not None and (machine.reduction if tensor.output else machine.multicast)

            def every(dim: str, level: int = level, spread: bool = spread, shared: bool = shared) -> bool:
                if not spread:
                    return free is None or level < free[dim]
                return (axis is not None or not shared) if level >= place else all_instances

            alike = spread and asked and shared
            count = _alike(axis, [self.lengths[dim][slot] for dim in dims]) if alike else None
            tiles = [(self.lengths[dim][slot], every(dim)) for dim in dims]
            found = _divided(found, tiles, count)
        return found


def _extent(axis: Axis, lengths: tuple[int, ...], along: str | None) -> int:
    """Words of an axis that a piece touches, or those that are new after a step along a dim of it."""
    extent = 1 + sum(factor * (length - 1) for (_, factor), length in zip(axis, lengths, strict=True))
    for (dim, factor), length in zip(axis, lengths, strict=True):
        if dim == along:
            return min(extent, factor * length)
    return extent


def _alike(axis: Axis | None, tiles: list[int]) -> Callable[[list[int]], int] | None:
    """How many places whole tiles are at, of so many along each dim: children there need the same data."""
    if axis is None or len(axis) < 2:
        return None
    steps = [factor * tile for (_, factor), tile in zip(axis, tiles, strict=True)]

    def different(counts: list[int]) -> int:
        places = product(*(range(0, n * step, step) for n, step in zip(counts, steps, strict=True)))
        return len({sum(place) for place in places})

    return different


def _divided(
    found: Counter[tuple[int, ...]],
    tiles: list[tuple[int, bool]],
    different: Callable[[list[int]], int] | None,
) -> Counter[tuple[int, ...]]:
    """The pieces of pieces: every one, or the first of each, along each dim."""
    parts: Counter[tuple[int, ...]] = Counter()
    for lengths, many in found.items():
        each = [_cut(length, *tile) for length, tile in zip(lengths, tiles, strict=True)]
        for chosen in product(*each):
            numbers = [number for _, number in chosen]
            here = math.prod(numbers) if different is None else different(numbers)
            parts[tuple(length for length, _ in chosen)] += many * here
    return parts


def _cut(length: int, tile: int, every: bool) -> list[tuple[int, int]]:
    """The lengths of the pieces, and how many there are of each."""
    if not every:
        return [(min(length, tile), 1)]
    cut = [(tile, length // tile), (length % tile, 1)]
    return [(piece, many) for piece, many in cut if piece and many]
