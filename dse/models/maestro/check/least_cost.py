"""The least loss that mappings of a box can have under `maestro`, from the least figures of its tiles.

Energy is of what the outer level moves, in the words of the specification of MAESTRO (`spread`, `reads`).
Cycles are those of the busiest PE, which no feasible mapping is faster than, of the NoC and of the off-chip
link. What inner levels wait for is left out, so of latencies less is ruled out than of energies.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import SimpleNamespace

import numpy as np

from dse.core.objective import objective_named
from dse.domains.clustered.accelerator import Accelerator
from dse.domains.clustered.check.boxes import ROUNDING
from dse.domains.clustered.check.enumeration import allowed_orders
from dse.domains.clustered.check.limits import most_steps, room_of
from dse.domains.clustered.problem import Problem
from dse.domains.clustered.space.genes import MAPPED_DIMS
from dse.models.maestro.check.reads import C, K, X, Y, least_reads
from dse.models.maestro.check.spread import outer_figures, serial_steps
from dse.support.arrays import BoolArray, FloatArray, IntArray

NJ_A_WORD = 0.00023 * 18.61
"""Of a word read from or written to L2 (section 9.3)."""
COUPLED = {False: ((C, Y, X), (K, C), (K, Y, X)), True: ((C, Y, X), (C,), (C, Y, X))}
"""Dims of inputs, weights and outputs; depthwise or not."""

Columns = Mapping[str, FloatArray]


class LeastCost:
    """Bounds of boxes of mappings of a problem under `maestro`."""

    refines = False

    def __init__(self, problem: Problem) -> None:
        self._machine, self._layer = problem.accelerator, problem.layer.lowered()
        self._room, self._most_steps = room_of(problem), most_steps(problem)
        self._sizes = [problem.space.layer.loops[dim] for dim in MAPPED_DIMS]
        self._halos = [0, 0, self._layer.R - 1, self._layer.S - 1]
        self._taps = self._layer.R * self._layer.S
        self._inputs, self._weights, self._outputs = COUPLED[self._layer.type == "DSCONV"]
        self._objective = objective_named(problem.objective)
        orders = allowed_orders(problem, "outer")
        self._orders = [tuple(MAPPED_DIMS.index(dim) for dim in order) for order in orders]

    def most_inner(self, dim: int) -> int:
        """The largest inner tile of a dim with which others of 1 fit in L1."""
        return self._most(dim, self._room[0], halo_of_outputs=True)

    def most_outer(self, dim: int) -> int:
        """The largest outer tile of a dim with which others of 1 fit in L2."""
        return self._most(dim, self._room[1], halo_of_outputs=False)

    def _most(self, dim: int, room: int, *, halo_of_outputs: bool) -> int:
        tile = np.arange(1, self._sizes[dim] + 1, dtype=np.float64)
        tiles = [tile if place == dim else np.ones_like(tile) for place in range(4)]
        maps = [each + halo for each, halo in zip(tiles, self._halos, strict=True)]
        fits = self._need(maps, maps if halo_of_outputs else tiles) <= room
        return int(fits.sum())

    def columns(self, dim: int, outer: IntArray, inner: IntArray, across: int, within: int) -> Columns:
        """The figures of pairs of tiles (n,) of a dim."""
        size, halo = self._sizes[dim], self._halos[dim]
        found = outer_figures(size, halo, outer, across, of_image=dim in (Y, X))
        found["serial"] = serial_steps(size, outer, inner, across, within)
        found["inner_map"] = inner + halo
        return {name: value.astype(np.float64) for name, value in found.items()}

    def cells(self, dim: int, across: int, within: int) -> None:
        """None: there are figures of pairs only."""

    def losses(self, dims: Sequence[Columns]) -> FloatArray:
        """The least loss of boxes (n,): inf where their smallest tiles do not fit."""
        written = _product(
            [dim["written" if at in self._outputs else "steps"] for at, dim in enumerate(dims)]
        )
        reads = least_reads(dims, self._orders, self._inputs, self._weights, self._taps)
        once = self._layer.C * self._layer.Y * self._layer.X + self._taps * _product(
            [np.float64(self._sizes[at]) for at in self._weights]
        )
        l1, l2 = self._needs(dims)
        area, power = _area_and_power(self._machine, l1, l2)
        energy = NJ_A_WORD * (once + reads + written)
        figures = SimpleNamespace(cycles=self._cycles(dims, reads), energy_nj=energy, area=area, power=power)
        losses = np.asarray(self._objective.value(figures, self._machine.hertz))
        return np.where(self._fits(dims, l1, l2), losses, np.inf)

    def closer(self, dims: Sequence[Columns]) -> FloatArray:
        """The same: there is no other bound."""
        return self.losses(dims)

    def _needs(self, dims: Sequence[Columns]) -> tuple[FloatArray, FloatArray]:
        """Elements of L1 and L2 that boxes need at least."""
        inner = [dim["inner_map"] for dim in dims]
        first, left = [dim["held"] for dim in dims], [dim["left"] for dim in dims]
        return self._need(inner, inner), self._need(first, left)

    def _fits(self, dims: Sequence[Columns], l1: FloatArray, l2: FloatArray) -> BoolArray:
        fits: BoolArray = (l1 <= self._room[0]) & (l2 <= self._room[1])
        if self._most_steps is not None:
            taken = self._taps * _product([dim["serial"] for dim in dims])
            fits &= taken * (1 - ROUNDING) <= self._most_steps
        return fits

    def _need(self, maps: Sequence[FloatArray], outputs: Sequence[FloatArray]) -> FloatArray:
        """Elements of a buffer that holds everything twice (section 8.2)."""
        return 2 * (self._read_first(maps) + _product([outputs[at] for at in self._outputs]))

    def _read_first(self, maps: Sequence[FloatArray]) -> FloatArray:
        weights = _product([maps[at] for at in self._weights])
        return _product([maps[at] for at in self._inputs]) + self._taps * weights

    def _cycles(self, dims: Sequence[Columns], reads: FloatArray) -> FloatArray:
        """The fewest cycles, where one of busiest PE, NoC and off-chip link is never waited for."""
        machine, steps = self._machine, _product([dim["steps"] for dim in dims])
        # A step takes `latency - 1` cycles more than its words. Without latency it takes at least half as
        # many, as it computes for a cycle.
        rate = machine.noc_bandwidth * (1 if machine.noc_latency else 2)
        more = steps * max(machine.noc_latency - 1, 0)
        over_noc = more + reads / rate
        work = np.ceil(self._taps * _product([dim["serial"] for dim in dims]) / machine.simd_lanes)
        first, outputs = [dim["held"] for dim in dims], [dims[at]["left"] for at in self._outputs]
        offchip = np.floor(np.maximum(self._read_first(first), _product(outputs)) / machine.offchip_bandwidth)
        cycles = np.maximum(np.maximum(over_noc * (1 - ROUNDING), work), steps * offchip)
        return np.maximum(np.ceil(cycles), self._on_link(dims, first))

    def _on_link(self, dims: Sequence[Columns], first: Sequence[FloatArray]) -> FloatArray:
        """Cycles of all steps on the off-chip link: whole ones of a step, at least k, are k/(k+1) of all."""
        whole = np.floor(self._read_first(first) / self._machine.offchip_bandwidth)
        every = self._taps * _product(
            [dim["swept" if at in self._weights else "steps"] for at, dim in enumerate(dims)]
        ) + _product([dim["swept" if at in self._inputs else "steps"] for at, dim in enumerate(dims)])
        words: FloatArray = every * whole / (whole + 1) * (1 - ROUNDING)
        return words / self._machine.offchip_bandwidth


def _product(factors: Sequence[FloatArray | np.float64]) -> FloatArray:
    found: FloatArray = np.asarray(factors[0])
    for factor in factors[1:]:
        found = found * factor
    return found


def _area_and_power(machine: Accelerator, l1: FloatArray, l2: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The area and the power of buffers as large as these needs, with PEs and NoC (sections 9.6 and 9.7)."""
    pes, lanes, bandwidth = float(machine.num_pes), machine.simd_lanes, machine.noc_bandwidth
    bus, gates = 14.662 * pes + 28.895, 1.2886 * (pes * pes) + 5.5814 * pes - 23.711
    noc_area = 101.7938 * bus * bandwidth + max(395.473 * gates, 395.473)
    noc_power = 0.8 * bus / 1000 * bandwidth + max(0.34 * gates / 1000, 0.34)
    area = pes * (283 * lanes + 0.104 * l1) + 0.104 * l2 + noc_area
    power = pes * (1.2223 * lanes + 0.00345 * l1) + 0.00345 * l2 + noc_power
    return area, power
