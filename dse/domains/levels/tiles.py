"""Tiles that need not divide: how long what loops leave of a dim is, from the whole dim down to one index.

A loop that leaves tiles of `t` of a length runs over it in steps of `t`; what is left for the last step may
be shorter, and is what the loops inside go through then: `min(tile, rest)`.
"""

from __future__ import annotations

from math import prod

from dse.domains.levels.mapping import HierarchyMapping
from dse.domains.levels.workload import Workload

SPATIAL_SLOT = 1
"""A level's temporal loops are slot 2 * its place, its spatial ones one more."""


def lengths_of(mapping: HierarchyMapping, dim: str, size: int) -> list[int]:
    """What the loops of each level leave of a dim, those of its temporal loop before its spatial one.

    Where a loop does not say it, its tiles are what the loops inside of it go through.
    """
    tiles, inside, slots = {}, 1, counts_of(mapping, dim)
    said = [
        dict(kind).get(dim)
        for level in mapping.levels
        for kind in (level.temporal_tiles, level.spatial_tiles)
    ]
    for slot in reversed(range(len(slots))):
        if slots[slot] != 1:
            length = said[slot]
            tiles[slot] = inside if length is None else length
            inside = slots[slot] * tiles[slot]
    found, length = [], size
    for slot in range(len(slots)):
        length = tiles.get(slot, length)
        found.append(length)
    return found


def counts_of(mapping: HierarchyMapping, dim: str) -> list[int]:
    """How often the loops over a dim run, slot by slot."""
    return [dict(kind).get(dim, 1) for level in mapping.levels for kind in (level.temporal, level.spatial)]


def tiles_of(mapping: HierarchyMapping, dim: str, size: int) -> list[int]:
    """`lengths_of` a dim, or zeros where a mapping that says none has factors that do not multiply to it."""
    lengths = lengths_of(mapping, dim, size)
    if mapping.is_ragged or prod(counts_of(mapping, dim)) == size:
        return lengths
    return [0] * len(lengths)


def is_chain(mapping: HierarchyMapping, dim: str, size: int) -> bool:
    """Whether the loops over a dim leave tiles of one index at the end, and run as often as these need."""
    for count, length in zip(counts_of(mapping, dim), tiles_of(mapping, dim, size), strict=True):
        if not 1 <= length <= size or count != -(-size // length):
            return False
        size = length
    return size == 1


def has_ragged_tiles(workload: Workload, mapping: HierarchyMapping) -> bool:
    """Whether some tile of a mapping does not divide what it is a tile of."""
    if not mapping.is_ragged:
        return False
    for dim, size in workload.dims:
        for count, length in zip(counts_of(mapping, dim), lengths_of(mapping, dim, size), strict=True):
            if count * length != size:
                return True
            size = length
    return False


def boxes_of(workload: Workload, mapping: HierarchyMapping) -> list[dict[str, int]]:
    """How long each level's tiles are along every dim, and those of its temporal loops; one index at last."""
    lengths = {dim: [size, *lengths_of(mapping, dim, size)] for dim, size in workload.dims}
    slots = range(2 * len(mapping.levels) + 1)
    return [{dim: found[slot] for dim, found in lengths.items()} for slot in slots]
