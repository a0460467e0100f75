"""Many mappings onto a machine of any number of levels, as one array; and what its levels hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.core.hardware import FIGURE_PREFIX
from dse.domains.levels.layout import Layout, RowArray
from dse.domains.levels.machine import Machine
from dse.domains.levels.mapping import HierarchyMapping
from dse.domains.levels.space.opened import NOTHING, Opened
from dse.support.arrays import BoolArray, IntArray

UNLIMITED = np.iinfo(np.int64).max
"""Words of a level without a capacity."""


@dataclass(frozen=True)
class HierarchyBatch:
    """Mappings onto `machine` as rows (n, columns) of a `layout`.

    Where figures of the machine are open, `choices` (n, figures) say which of the values of `opened` each
    mapping is for.
    """

    rows: RowArray
    layout: Layout
    machine: Machine
    choices: IntArray | None = None
    opened: Opened = NOTHING

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> HierarchyMapping:
        """The mapping in row `index`; loops that run once are left out."""
        return self.layout.decode(self.rows[index])

    @property
    def designs(self) -> RowArray:
        """Each mapping, with its hardware where that is open, as a row of integers."""
        return self.rows if self.choices is None else np.hstack([self.rows, self.choices.astype(np.int32)])

    def named(self) -> dict[str, NDArray[Any]]:
        """The columns by name, each of length n: `DRAM.temporal.K`, `DRAM.spatial.K`, `DRAM.order` (the
        outermost loop first), `DRAM.keep.W` (1 or 0), and `hardware.levels.Buffer.size` where that is open.
        """
        found: dict[str, NDArray[Any]] = {}
        if self.choices is not None:
            for place, (name, values) in enumerate(self.opened.hardware):
                found[FIGURE_PREFIX + name] = np.array(values)[self.choices[:, place]]
        for place, level in enumerate(self.machine.levels):
            for kind, part in (("temporal", self.layout.temporal), ("spatial", self.layout.spatial)):
                first = part(place).start
                for number, dim in enumerate(self.layout.dims):
                    found[f"{level.name}.{kind}.{dim}"] = self.rows[:, first + number]
            orders = np.array(self.layout.dims)[self.rows[:, self.layout.order(place)]]
            found[f"{level.name}.order"] = np.array(["".join(order) for order in orders])
            first = self.layout.keep(place).start
            for number, tensor in enumerate(self.layout.tensors):
                found[f"{level.name}.keep.{tensor}"] = self.rows[:, first + number]
        return found


@dataclass(frozen=True)
class Limits:
    """Words that levels hold, children that they spread over at most and at least: each (1 or n, levels).

    One row is for all mappings, n rows are for one each.
    """

    words: IntArray
    widest: IntArray
    least: IntArray

    def fit(self, words: IntArray, wide: IntArray) -> BoolArray:
        """Which mappings fit, of the words that they hold and the children that they spread over."""
        fitting: BoolArray = np.logical_and.reduce(
            (words <= self.words) & (wide <= self.widest) & (wide >= self.least), axis=1
        )
        return fitting
