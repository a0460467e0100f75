"""Many mappings onto a machine of any number of levels, as one array."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.domains.levels.layout import Layout, RowArray
from dse.domains.levels.machine import Machine
from dse.domains.levels.mapping import HierarchyMapping


@dataclass(frozen=True)
class HierarchyBatch:
    """Mappings onto `machine` as rows (n, columns) of a `layout`."""

    rows: RowArray
    layout: Layout
    machine: Machine

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> HierarchyMapping:
        """The mapping in row `index`; loops that run once are left out."""
        return self.layout.decode(self.rows[index])

    @property
    def designs(self) -> RowArray:
        """Each mapping as a row of integers."""
        return self.rows

    def named(self) -> dict[str, NDArray[Any]]:
        """The columns by name, each of length n: `DRAM.temporal.K`, `DRAM.spatial.K`, `DRAM.order` (the
        outermost loop first), `DRAM.keep.W` (1 or 0).
        """
        found: dict[str, NDArray[Any]] = {}
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
