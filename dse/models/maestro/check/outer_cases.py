"""The outer level once more, case by case and in NumPy, to check certificates with.

It is written from the behavioural specification of MAESTRO (the section numbers are its own) and shares
nothing with the solver. Tiles are perfect factors, so that only the spatial loop has an edge iteration.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product

import numpy as np

from dse.core.layer import Layer
from dse.domains.clustered.accelerator import Accelerator
from dse.support.arrays import BoolArray, IntArray

INIT, STEADY, EDGE = range(3)
DIMS = "KCYX"
COUPLED = {
    "CONV": {"input": "CYX", "weights": "KC", "output": "KYX"},
    "DSCONV": {"input": "CYX", "weights": "C", "output": "CYX"},
}


@dataclass(frozen=True)
class Totals:
    """What a loop order adds up to, for each row; `largest` is the largest count of one case."""

    cycles: IntArray
    read_input: IntArray
    read_weights: IntArray
    written: IntArray
    largest: IntArray


@dataclass(frozen=True)
class OuterLevel:
    """Outer levels of n rows: `tiles` by dim (n), `fanout` (n) clusters to spread over, one parallel dim."""

    layer: Layer
    machine: Accelerator
    tiles: dict[str, IntArray]
    fanout: IntArray
    parallel: str

    def rows(self, rows: IntArray) -> OuterLevel:
        """The outer levels of some of the rows."""
        tiles = {dim: sizes[rows] for dim, sizes in self.tiles.items()}
        return replace(self, tiles=tiles, fanout=self.fanout[rows])

    @cached_property
    def trips(self) -> dict[str, IntArray]:
        """Tiles of each loop."""
        return {dim: self.layer.loops[dim] // self.tiles[dim] for dim in DIMS}

    @cached_property
    def maps(self) -> dict[str, IntArray]:
        """Input extents of the tiles (section 3)."""
        windows = {"Y": self.layer.R, "X": self.layer.S}
        return {dim: self.tiles[dim] + windows.get(dim, 1) - 1 for dim in DIMS}

    @cached_property
    def unrolled(self) -> dict[str, BoolArray]:
        """Whether a loop is done in one iteration (section 6.1)."""
        one = {dim: trips == 1 for dim, trips in self.trips.items()}
        return {**one, self.parallel: self.trips[self.parallel] <= self.fanout}

    @cached_property
    def counts(self) -> dict[tuple[str, int], IntArray]:
        """Occurrences of each state of each loop, 0 where the state is not there (section 6.1)."""
        counts = {}
        for dim in DIMS:
            counts[dim, INIT] = np.ones_like(self.fanout)
            counts[dim, STEADY] = self.trips[dim] - 1
        trips, over = self.trips[self.parallel], self.trips[self.parallel] > self.fanout
        counts[self.parallel, STEADY] = np.where(over, trips // self.fanout - 1, 0)
        counts[self.parallel, EDGE] = np.where(over & (trips % self.fanout > 0), 1, 0)
        return counts

    @cached_property
    def edge_units(self) -> IntArray:
        """Clusters at work in the edge iteration of the spatial loop (section 5.2)."""
        trips = self.trips[self.parallel]
        return np.where(trips > self.fanout, trips % self.fanout, trips)

    def _at_edge(self, state: int) -> tuple[BoolArray | bool, IntArray | int]:
        """Whether the spatial state is flagged edge, and 1 where it is partial (section 6.1)."""
        if state == INIT:
            short = self.trips[self.parallel] < self.fanout
            return short, short.astype(np.int64)
        return state == EDGE, 0

    def ingress(self, tensor: str, order: str, states: dict[str, int]) -> IntArray:
        """Elements of an input tensor that enter the array in a case (sections 7.1, 7.2 and 7.4)."""
        coupled = COUPLED[self.layer.type][tensor]
        moved = [place for place, dim in enumerate(order) if states[dim] != INIT]
        filters = self.layer.R * self.layer.S if tensor == "weights" else 1
        volume = np.full_like(self.fanout, filters)
        changing, inside = "", order
        restarted: BoolArray = np.zeros(len(volume), bool)
        if moved:
            changing, inside = order[moved[-1]], order[moved[-1] + 1 :]
            # The tensor stays, even where loops inside begin anew.
            if changing not in coupled:
                return np.zeros_like(volume)
            for dim in inside:
                if dim in coupled:
                    restarted = restarted | ~self.unrolled[dim]
        for dim in coupled:
            if dim == self.parallel:
                reused: BoolArray | bool = dim in inside if changing else False
                if dim == changing:
                    reused = ~restarted
                volume = volume * self._spread(states[dim], reused)
            elif dim == changing:
                volume = volume * np.where(restarted, self.maps[dim], self.tiles[dim])
            else:
                volume = volume * self.maps[dim]
        return volume

    def _spread(self, state: int, reused: BoolArray | bool) -> IntArray:
        """The spatial loop's factor of a fetch: the first cluster's share and the others' (section 7.4)."""
        whole, tile = self.maps[self.parallel], self.tiles[self.parallel]
        edge, partial = self._at_edge(state)
        # A unit flagged partial has a whole tile, of perfect factors, but nothing of it is counted as new.
        new = np.where(reused, tile, whole)
        new_partial = np.where(reused, 0, whole)
        further = np.maximum(self.edge_units - partial - 1, 0)
        at_edge = whole + np.where(self.edge_units > 1, further * new + partial * new_partial, 0)
        return np.where(edge, at_edge, whole + (self.fanout - 1) * new)

    def egress(self, state: int) -> IntArray:
        """Outputs that leave the array while the spatial loop is in a state (sections 7.3 and 7.4)."""
        coupled = COUPLED[self.layer.type]["output"]
        volume = np.ones_like(self.fanout)
        for dim in coupled:
            if dim != self.parallel:
                volume = volume * self.tiles[dim]
        if self.parallel not in coupled:
            return volume
        tile = self.tiles[self.parallel]
        edge, partial = self._at_edge(state)
        alone = self.maps[self.parallel] if state == EDGE else tile
        last = tile if self.parallel in "YX" else np.zeros_like(tile)
        several = tile + np.maximum(self.edge_units - partial - 1, 0) * tile + partial * last
        at_edge = np.where(self.edge_units == 1, alone, several)
        return volume * np.where(edge, at_edge, self.fanout * tile)

    @cached_property
    def first(self) -> tuple[IntArray, IntArray, IntArray]:
        """Inputs, weights and outputs of the first case, which decide the need of L2 (section 8.2)."""
        states = dict.fromkeys(DIMS, INIT)
        return self.ingress("input", DIMS, states), self.ingress("weights", DIMS, states), self.egress(INIT)

    @property
    def l2_need(self) -> IntArray:
        """Elements of L2, double-buffered."""
        return 2 * sum(self.first, start=np.zeros_like(self.fanout))

    @cached_property
    def steps(self) -> IntArray:
        """Iterations of all loops together."""
        steps = -(-self.trips[self.parallel] // self.fanout)
        for dim in DIMS:
            if dim != self.parallel:
                steps = steps * self.trips[dim]
        return steps

    @property
    def written(self) -> IntArray:
        """Outputs that leave the array in all cases together, whatever the order."""
        rounds = sum(
            (self.counts[self.parallel, state] * self.egress(state) for state in (INIT, STEADY, EDGE)),
            start=np.zeros_like(self.fanout),
        )
        return rounds * (self.steps // -(-self.trips[self.parallel] // self.fanout))

    def _cases(self, order: str) -> Iterator[tuple[dict[str, int], IntArray]]:
        """Every combination of states, with how often it occurs."""
        kinds = [(INIT, STEADY, EDGE) if dim == self.parallel else (INIT, STEADY) for dim in order]
        for combination in product(*kinds):
            states = dict(zip(order, combination, strict=True))
            count = np.ones_like(self.fanout)
            for dim, state in states.items():
                count = count * self.counts[dim, state]
            yield states, count

    def totals(self, order: str, inner: IntArray) -> Totals:
        """The case loop (section 8.3), where the inner level takes `inner` cycles."""
        bandwidth, latency = self.machine.noc_bandwidth, self.machine.noc_latency
        first_input, first_weights, first_output = self.first
        limits = (2 * (first_input + first_weights), 2 * first_output)
        limit = np.maximum(*(need // self.machine.offchip_bandwidth // 2 for need in limits))
        sums = {name: np.zeros_like(self.fanout) for name in Totals.__dataclass_fields__}
        for states, count in self._cases(order):
            if not count.any():
                continue
            inputs = self.ingress("input", order, states)
            weights = self.ingress("weights", order, states)
            outputs = self.egress(states[self.parallel])
            into = latency + -(-(inputs + weights) // bandwidth) - 1
            out = latency + -(-outputs // bandwidth) - 1
            # Nothing overlaps while every loop is at its first iteration.
            overlapped = np.maximum(np.maximum(inner, into), out)
            step = overlapped if any(states.values()) else inner + into
            sums["cycles"] += count * np.maximum(step, limit)
            sums["read_input"] += count * inputs
            sums["read_weights"] += count * weights
            sums["written"] += count * outputs
            sums["largest"] = np.maximum(sums["largest"], count)
        return Totals(**sums)
