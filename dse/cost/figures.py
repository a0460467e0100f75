"""Figures: what n points cost, as named columns that batches, records, journals and results share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cache
from operator import attrgetter
from types import MappingProxyType
from typing import Any, Self

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

    `cycles` and `macs` are counts, `energy_nj` is in nanojoule, `l1_size` and `l2_size` are the buffers
    that the mapping needs, in elements. `power` and `area` are in the cost model's own units. Where a model
    refuses a point, its figures are 0.
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
    """The costs of n mappings: arrays of length n.

    Where `valid` is false, the model refuses the mapping: `reason` holds a `dse.spec.reasons.Reason` code and
    the figures are 0.
    """

    valid: BoolArray
    reason: CodeArray


@cache
def _column_types(struct: type[Any]) -> Types:
    return MappingProxyType({item.name: _TYPES[item.type] for item in fields(struct) if item.type in _TYPES})
