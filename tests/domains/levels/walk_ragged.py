"""Walks nests whose tiles need not divide, as `walk` does others: `for` loops of `min(tile, rest)`.

A step of a loop brings nothing where it and all loops inside of it leave a tensor in place; along the
innermost loop it brings what was not there before, at any other all words of the tile. Children share a read
where a fan-out has them at the same place with tiles of the same lengths. For small nests.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from dse.domains.levels.machine import RETURNED, Machine
from dse.domains.levels.mapping import HierarchyMapping
from dse.domains.levels.tiles import lengths_of
from dse.domains.levels.workload import Tensor, Workload

Box = dict[str, tuple[int, int]]
"""Of every dim: where it begins, and how long it is."""
Indices = tuple[int, ...]


@dataclass(frozen=True)
class _Loop:
    level: int
    spatial: bool
    dim: str
    count: int
    tile: int


class RaggedWalk:
    """The loops of a mapping, from the outermost in."""

    def __init__(self, workload: Workload, machine: Machine, mapping: HierarchyMapping) -> None:
        self.workload, self.machine, self.mapping = workload, machine, mapping
        lengths = {dim: lengths_of(mapping, dim, size) for dim, size in workload.dims}
        self.loops = [
            _Loop(at, bool(kind), dim, n, lengths[dim][2 * at + kind])
            for at, level in enumerate(mapping.levels)
            for kind, loops in enumerate((level.temporal, level.spatial))
            for dim, n in loops
            if n > 1
        ]

    def steps(self) -> int:
        """Of the MAC that is at work longest."""
        return max(
            len(self._pieces(at, len(self.mapping.levels))) for at in self._all(0, len(self.mapping.levels))
        )

    def counted(self, tensor: Tensor, place: int) -> list[tuple[int, int, int]]:
        """Reads, fills and updates of each instance at work of a level that keeps a tensor."""
        keeping = [at for at, level in enumerate(self.mapping.levels) if tensor.name in level.keep]
        last = len(self.mapping.levels)
        child, found = next((at for at in keeping if at > place), last), []
        for instance in self._all(0, place):
            visited = self._pieces(instance, place)
            if not visited:
                continue
            served = self._served(tensor, place, child, instance)
            fills = 0 if place == keeping[0] else sum(self._brought(tensor, place, visited).values())
            own = set().union(*(_words(tensor, box) for box in visited.values()))
            first = len(own) if tensor.output and self.machine.first_fill != RETURNED else 0
            if self.machine.first_fill == "elided" and place != keeping[0]:
                fills -= first
            found.append((served - first, fills, served) if tensor.output else (served, fills, 0))
        return found

    def waited(self, tensor: Tensor, outer: int, inner: int, *, single: bool) -> tuple[int, int, int]:
        """Words that come to the first instance of a level, that the next one outside sends to all of its
        own, and that these give back: of all steps, or of the first one. First sums do not come.
        """
        first, found = next(self._all(0, outer)), []
        for children in ([next(self._all(outer, inner))], list(self._all(outer, inner))):
            asked: dict[tuple[Indices, object], tuple[int, int]] = {}
            for more in children:
                seen: set[Indices] = set()
                visited = self._pieces((*first, *more), inner)
                brought = self._brought(tensor, inner, visited)
                for indices, box in visited.items():
                    words = _words(tensor, box)
                    known = words & seen if tensor.output and self.machine.first_fill != RETURNED else words
                    down = min(brought[indices], len(known))
                    seen |= words
                    if single or not any(indices):
                        need = self._need(tensor, outer, inner, (*first, *more), indices)
                        asked[indices, need] = down, brought[indices]
            found.append(tuple(map(sum, zip(*asked.values(), strict=True))))
        (comes, _), (sent, goes) = found
        return comes, sent, goes * tensor.output

    def _all(self, first: int, end: int) -> Iterator[Indices]:
        """The indices of all spatial loops of some levels."""
        yield from product(*(range(one.count) for one in self._spatial(first, end)))

    def _spatial(self, first: int, end: int) -> list[_Loop]:
        return [one for one in self.loops if one.spatial and first <= one.level < end]

    def _pieces(self, spatial: Indices, place: int) -> dict[Indices, Box]:
        """What an instance of a level works on, by the indices of the temporal loops outside of its tile."""
        times = [one for one in self.loops if not one.spatial and one.level < place]
        found = {}
        for indices in product(*(range(one.count) for one in times)):
            box = self._box(spatial, indices, place)
            if box:
                found[indices] = box
        return found

    def _box(self, spatial: Indices, temporal: Indices, place: int, *, inside: int = -1) -> Box | None:
        """The tile at some indices; None if nothing is left for it. Only loops `inside` a level move it."""
        box = {dim: (0, size) for dim, size in self.workload.dims}
        ways = {True: iter(spatial), False: iter(temporal)}
        for one in self.loops:
            if one.level < place:
                index, (at, length) = next(ways[one.spatial]), box[one.dim]
                rest = length - index * one.tile
                if rest <= 0:
                    return None
                moved = index * one.tile if inside in (-1, one.level) else 0
                box[one.dim] = at + moved, min(one.tile, rest)
        return box

    def _served(self, tensor: Tensor, place: int, child: int, instance: Indices) -> int:
        asked: dict[tuple[Indices, object], int] = {}
        for more in self._all(place, child):
            spatial = (*instance, *more)
            for indices, words in self._brought(tensor, child, self._pieces(spatial, child)).items():
                asked[indices, self._need(tensor, place, child, spatial, indices)] = words
        return sum(asked.values())

    def _need(self, tensor: Tensor, place: int, child: int, spatial: Indices, temporal: Indices) -> object:
        """What makes a child's data another's, fan-out by fan-out."""
        need: list[object] = []
        for level in range(place, child):
            one, before = self.machine.levels[level], len(self._spatial(0, level))
            if not (one.reduction if tensor.output else one.multicast):
                need.append(spatial[before : len(self._spatial(0, level + 1))])
                continue
            times = sum(not loop.spatial and loop.level <= level for loop in self.loops)
            here = spatial[: len(self._spatial(0, level + 1))]
            still = self._box(here, (0,) * times, level + 1, inside=level)
            box = self._box(here, temporal[:times], level + 1)
            assert box
            assert still
            axes = tuple(sum(factor * still[dim][0] for dim, factor in axis) for axis in tensor.axes)
            need.append((axes, [box[dim][1] for axis in tensor.axes for dim, _ in axis]))
        return repr(need)

    def _brought(self, tensor: Tensor, place: int, visited: dict[Indices, Box]) -> dict[Indices, int]:
        """The words that come at each step; the MACs ask for one."""
        if place == len(self.mapping.levels):
            return dict.fromkeys(visited, 1)
        dims = [one.dim for one in self.loops if not one.spatial and one.level < place]
        moves = [any(tensor.coefficients(dim)) for dim in dims]
        found: dict[Indices, int] = {}
        before: Indices = ()
        for indices, box in visited.items():
            here = _words(tensor, box)
            if before:
                stepping = next(at for at in range(len(dims)) if indices[at] != before[at])
                if not any(moves[stepping:]):
                    here = set()
                elif stepping == len(dims) - 1:
                    here -= _words(tensor, visited[before])
            found[indices], before = len(here), indices
        return found


def _words(tensor: Tensor, box: Box) -> set[Indices]:
    """The words of a tensor that a box touches, the gaps of strides included."""
    ranges = []
    for axis in tensor.axes:
        first = sum(factor * box[dim][0] for dim, factor in axis)
        ranges.append(range(first, first + 1 + sum(factor * (box[dim][1] - 1) for dim, factor in axis)))
    return set(product(*ranges))
