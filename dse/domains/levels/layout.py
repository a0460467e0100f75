"""Mappings as rows of integers, which is how batches of them are priced.

A row has, for each level from the outermost in: the temporal factor of every dim, the spatial factor of
every dim, the order of the temporal loops (places of dims, the outermost loop first), and for every tensor
whether the level keeps it (1) or not (0). Where tiles need not divide, behind all levels, it has how much the
temporal loops of a level leave of every dim, and what its spatial ones leave of that, level by level.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dse.domains.levels.mapping import HierarchyMapping, LevelMapping, Loop
from dse.domains.levels.tiles import counts_of, tiles_of
from dse.support.arrays import BoolArray
from dse.support.errors import InputError

RowArray = NDArray[np.int32]
"""Rows of a `Layout`. Half the width of other integers: reading them is a third of the time otherwise."""

LARGEST_FACTOR = 2**31 - 1


@dataclass(frozen=True)
class Layout:
    """Where what is in a row, for a workload's dims and tensors and a number of levels.

    The `sizes` of dims are told where tiles need not divide: rows then have their lengths.
    """

    dims: tuple[str, ...]
    tensors: tuple[str, ...]
    levels: int
    sizes: tuple[int, ...] = ()

    @property
    def width(self) -> int:
        """Columns of one level."""
        return 3 * len(self.dims) + len(self.tensors)

    @property
    def columns(self) -> int:
        """Columns of a row."""
        return self.levels * (self.width + 2 * len(self.sizes))

    @cached_property
    def even(self) -> Layout:
        """The layout of the same mappings without lengths: their columns come first here."""
        return replace(self, sizes=())

    def lengths(self, rows: RowArray) -> RowArray:
        """How long tiles are, in rows (n, columns): (n, 2 * levels, dims)."""
        return rows[:, self.levels * self.width :].reshape(len(rows), 2 * self.levels, len(self.sizes))

    def are_ragged(self, rows: RowArray) -> BoolArray:
        """Whether tiles of rows (n, columns) with lengths do not divide, or are no tiles of such loops."""
        levels = rows[:, : self.levels * self.width].reshape(len(rows), self.levels, self.width)
        dims, lengths = len(self.dims), self.lengths(rows).astype(np.int64)
        counts = levels[:, :, : 2 * dims].reshape(lengths.shape)
        above = np.empty_like(lengths)
        above[:, 0], above[:, 1:] = self.sizes, lengths[:, :-1]
        ragged: BoolArray = (counts * lengths != above).any(axis=(1, 2)) | (lengths[:, -1] != 1).any(axis=1)
        return ragged

    def temporal(self, level: int) -> slice:
        """The columns of a level's temporal factors, in the order of `dims`."""
        return self._part(level, 0)

    def spatial(self, level: int) -> slice:
        """The columns of a level's spatial factors, in the order of `dims`."""
        return self._part(level, 1)

    def order(self, level: int) -> slice:
        """The columns of the order of a level's temporal loops."""
        return self._part(level, 2)

    def keep(self, level: int) -> slice:
        """The columns that say which tensors a level keeps, in the order of `tensors`."""
        start = level * self.width + 3 * len(self.dims)
        return slice(start, start + len(self.tensors))

    def _part(self, level: int, part: int) -> slice:
        start = level * self.width + part * len(self.dims)
        return slice(start, start + len(self.dims))

    def encode(self, mappings: Sequence[HierarchyMapping]) -> RowArray:
        """The rows (n, columns) of n mappings; InputError where a dim is twice in one list of loops.

        A factor that fits no dim is written as 0.
        """
        rows = [self._row(mapping) for mapping in mappings]
        return np.array(rows, dtype=np.int32).reshape(len(rows), self.columns)

    def _row(self, mapping: HierarchyMapping) -> list[int]:
        if len(mapping.levels) != self.levels:
            raise InputError(f"the mapping has {len(mapping.levels)} levels, the machine {self.levels}")
        row = [value for level in mapping.levels for value in self._level(level)]
        if not self.sizes:
            if mapping.is_ragged:
                raise InputError(
                    "the mapping says how long tiles are, as in K3:34, and tiles have to divide here: leave "
                    "lengths out, or say --tiles any"
                )
            return row
        lengths = [tiles_of(mapping, dim, size) for dim, size in zip(self.dims, self.sizes, strict=True)]
        return row + [
            length if 0 < length <= LARGEST_FACTOR else 0
            for slot in zip(*lengths, strict=True)
            for length in slot
        ]

    def _level(self, level: LevelMapping) -> list[int]:
        temporal, spatial = _factors(level.temporal), _factors(level.spatial)
        if len(temporal) < len(level.temporal) or len(spatial) < len(level.spatial):
            raise InputError("a level has two loops of one kind over the same dim")
        idle = [dim for dim in self.dims if dim not in temporal]
        return [
            *(temporal.get(dim, 1) for dim in self.dims),
            *(spatial.get(dim, 1) for dim in self.dims),
            *(self.dims.index(dim) for dim in (*temporal, *idle)),
            *(int(name in level.keep) for name in self.tensors),
        ]

    def decode(self, row: RowArray) -> HierarchyMapping:
        """The mapping that a row stands for; loops that run once are left out.

        Lengths are told of tiles that do not divide, or that are not what the loops inside go through.
        """
        mapping = HierarchyMapping(tuple(self._decode_level(row, level) for level in range(self.levels)))
        if not self.sizes or not self.are_ragged(row[np.newaxis])[0]:
            return mapping
        tiles: list[tuple[list[Loop], list[Loop]]] = [([], []) for _ in mapping.levels]
        lengths = self.lengths(row[np.newaxis])[0].T.tolist()
        for dim, size, found in zip(self.dims, self.sizes, lengths, strict=True):
            counts, inside = counts_of(mapping, dim), 1
            for slot in reversed(range(len(found))):
                above = found[slot - 1] if slot else size
                if counts[slot] != 1:
                    if found[slot] != inside or counts[slot] * found[slot] != above:
                        tiles[slot // 2][slot % 2].append((dim, found[slot]))
                    inside = counts[slot] * found[slot]
        levels = [
            replace(level, temporal_tiles=tuple(temporal), spatial_tiles=tuple(spatial))
            for level, (temporal, spatial) in zip(mapping.levels, tiles, strict=True)
        ]
        return HierarchyMapping(tuple(levels))

    def _decode_level(self, row: RowArray, level: int) -> LevelMapping:
        temporal, spatial = row[self.temporal(level)].tolist(), row[self.spatial(level)].tolist()
        kept = row[self.keep(level)].tolist()
        return LevelMapping(
            tuple(name for name, keeps in zip(self.tensors, kept, strict=True) if keeps),
            tuple(
                (self.dims[place], temporal[place])
                for place in row[self.order(level)].tolist()
                if temporal[place] != 1
            ),
            tuple((dim, n) for dim, n in zip(self.dims, spatial, strict=True) if n != 1),
        )


def _factors(loops: Sequence[Loop]) -> dict[str, int]:
    return {dim: n if 0 < n <= LARGEST_FACTOR else 0 for dim, n in loops}
