"""The counts of a nest by walking its loops, one step after the other: closed forms are tested against them.

Whenever a loop outside of a tile takes a step, the loops inside of it go back by one, as Timeloop's rules
have it, and the tile moves by what is left. Where that is as far as the innermost loop moves it, only words
come that were not there before; otherwise all of them. What tiles hold, and what children ask for, are sets
of words, counted one by one. For small nests.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice, product
from math import prod

from dse.domains.levels.machine import RETURNED, Machine
from dse.domains.levels.mapping import HierarchyMapping
from dse.domains.levels.workload import Tensor, Workload

Offset = tuple[int, ...]


@dataclass(frozen=True)
class Walked:
    """Words of one tensor at a place that keeps it, in one instance over the run: see `Counts`."""

    reads: int
    fills: int
    updates: int


def walk_loops(
    workload: Workload, machine: Machine, mapping: HierarchyMapping
) -> dict[str, dict[str, Walked]]:
    """Reads, fills and updates of the first instance of each level, by level and tensor."""
    found: dict[str, dict[str, Walked]] = {}
    for place, level in enumerate(machine.levels):
        for tensor in workload.tensors:
            if tensor.name in mapping.levels[place].keep:
                counts = _counted(workload, machine, mapping, tensor, place)
                found.setdefault(level.name, {})[tensor.name] = counts
    return found


def _counted(
    workload: Workload, machine: Machine, mapping: HierarchyMapping, tensor: Tensor, place: int
) -> Walked:
    keeping = [at for at, level in enumerate(mapping.levels) if tensor.name in level.keep]
    child = next((at for at in keeping if at > place), len(mapping.levels))
    copies = len(list(children_of(workload, machine, mapping, tensor, place, child)))
    served = copies * _received(workload, mapping, tensor, child)
    outermost = place == keeping[0]
    fills = 0 if outermost else _received(workload, mapping, tensor, place)
    if not tensor.output:
        return Walked(served, fills, 0)
    first = 0 if machine.first_fill == RETURNED else len(_own_words(workload, mapping, tensor, place))
    if machine.first_fill == "elided" and not outermost:
        fills -= first
    return Walked(served - first, fills, served)


def _steps(
    workload: Workload, mapping: HierarchyMapping, tensor: Tensor, place: int
) -> tuple[list[int], list[Offset]]:
    """How often temporal loops outside of a place's tiles run, and how far a step of each moves a tensor."""
    loops = [n for level in mapping.levels[:place] for _, n in level.temporal if n > 1]
    widths = _widths(workload, mapping, [(level, "temporal") for level in range(place)])
    return loops, [tuple(one * width for one in tensor.coefficients(dim)) for dim, width in widths]


def _widths(
    workload: Workload, mapping: HierarchyMapping, where: list[tuple[int, str]]
) -> list[tuple[str, int]]:
    """Of each loop that runs more than once in some lists of loops: its dim, and the indices of a step."""
    box, found = dict.fromkeys(workload.names, 1), {}
    for at in reversed(range(len(mapping.levels))):
        for kind in ("spatial", "temporal"):
            for number, (dim, n) in reversed(list(enumerate(getattr(mapping.levels[at], kind)))):
                if n > 1 and (at, kind) in where:
                    found[at, kind, number] = dim, box[dim]
                box[dim] *= n
    return [found[key] for key in sorted(found)]


def _received(workload: Workload, mapping: HierarchyMapping, tensor: Tensor, place: int) -> int:
    """Words that an instance of a place receives; the MACs ask for one in every step."""
    if place == len(mapping.levels):
        return prod(_steps(workload, mapping, tensor, place)[0])
    return sum(fresh for _, fresh in count_arrivals(workload, mapping, tensor, place))


def count_arrivals(
    workload: Workload, mapping: HierarchyMapping, tensor: Tensor, place: int
) -> Iterator[tuple[set[Offset], int]]:
    """The tile of an instance of a place at every step of the loops outside, and how many words come then."""
    loops, moves = _steps(workload, mapping, tensor, place)
    extents = tensor.extents(_box(workload, mapping, place))
    standing, before = _tile((0,) * len(extents), extents), (0,) * len(loops)
    yield standing, len(standing)
    for indices in islice(product(*map(range, loops)), 1, None):
        stepping = next(
            at for at, (here, there) in enumerate(zip(indices, before, strict=True)) if here != there
        )
        # The first loop that takes a step is the innermost.
        back = [(-1, move) for move in moves[stepping + 1 :]]
        moved = _sum(tensor, [(1, moves[stepping]), *back])
        fresh = _tile(moved, extents) - standing if moved == moves[-1] else standing
        at_place = _sum(tensor, list(zip(indices, moves, strict=True)))
        yield _tile(at_place, extents), len(fresh)
        before = indices


def _tile(offset: Offset, extents: list[int]) -> set[Offset]:
    return set(product(*(range(at, at + extent) for at, extent in zip(offset, extents, strict=True))))


def _box(workload: Workload, mapping: HierarchyMapping, place: int) -> Mapping[str, int]:
    box = dict.fromkeys(workload.names, 1)
    for level in mapping.levels[place:]:
        for dim, n in (*level.temporal, *level.spatial):
            box[dim] *= n
    return box


def _sum(tensor: Tensor, moved: list[tuple[int, Offset]]) -> Offset:
    axes = len(tensor.axes)
    return tuple(sum(index * move[axis] for index, move in moved) for axis in range(axes))


def children_of(
    workload: Workload, machine: Machine, mapping: HierarchyMapping, tensor: Tensor, place: int, child: int
) -> Iterator[object]:
    """What the instances of `child` below one of `place` get that differs, fan-out by fan-out."""
    each = []
    for at in range(place, child):
        level = machine.levels[at]
        widths = _widths(workload, mapping, [(at, "spatial")])
        counts = [n for _, n in mapping.levels[at].spatial if n > 1]
        moves = [tuple(one * width for one in tensor.coefficients(dim)) for dim, width in widths]
        children = [
            _sum(tensor, list(zip(indices, moves, strict=True)))
            for indices in product(*(range(n) for n in counts))
        ]
        shares = level.reduction if tensor.output else level.multicast
        each.append(set(children) if shares else list(range(len(children))))
    yield from product(*each)


def _own_words(workload: Workload, mapping: HierarchyMapping, tensor: Tensor, place: int) -> set[Offset]:
    """The words of a tensor that the first instance of a place works on."""
    loops, moves = _steps(workload, mapping, tensor, place)
    extents = tensor.extents(_box(workload, mapping, place))
    found: set[Offset] = set()
    for indices in product(*map(range, loops)):
        found |= _tile(_sum(tensor, list(zip(indices, moves, strict=True))), extents)
    return found
