"""Tiles that need not divide: how long what loops leave of a dim is, from the whole dim down to one index.

A loop that leaves tiles of `t` of a length runs over it in steps of `t`; what is left for the last step may
be shorter, and is what the loops inside go through then: `min(tile, rest)`.
"""

from __future__ import annotations

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


def is_chain(counts: list[int], lengths: list[int], size: int) -> bool:
    """Whether loops of these counts leave these lengths of a dim, and one index at the end."""
    for count, length in zip(counts, lengths, strict=True):
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
    """How long each level's tiles are along every dim, and those of its children: 2 * levels of them."""
    lengths = {dim: [size, *lengths_of(mapping, dim, size)] for dim, size in workload.dims}
    return [{dim: slots[slot] for dim, slots in lengths.items()} for slot in range(2 * len(mapping.levels))]
