"""Which mappings are the same nest: the same loops around the same storages, wherever they are written.

A nest is read from the outside in, as storages, temporal loops and spatial ones. Loops that run once are no
part of it. Storages with no loop between stand side by side; of levels that store nothing, loops follow those
of the level outside; two loops over a dim that follow each other are one. Inside of the innermost storage no
level sees in which order loops run.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dse.domains.levels.layout import Layout, RowArray
from dse.domains.levels.machine import Machine
from dse.domains.levels.mapping import HierarchyMapping
from dse.support.arrays import BoolArray, IntArray

STORAGE = 0
"""The kind of an event that is storages; those of loops follow, by dim, then spatial ones, by level too."""
MOST_STORAGES = 62
"""Tensors times levels: each storage is a bit."""


class _Events:
    """What nests (n,) are from the outside in: a kind and a value each."""

    def __init__(self, nests: int, most: int) -> None:
        self._kinds, self._values = np.full((nests, most), -1), np.zeros((nests, most), dtype=np.int64)
        self._ends, self._each = np.full(nests, -1), np.arange(nests)

    def add(self, those: BoolArray, kind: ArrayLike, values: ArrayLike) -> None:
        """Add an event to `those`; of the last one's kind it is one with it: more storages, a longer loop."""
        kinds, many = (np.broadcast_to(one, self._ends.shape) for one in (kind, values))
        same = those & (self._kinds[self._each, self._ends] == kinds) & (self._ends >= 0)
        new = those & ~same
        self._ends[new] += 1
        ends = self._ends[new]
        self._kinds[new, ends], self._values[new, ends] = kinds[new], many[new]
        at, more = self._ends[same], many[same]
        before = self._values[same, at]
        self._values[same, at] = np.where(kinds[same] == STORAGE, before | more, before * more)

    def keys(self) -> IntArray:
        """Rows of integers (n, m)."""
        return np.concatenate([self._kinds, self._values], axis=1).astype(np.int64)


def nest_keys(machine: Machine, layout: Layout, rows: RowArray) -> IntArray:
    """What makes nests of mappings (n, columns) whose tiles divide: rows (n, m), equal for the same nests."""
    dims, levels, tensors = len(layout.dims), layout.levels, len(layout.tensors)
    storages = {first: number for number, first in enumerate(dict.fromkeys(machine.storages))}
    keep = [rows[:, layout.keep(place)].astype(np.bool_) for place in range(levels)]
    storing = np.stack([kept.any(axis=1) for kept in keep])
    innermost = levels - 1 - storing[::-1].argmax(axis=0)
    events, each = _Events(len(rows), levels * (tensors + 2 * dims)), np.arange(len(rows))
    unordered = np.ones((len(rows), dims), dtype=np.int64)
    for place in range(levels):
        for tensor in range(tensors):
            bit = 1 << (storages[machine.storages[place]] * tensors + tensor)
            events.add(keep[place][:, tensor], STORAGE, bit)
        temporal = rows[:, layout.temporal(place)].astype(np.int64)
        order, inside = rows[:, layout.order(place)], place >= innermost
        unordered[inside] *= temporal[inside]
        for dim in order.T:
            events.add((temporal[each, dim] > 1) & ~inside, 1 + dim, temporal[each, dim])
        spatial = rows[:, layout.spatial(place)].astype(np.int64)
        _end_unordered(events, unordered, (spatial > 1).any(axis=1) & inside)
        for number, factors in enumerate(spatial.T):
            events.add(factors > 1, 1 + dims * (1 + place) + number, factors)
    _end_unordered(events, unordered, np.ones(len(rows), dtype=np.bool_))
    return events.keys()


def nest_of(machine: Machine, mapping: HierarchyMapping) -> tuple[Hashable, ...]:
    """The nest of a mapping whose tiles divide, in plain Python: equal for the same nests."""
    found: list[Any] = []
    innermost = max(place for place, level in enumerate(mapping.levels) if level.keep)
    for place, level in enumerate(mapping.levels):
        for tensor in level.keep:
            beside = found.pop() if found and isinstance(found[-1], frozenset) else frozenset()
            found.append(beside | {(machine.storages[place], tensor)})
        for dim, count in level.temporal:
            _add_loop(found, dim, count, unordered=place >= innermost)
        spread = sorted((dim, count) for dim, count in level.spatial if count > 1)
        if spread:
            found.append((place, *spread))
    return tuple(tuple(sorted(one.items())) if isinstance(one, dict) else one for one in found)


def _add_loop(found: list[Any], dim: str, count: int, *, unordered: bool) -> None:
    if count == 1:
        return
    last = found[-1] if found else None
    if unordered:
        if not isinstance(last, dict):
            found.append({})
        found[-1][dim] = found[-1].get(dim, 1) * count
    elif isinstance(last, tuple) and last[0] == dim:
        found[-1] = dim, last[1] * count
    else:
        found.append((dim, count))


def _end_unordered(events: _Events, loops: IntArray, those: BoolArray) -> None:
    """Add the loops (n, dims) of `those`, dim by dim, and begin anew."""
    for dim in range(loops.shape[1]):
        events.add(those & (loops[:, dim] > 1), 1 + dim, loops[:, dim])
    loops[those] = 1
