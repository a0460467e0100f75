"""Limits of a user's own on mappings of two levels: how much of L1 and L2 they use, how many PEs are busy.

`l1_use` and `l2_use` are the words that a mapping needs over those that there are. `pe_use` is the share of
the PEs that is busy in the mean, while any computes: the cycles that the layer's MACs take on all PEs and
lanes at once, over those of the mapping's busiest PE. `dse evaluate` prints all three.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from dse.core.figures import BUFFERS, CostBatch, Figures
from dse.core.layer import Layer
from dse.core.limits import AT_LEAST, AT_MOST, PE_USE, Limit
from dse.domains.clustered.accelerator import Accelerator, figure_column
from dse.domains.clustered.feasibility import FeasibilityRules
from dse.support.arrays import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from dse.domains.clustered.mapping import MappingBatch

L1_USE, L2_USE = "l1_use", "l2_use"
FIGURES = {L1_USE: AT_MOST, L2_USE: AT_MOST, PE_USE: AT_LEAST}
"""The figures that there are, with the sign of each."""
OF_BUFFERS = dict(zip(BUFFERS, (L1_USE, L2_USE), strict=True))
MM2 = {"mm2": 1.0, "um2": 1e-6}
"""Square millimetres in each unit of area that a cost model may have."""
ANY_CYCLES = 2**62
"""Of the busiest PE where nothing is asked for: no mapping has so many."""


@dataclass(frozen=True)
class Use:
    """What limits leave of an accelerator to the mappings of a layer."""

    limits: Mapping[str, Limit]
    layer: Layer
    accelerator: Accelerator

    @property
    def room(self) -> tuple[int, int]:
        """The words of L1 and of L2 that mappings may use; costs are those of the whole buffers."""
        l1, l2 = (self._of(name, getattr(self.accelerator, name)) for name in BUFFERS)
        return l1, l2

    def rooms(self, machines: IntArray) -> IntArray:
        """The same of machines (n, figures), each with its own: (n, 2)."""
        columns = []
        for name in BUFFERS:
            sizes, places = np.unique(figure_column(machines, name), return_inverse=True)
            columns.append(np.array([self._of(name, size) for size in sizes.tolist()], np.int64)[places])
        return np.stack(columns, axis=1)

    @property
    def most_cycles(self) -> int:
        """The most cycles that the busiest PE may compute."""
        return self._cycles_of(self.accelerator.num_pes * self.accelerator.simd_lanes)

    @property
    def most_steps(self) -> int:
        """The most steps, one on a lane, of the busiest PE."""
        return min(self.most_cycles * self.accelerator.simd_lanes, ANY_CYCLES)

    def broken(self, batch: MappingBatch, costs: CostBatch) -> BoolArray:
        """Which of some priced mappings break a limit."""
        machines = batch.machines
        rooms = np.array([self.room]) if machines is None else self.rooms(machines)
        found: BoolArray = (costs.l1_size > rooms[:, 0]) | (costs.l2_size > rooms[:, 1])
        if PE_USE in self.limits:
            found |= self.busiest(batch.rows, machines) > self._most_cycles_on(machines)
        return found

    def busiest(self, rows: IntArray, machines: IntArray | None = None) -> IntArray:
        """The cycles that the busiest PE of each of n mappings computes."""
        return self._rules.serial_floors(rows, machines)

    @cached_property
    def _rules(self) -> FeasibilityRules:
        return FeasibilityRules(self.layer, self.accelerator, "latency")

    def shares(self, mappings: MappingBatch, costs: Figures) -> dict[str, FloatArray]:
        """The shares of the limited figures, on the one accelerator, of mappings that have a price."""
        machine = self.accelerator
        found = {
            use: getattr(costs, name) / getattr(machine, name)
            for name, use in OF_BUFFERS.items()
            if use in self.limits
        }
        if PE_USE in self.limits:
            found[PE_USE] = self._ideal(machine.num_pes * machine.simd_lanes) / self.busiest(mappings.rows)
        return found

    def of(self, problem: Any, mapping: Any) -> dict[str, float]:
        """The shares of the limited figures of a mapping that has a price."""
        from dse.domains.clustered.mapping import MappingBatch

        found = self.shares(MappingBatch.of([mapping]), problem.evaluate(mapping))
        return {figure: float(share[0]) for figure, share in found.items()}

    def why(self, batch: MappingBatch, costs: CostBatch) -> str:
        """Which limit the first mapping breaks, with its figure; nothing if it breaks none."""
        machine, unit = self.accelerator, self.accelerator.unit
        for (name, use), room in zip(OF_BUFFERS.items(), self.room, strict=True):
            need, size = int(getattr(costs, name)[0]), getattr(machine, name)
            if use in self.limits and need > room:
                return (
                    f"{use} is {need / size:.6g}, and the limit is {self.limits[use]}: "
                    f"{name.split('_')[0].upper()} needs {need} of {size} {unit}, of which {room} may be used"
                )
        busiest, most = int(self.busiest(batch.rows)[0]), self.most_cycles
        if PE_USE in self.limits and busiest > most:
            ideal = self._ideal(machine.num_pes * machine.simd_lanes)
            return (
                f"{PE_USE} is {ideal / busiest:.6g}, and the limit is {self.limits[PE_USE]}: the busiest PE "
                f"computes {busiest} cycles, of which {most} are left to it"
            )
        return ""

    def _of(self, buffer: str, size: int) -> int:
        limit = self.limits.get(OF_BUFFERS[buffer])
        return size if limit is None else limit.of(size)

    def _ideal(self, lanes: int) -> int:
        """The cycles of the layer's MACs on so many lanes at once."""
        return -(-self.layer.macs // lanes)

    def _cycles_of(self, lanes: int) -> int:
        limit = self.limits.get(PE_USE)
        return ANY_CYCLES if limit is None else limit.most_cycles(self._ideal(lanes))

    def _most_cycles_on(self, machines: IntArray | None) -> IntArray:
        if machines is None:
            return np.array([self.most_cycles], np.int64)
        lanes = figure_column(machines, "num_pes") * figure_column(machines, "simd_lanes")
        kinds, places = np.unique(lanes, return_inverse=True)
        return np.array([self._cycles_of(kind) for kind in kinds.tolist()], np.int64)[places]
