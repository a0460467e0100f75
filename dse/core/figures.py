"""Figures: what n points cost, as named columns that batches, records, journals and results share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cache
from operator import attrgetter
from types import MappingProxyType
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from dse.support.arrays import BoolArray, CodeArray, FloatArray, IntArray

Column = NDArray[Any]
Types = MappingProxyType[str, type[np.generic]]

BUFFERS = ("l1_size", "l2_size")
"""The figures that are elements needed of a buffer, the innermost first."""

_TYPES: dict[object, type[np.generic]] = {
    "IntArray": np.int64,
    "FloatArray": np.float64,
    "BoolArray": np.bool_,
    "CodeArray": np.uint8,
}


@dataclass(frozen=True)
class Figures:
    """What n points cost: arrays of length n.

    `cycles` and `macs` are counts (int64), `energy_nj` is in nanojoule (float64), `l1_size` and `l2_size` are
    the elements (int64) that the mapping needs of one PE's L1 and of L2. `power` and `area` (float64) are in
    the cost model's own units, and 0 where it models none. Where a model refuses a point, its figures are 0.
    """

    cycles: IntArray
    energy_nj: FloatArray
    power: FloatArray
    area: FloatArray
    l1_size: IntArray
    l2_size: IntArray
    macs: IntArray

    def __len__(self) -> int:
        return len(self.cycles)

    @classmethod
    def types(cls) -> Types:
        """The columns' names and types, in order, with those that a subclass adds."""
        struct: Any = cls
        return _column_types(struct)

    @classmethod
    def of(cls, columns: Mapping[str, Any]) -> Self:
        """The points whose columns, all of them, are these arrays."""
        return cls(**columns)

    @classmethod
    def zeros(cls, count: int) -> Self:
        """`count` points whose every column is 0."""
        return cls.of({name: np.zeros(count, dtype) for name, dtype in cls.types().items()})

    def columns(self) -> dict[str, Column]:
        """The arrays by name, in order; none is copied."""
        return {name: getattr(self, name) for name in self.types()}

    def figures(self) -> dict[str, Column]:
        """The columns that every subclass has, by name; none is copied."""
        return dict(zip(Figures.types(), self.values(), strict=True))

    def values(self) -> tuple[Column, ...]:
        """The columns of `figures` alone, in order: a single point is priced thousands of times a second."""
        values: tuple[Column, ...] = _figure_values(self)
        return values

    def take(self, rows: slice | IntArray | BoolArray) -> Self:
        """Those of some points: by a slice, indices or a mask."""
        return replace(self, **{name: column[rows] for name, column in self.columns().items()})

    def joined(self, *others: Self) -> Self:
        """These points and then the other ones."""
        parts = [self.columns(), *(other.columns() for other in others)]
        return replace(self, **{name: np.concatenate([part[name] for part in parts]) for name in parts[0]})

    @property
    def needs(self) -> IntArray:
        """Elements needed of each buffer, innermost first: (n, buffers)."""
        return np.stack([getattr(self, name) for name in BUFFERS], axis=1)


_figure_values = attrgetter(*(item.name for item in fields(Figures)))


@dataclass(frozen=True)
class CostBatch(Figures):
    """The costs of n mappings, which is what a cost model returns: arrays of length n, row by row.

    `valid` (bool) says whether the model prices the mapping, `reason` (uint8) why not: a code of
    `dse.core.reasons.Reason`, 0 where it is valid. A row that is not valid has the figures 0; one that is has
    `cycles`, `energy_nj` and `macs` above 0, finite all of them. `CostBatch.zeros(n)` is n rows that are not
    valid, to be filled in:

        costs = CostBatch.zeros(len(mappings))
        costs.cycles[:], costs.energy_nj[:], costs.macs[:] = cycles, energy, layer.macs
        costs.l1_size[:], costs.l2_size[:] = l1, l2
        costs.valid[:], costs.reason[:] = fits, np.where(fits, 0, Reason.REFUSED)

    What is valid is still judged: buffers that are too small, dropped work and cycles below what the machine
    can do make a mapping infeasible (see Reason). A buffer of 0 elements fits everywhere: a model that does
    not count buffers leaves that rule out. In a CostBatch that a function returns
    (`dse.models.outside.python`) buffers and MACs of 0 are filled in, as all that it does
    not say.
    """

    valid: BoolArray
    reason: CodeArray


class CostColumns(NamedTuple):
    """The columns of a CostBatch, in their order, as kernels take them."""

    cycles: IntArray
    energy_nj: FloatArray
    power: FloatArray
    area: FloatArray
    l1_size: IntArray
    l2_size: IntArray
    macs: IntArray
    valid: BoolArray
    reason: CodeArray


@cache
def _column_types(struct: type[Any]) -> Types:
    return MappingProxyType({item.name: _TYPES[item.type] for item in fields(struct) if item.type in _TYPES})
