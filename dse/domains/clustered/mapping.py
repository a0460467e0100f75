"""A mapping of a layer onto an accelerator: two levels of tiles, loop orders and parallel dimensions."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, SupportsIndex, overload

import numpy as np
from numpy.typing import NDArray

from dse.core.hardware import FIGURE_PREFIX
from dse.core.layer import DIMS, PRODUCT_DIMS, Layer
from dse.domains.clustered.accelerator import MACHINE_FIGURES, Accelerator, figure_column
from dse.support import strict_json
from dse.support.arrays import IntArray
from dse.support.errors import InputError, shorten, unknown_name
from dse.support.validation import check_keys, check_table, whole_number

INT64 = np.iinfo(np.int64)


class _Sizes(NamedTuple):
    K: int
    C: int
    Y: int
    X: int
    R: int
    S: int


class Tile(_Sizes):
    """The sizes of a tile in the order K, C, Y, X, R, S: a tuple whose parts have names too.

    `tile["K"]`, `tile.K` and `tile[0]` are the same number. K and C are output and input channels, Y and X
    rows and columns of the output (not of the input), R and S rows and columns of the filter.
    """

    __slots__ = ()

    @overload
    def __getitem__(self, dim: str | SupportsIndex) -> int: ...
    @overload
    def __getitem__(self, dim: slice) -> tuple[int, ...]: ...
    def __getitem__(self, dim: str | SupportsIndex | slice) -> int | tuple[int, ...]:
        """The size of a dim by its name or its place."""
        if isinstance(dim, str):
            if dim not in DIMS:
                raise KeyError(f"a tile has the dims {' '.join(DIMS)}, got {dim!r}")
            return super().__getitem__(DIMS.index(dim))
        return super().__getitem__(dim)


@dataclass(frozen=True)
class Level:
    """One level of a mapping: its `parallel` dim, its loop `order` (outermost first) and its `tile` sizes.

    `parallel` is one of K C Y X R S and `order` a permutation of them. `tile` is a Tile: by name, as in
    `level.tile["K"]`, or in the order K, C, Y, X, R, S; Y and X count outputs. `level["K"]` is the same.
    """

    parallel: str
    order: tuple[str, ...]
    tile: Tile

    def __init__(self, parallel: str, order: Sequence[str], tile: Iterable[int]) -> None:
        """`tile` has six sizes, in the order K, C, Y, X, R, S; InputError for fewer or more."""
        sizes = tuple(tile)
        if len(sizes) != len(DIMS):
            raise InputError(f"a level's tile has a size for each of {' '.join(DIMS)}, got {shorten(sizes)}")
        for name, value in (("parallel", parallel), ("order", tuple(order)), ("tile", Tile(*sizes))):
            object.__setattr__(self, name, value)

    @classmethod
    def from_dict(cls, data: object, where: str) -> Level:
        """The level that parsed JSON describes. Any 64-bit tile is taken: pricing says what is valid."""
        entry = check_table(data, where)
        check_keys(entry, where, required=("parallel", "order", "tile"))
        if entry["parallel"] not in DIMS:
            raise unknown_name("dim", entry["parallel"], DIMS, f"{where}.parallel")
        order = entry["order"]
        if not isinstance(order, list | tuple) or not all(isinstance(dim, str) for dim in order):
            raise InputError(f"{where}.order must be a list of dims, got {shorten(order)}")
        if sorted(order) != sorted(DIMS):
            raise InputError(f"{where}.order must hold each of {' '.join(DIMS)} once, got {shorten(order)}")
        tiles = check_table(entry["tile"], f"{where}.tile")
        check_keys(tiles, f"{where}.tile", required=DIMS)
        sizes = (whole_number(tiles[dim], f"{where}.tile.{dim}", least=INT64.min) for dim in DIMS)
        return cls(entry["parallel"], tuple(order), tuple(sizes))

    def to_dict(self) -> dict[str, Any]:
        """The level as plain data."""
        tile = dict(zip(DIMS, self.tile, strict=True))
        return {"parallel": self.parallel, "order": list(self.order), "tile": tile}

    def __getitem__(self, dim: str) -> int:
        """The tile size of `dim`."""
        return self.tile[dim]


@dataclass(frozen=True)
class Mapping:
    """The outer level spreads tiles over clusters of `cluster_size` PEs, the inner one over their PEs.

    `mapping.outer` and `mapping.inner` are Levels: `mapping.inner.tile["K"]` is how many output channels a PE
    works on in a step, `mapping.outer.parallel` the dim that the clusters share out among them, and
    `mapping.outer.order[0]` the outermost loop. An inner tile is cut from the outer one.
    """

    outer: Level
    cluster_size: int
    inner: Level

    @classmethod
    def from_dict(cls, data: object, where: str = "mapping") -> Mapping:
        """The mapping that parsed JSON describes; `where` names the place in messages."""
        entry = check_table(data, where)
        if "levels" in entry:
            raise InputError(f"{where} is one of a machine of levels (--cost-model timeloop)")
        check_keys(entry, where, required=("outer", "cluster_size", "inner"))
        return cls(
            Level.from_dict(entry["outer"], f"{where}.outer"),
            whole_number(entry["cluster_size"], f"{where}.cluster_size", least=INT64.min),
            Level.from_dict(entry["inner"], f"{where}.inner"),
        )

    def to_dict(self) -> dict[str, Any]:
        """The mapping as plain data: `outer`, `cluster_size`, `inner`."""
        return {
            "outer": self.outer.to_dict(),
            "cluster_size": self.cluster_size,
            "inner": self.inner.to_dict(),
        }

    def check_ranges(self, layer: Layer, accelerator: Accelerator, where: str = "mapping") -> None:
        """InputError unless each tile is from 1 to its loop's trips and the cluster from 1 to the PE count.

        A depthwise layer has no loop over K: nothing is asked of its tile there.
        """
        trips = {dim: n for dim, n in layer.loops.items() if not (layer.type == "DSCONV" and dim == "K")}
        called = PRODUCT_DIMS if layer.product else {}
        sizes = [
            (f"{name}.tile.{dim}", level[dim], most, f"what the layer has of {called.get(dim, dim)}")
            for name, level in (("outer", self.outer), ("inner", self.inner))
            for dim, most in trips.items()
        ]
        sizes.append(("cluster_size", self.cluster_size, accelerator.num_pes, "the accelerator's PEs"))
        for field, size, most, meaning in sizes:
            if not 1 <= size <= most:
                raise InputError(
                    f"{where}: {field} must be from 1 to {most} ({meaning}), got {shorten(size)}"
                )

    @classmethod
    def from_json(cls, text: str, where: str = "mapping") -> Mapping:
        """The mapping in a JSON text."""
        return cls.from_dict(strict_json.parse_json(text, where), where)

    def to_json(self, indent: int | None = None) -> str:
        """The mapping as a JSON text."""
        return json.dumps(self.to_dict(), indent=indent)


# Columns of a MappingBatch row. Dims are coded by their position in DIMS.
OUTER_PARALLEL, OUTER_ORDER, OUTER_TILE = 0, 1, 7
CLUSTER = 13
INNER_PARALLEL, INNER_ORDER, INNER_TILE = 14, 15, 21
COLUMNS = 27


@dataclass(frozen=True)
class MappingBatch:
    """Many mappings as one integer array of shape (n, 27).

    Columns: the outer parallel dim, the outer order's six dims, the outer tiles of K C Y X R S, the
    cluster size, and the inner parallel dim, order and tiles likewise. Dims are positions in DIMS.
    `machines` (n, figures) are the MACHINE_FIGURES of the machine that each is for, None where that is the
    same for all and known otherwise. `whole` are the dims that come last in every order.
    """

    rows: IntArray
    machines: IntArray | None = None
    whole: tuple[str, ...] = ("R", "S")

    def __post_init__(self) -> None:
        if self.machines is not None and self.machines.shape != (len(self.rows), len(MACHINE_FIGURES)):
            raise ValueError(
                f"machines are an array of shape ({len(self.rows)}, {len(MACHINE_FIGURES)}), "
                f"got {self.machines.shape}"
            )
        if self.rows.ndim != 2 or self.rows.shape[1] != COLUMNS or self.rows.dtype != np.int64:
            raise ValueError(
                f"a batch is an int64 array of shape (n, {COLUMNS}), got {self.rows.dtype} {self.rows.shape}"
            )

    @classmethod
    def of(cls, mappings: Iterable[Mapping]) -> MappingBatch:
        """The batch of some mappings, in their order."""
        rows = [
            [*_level_row(mapping.outer), mapping.cluster_size, *_level_row(mapping.inner)]
            for mapping in mappings
        ]
        return cls(np.array(rows, dtype=np.int64).reshape(len(rows), COLUMNS))

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def designs(self) -> IntArray:
        """Each mapping with its machine, if it has one of its own, as a row of integers."""
        return self.rows if self.machines is None else np.hstack([self.rows, self.machines])

    def named(self) -> dict[str, NDArray[Any]]:
        """The columns by name, each of length n: `outer.order` (KCYX: without the dims that are
        `whole`), `outer.parallel`, `outer.tile.K` to `outer.tile.S`, likewise `inner`, `cluster`, and, if
        there are machines, `hardware.l1_size` and their other figures; `num_pes` has this name too.
        """
        dims = np.array(DIMS)
        found: dict[str, NDArray[Any]] = {"cluster": self.rows[:, CLUSTER]}
        if self.machines is not None:
            for figure in MACHINE_FIGURES:
                found[FIGURE_PREFIX + figure] = figure_column(self.machines, figure)
            found["num_pes"] = found[f"{FIGURE_PREFIX}num_pes"]
        for level, first in (("outer", OUTER_PARALLEL), ("inner", INNER_PARALLEL)):
            orders = dims[self.rows[:, first + OUTER_ORDER : first + OUTER_TILE]]
            found[f"{level}.order"] = np.array(
                ["".join(order).removesuffix("".join(self.whole)) for order in orders]
            )
            found[f"{level}.parallel"] = dims[self.rows[:, first]]
            tiles = self.rows[:, first + OUTER_TILE : first + OUTER_TILE + len(DIMS)]
            found |= {f"{level}.tile.{dim}": tiles[:, place] for place, dim in enumerate(DIMS)}
        return found

    def __getitem__(self, index: int) -> Mapping:
        """The mapping in row `index`."""
        row = [int(value) for value in self.rows[index]]
        return Mapping(_level(row[:CLUSTER]), row[CLUSTER], _level(row[INNER_PARALLEL:]))


LevelColumns = tuple[IntArray | int, IntArray, IntArray | Sequence[int]]
"""Of one level, by row or of all: parallel dims (n,), orders of K C Y X (n, 4), and their tiles (n, 4)."""


def whole_filter_rows(
    layer: Layer, cluster: IntArray | int, outer: LevelColumns, inner: LevelColumns
) -> IntArray:
    """The rows of a MappingBatch with R and S whole, and innermost."""
    rows = np.empty((len(outer[1]), COLUMNS), np.int64)
    rows[:, CLUSTER] = cluster
    for first, (parallel, orders, tiles) in ((OUTER_PARALLEL, outer), (INNER_PARALLEL, inner)):
        order, tile = first + OUTER_ORDER, first + OUTER_TILE
        rows[:, first] = parallel
        rows[:, order : order + 4], rows[:, order + 4 : order + 6] = orders, (4, 5)
        rows[:, tile : tile + 4], rows[:, tile + 4 : tile + 6] = tiles, (layer.R, layer.S)
    return rows


def _level_row(level: Level) -> list[int]:
    return [DIMS.index(level.parallel), *(DIMS.index(dim) for dim in level.order), *level.tile]


def _level(row: Sequence[int]) -> Level:
    order = tuple(DIMS[code] for code in row[OUTER_ORDER:OUTER_TILE])
    return Level(DIMS[row[OUTER_PARALLEL]], order, row[OUTER_TILE:CLUSTER])
