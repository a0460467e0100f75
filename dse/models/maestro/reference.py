"""What the public MAESTRO program computes, in plain Python, one mapping at a time.

This is the readable twin of the compiled kernel: slow, complete, and the yardstick of its tests. The
behaviour is MAESTRO's (github.com/maestro-project/maestro, commit 4eb08d1) for CONV and DSCONV layers and
two-level mappings, including what it probably did not intend: work dropped at tile edges, re-fetches not
counted, MAC and L1 energy left out.

Words. A *directive* is one loop of a level: it maps `size` elements of a dim and moves by `offset`. A *case*
is a combination of loop positions (first, steady, edge), one for each loop; its cost is priced once and
counted as often as it occurs. Sizes of Y and X are in input elements; a primed table entry is in outputs.

Steps, which the compiled kernels cite by these numbers:

1. Loops: a tile of Y or X becomes the inputs that it reads, tile + filter - 1, and strides are applied.
2. Tables of a level: of each dim the whole tile, the one at the edge, and what a step brings that is new
   (2.1); how many sub-clusters work where the spatial loop is at its edge (2.2).
3. Cases: the states of a loop (first, steady, edge) and how often each occurs (3.1), all combinations (3.2),
   and the tile sizes that a case of the outer level hands to the inner one (3.3).
4. Volumes of a case: what a sub-cluster holds (4.1), fetches (4.2) and produces (4.3), and what the array as
   a whole moves, neighbours sharing what both need (4.4).
5. Cost of a level: the NoC's delay (5.1), the buffers' sizes, twice a case's tiles as they are
   double-buffered (5.2), and the walk over all cases, each as slow as the slowest of computing and moving
   (5.3).
6. Figures of the run: energy (6.1), area (6.2) and power (6.3).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dse.core.reasons import Reason
from dse.domains.clustered.mapping import CLUSTER, INNER_PARALLEL, OUTER_ORDER, OUTER_PARALLEL, OUTER_TILE
from dse.models.maestro.reference_level import (
    COUPLED,
    FILTER_OF,
    INPUT,
    OUTPUT,
    WEIGHT,
    C,
    Case,
    Directive,
    K,
    Level,
    NotPriced,
    R,
    S,
    X,
    Y,
    truncated_quotient,
)

LARGEST, LARGEST_HARDWARE = 2**31 - 1, 2**40


@dataclass(frozen=True)
class Hardware:
    """The figures of the machine that MAESTRO reads."""

    num_pes: int
    noc_bandwidth: int
    offchip_bandwidth: int
    noc_latency: int
    simd_lanes: int

    def delay(self, elements: int) -> int:
        """Cycles that the NoC takes to move `elements`."""
        whole = truncated_quotient(elements, self.noc_bandwidth)
        return self.noc_latency + whole + (elements % self.noc_bandwidth != 0) - 1


@dataclass
class Run:
    """What the run of one inner problem comes to."""

    cycles: int
    active: float
    l1_size: int


class _Pricer:
    """Prices one mapping: builds both levels, then walks the outer cases (step 5)."""

    def __init__(self, layer: Sequence[int], hardware: Sequence[int], row: Sequence[int]) -> None:
        self.hardware = Hardware(*hardware)
        self.depthwise = layer[0] == 1
        self.strides = {Y: layer[7], X: layer[8]}
        self.sizes = tuple(layer[1:7])
        self.coupled = COUPLED["DSCONV" if self.depthwise else "CONV"]
        cluster = row[CLUSTER]
        self._check_values()
        levels = [row[OUTER_PARALLEL:CLUSTER], row[INNER_PARALLEL:]]
        self._check_tiles(levels, cluster)
        outer, inner = (self._directives(level, outer=level is levels[0]) for level in levels)
        self._check_range(outer, inner)
        self.outer = Level(outer, self.sizes, self.hardware.num_pes // cluster, self.coupled)
        # The inner level cuts the outer tile, or the dim where that is smaller.
        inner_sizes = list(self.sizes)
        for d in outer:
            inner_sizes[d.dim] = min(d.size, self.sizes[d.dim])
        self.inner = Level(inner, inner_sizes, cluster, self.coupled)
        self.runs: dict[tuple[int, ...], Run] = {}

    def _check_values(self) -> None:
        h = self.hardware
        least_one = (h.num_pes, h.noc_bandwidth, h.offchip_bandwidth, h.simd_lanes)
        if min(least_one) < 1 or h.noc_latency < 0 or h.simd_lanes > LARGEST:
            raise NotPriced(Reason.BAD_HARDWARE)
        if max(*least_one, h.noc_latency) > LARGEST_HARDWARE:
            raise NotPriced(Reason.BAD_HARDWARE)
        if min(*self.sizes, *self.strides.values()) < 1:
            raise NotPriced(Reason.BAD_LAYER)

    def _dims(self) -> tuple[int, ...]:
        return (C, Y, X, R, S) if self.depthwise else (K, C, Y, X, R, S)

    def _parallel(self, level: Sequence[int]) -> int:
        return C if self.depthwise and level[0] == K else level[0]

    def _check_tiles(self, levels: Sequence[Sequence[int]], cluster: int) -> None:
        tiles = [level[OUTER_TILE:CLUSTER] for level in levels]
        if any(tile[dim] <= 0 for tile in tiles for dim in self._dims()):
            raise NotPriced(Reason.ZERO_TILE)
        for level, tile in zip(levels, tiles, strict=True):
            for dim in (R, S):
                if self._parallel(level) != dim and tile[dim] != self.sizes[dim]:
                    raise NotPriced(Reason.PARTIAL_FILTER)
        if not 1 <= cluster <= self.hardware.num_pes:
            raise NotPriced(Reason.CLUSTER_TOO_LARGE)
        figures = [tile[dim] for tile in (*tiles, self.sizes) for dim in self._dims()]
        if max(*figures, *self.strides.values()) > LARGEST:
            raise NotPriced(Reason.OUT_OF_RANGE)

    def _check_range(self, outer: list[Directive], inner: list[Directive]) -> None:
        """Refuses mappings whose counts might pass 2^62, by a generous bound on all of them."""
        inner_sizes = {d.dim: d.size for d in inner}
        bound = 1.0 + self.hardware.noc_latency
        for d in sorted(outer, key=lambda d: d.dim):
            total, inner_size = self.sizes[d.dim], inner_sizes[d.dim]
            if total == d.size == inner_size:
                bound *= total
            else:
                bound *= (total / d.offset + 2.0) * (d.size + 2.0 * inner_size)
        if bound > 2.0**62:
            raise NotPriced(Reason.OUT_OF_RANGE)

    def _directives(self, level: Sequence[int], *, outer: bool) -> list[Directive]:
        """The level's loops, with Y and X turned into inputs and strides applied (step 1)."""
        tile, parallel = level[OUTER_TILE:CLUSTER], self._parallel(level)
        directives = []
        for dim in level[OUTER_ORDER:OUTER_TILE]:
            if dim not in self._dims():
                continue
            size = offset = tile[dim]
            if dim in FILTER_OF:
                size += tile[FILTER_OF[dim]] - 1
                stride, window = self.strides[dim], self.sizes[FILTER_OF[dim]]
                if stride != 1 and size >= window:
                    steps = truncated_quotient(size + stride - window, stride)
                    size = steps * min(stride, window) + max(window - stride, 0)
                    offset = steps * (window if not outer and window < stride else stride)
            directives.append(Directive(dim, dim == parallel, size, offset))
        return directives

    def inner_run(self, sizes: tuple[int, ...]) -> Run:
        """Runs the inner level over the given tile sizes."""
        if sizes not in self.runs:
            self.runs[sizes] = self._inner_run(sizes)
        return self.runs[sizes]

    def _inner_run(self, sizes: tuple[int, ...]) -> Run:
        hardware, level = self.hardware, self.inner
        cycles = counted = active = size_calls = 0
        accepted = False
        for count, case in level.cases(sizes):
            # MAESTRO sizes the buffers until a case has work, and again in each: the needs add up.
            size_calls += not accepted
            egress, psums = case.egress(), case.critical_psums()
            case.macs()
            if psums <= 0:
                continue
            accepted = True
            ingress = case.ingress(INPUT) + case.ingress(WEIGHT)
            compute = -(-psums // hardware.simd_lanes)
            cycles += count * _step(hardware, compute, ingress, egress, alone=case.first_of_all)
            active += count * case.active_units()
            counted += count
        inputs = 2 * size_calls * (level.product(INPUT) + level.product(WEIGHT))
        return Run(cycles, active / counted if counted else 0.0, inputs + 2 * level.product(OUTPUT))

    def _compute(self, case: Case) -> tuple[int, float, int]:
        """Cycles, busy PEs and L1 need of the sub-clusters in one outer case."""
        level, state = self.outer, case.spatial_state
        several = level.edge_units > 1
        # All sub-clusters have the same tile, or the last one a part of it: the slowest decides.
        groups = [(case.tile_sizes(partial=False), case.active_units())]
        if state.edge and state.partial:
            whole = [(case.tile_sizes(partial=False), level.edge_units - 1)] if several else []
            groups = [(case.tile_sizes(partial=True), 1), *whole]
        runs = [(self.inner_run(sizes), units) for sizes, units in groups]
        busy = sum(run.active * units for run, units in runs)
        return max(0, *(run.cycles for run, _ in runs)), busy, runs[0][0].l1_size

    def price(self) -> dict[str, Any]:
        """Walks the outer cases and adds up (steps 5.3 and 6)."""
        hardware, level = self.hardware, self.outer
        need_inputs = need_outputs = 0
        cycles = macs = counted = l1_size = 0
        busy = 0.0
        reads = {INPUT: 0, WEIGHT: 0}
        output_writes = 0
        accepted = False
        for count, case in level.cases(self.sizes):
            if not accepted:
                need_inputs += 2 * (case.ingress(INPUT) + case.ingress(WEIGHT))
                need_outputs = 2 * case.egress()
            egress, work, psums = case.egress(), case.macs(), case.critical_psums()
            output_writes += count * egress  # Without work too.
            if psums <= 0:
                continue
            fetched = {tensor: case.ingress(tensor) for tensor in reads}
            for tensor, elements in fetched.items():
                reads[tensor] += count * elements
            compute, active, l1 = self._compute(case)
            if compute == 0:
                raise NotPriced(Reason.NO_WORK)
            l1_size = l1_size if accepted else l1
            accepted = True
            ingress = sum(fetched.values())
            step = _step(hardware, compute, ingress, egress, alone=case.first_of_all)
            offchip = (need_inputs, need_outputs)
            step = max(
                step,
                *(
                    truncated_quotient(truncated_quotient(need, hardware.offchip_bandwidth), 2)
                    for need in offchip
                ),
            )
            cycles += count * step
            macs += count * work
            counted += count
            busy += count * active
        if cycles == 0:
            raise NotPriced(Reason.ZERO_RUNTIME)
        size = dict(enumerate(self.sizes))
        size[K] = 1 if self.depthwise else size[K]
        written = {t: math.prod(size[d] for d in self.coupled[t]) for t in (INPUT, WEIGHT)}
        energy = 0.0
        for elements in (reads[INPUT], written[INPUT], reads[WEIGHT], written[WEIGHT], output_writes):
            energy += elements * 18.61
        l2_size = need_inputs + need_outputs
        return {
            "status": "ok",
            "reason": Reason.FEASIBLE,
            "cycles": cycles,
            "macs": macs,
            "energy_nj": 0.00023 * energy,
            "l1_size": _wrap32(l1_size),
            "l2_size": _wrap32(l2_size),
            "l2_reads": {"input": reads[INPUT], "weight": reads[WEIGHT]},
            "l2_writes": {"input": written[INPUT], "weight": written[WEIGHT], "output": output_writes},
            "active_pes": busy / counted,
            **_area_and_power(hardware, _wrap32(l1_size), _wrap32(l2_size)),
        }


def price_by_walk(layer: Sequence[int], hardware: Sequence[int], row: Sequence[int]) -> dict[str, Any]:
    """One mapping's figures, or its reason.

    `layer` is (0 CONV | 1 DSCONV, K, C, Y, X, R, S, row stride, column stride), `hardware` is (PEs, NoC
    bandwidth, off-chip bandwidth, NoC latency, SIMD lanes), `row` is a row of a MappingBatch.
    """
    layer, hardware, row = ([int(value) for value in part] for part in (layer, hardware, row))
    try:
        return _Pricer(layer, hardware, row).price()
    except NotPriced as end:
        return {"status": "invalid", "reason": end.reason}


def _step(hardware: Hardware, compute: int, ingress: int, egress: int, *, alone: bool) -> int:
    """Cycles of one step: transfers hide behind compute, except in the very first step."""
    into, out = hardware.delay(ingress), hardware.delay(egress)
    return compute + into if alone else max(compute, into, out)


def _area_and_power(hardware: Hardware, l1_size: int, l2_size: int) -> dict[str, float]:
    pes, lanes = hardware.num_pes, hardware.simd_lanes
    l1, l2 = l1_size or 1, l2_size or 1
    bus, gates = 14.662 * pes + 28.895, 1.2886 * (pes * pes) + 5.5814 * pes - 23.711
    area = pes * (283 * lanes + 0.104 * l1) + 0.104 * l2
    area += 101.7938 * bus * hardware.noc_bandwidth + max(395.473 * gates, 395.473)
    pe_power, l1_power, l2_power = pes * 1.2223 * lanes, pes * 0.00345 * l1, 0.00345 * l2
    noc_power = 0.8 * bus / 1000 * hardware.noc_bandwidth + max(0.34 * gates / 1000, 0.34)
    return {
        "area": area,
        "power": pe_power + l1_power + l2_power + noc_power,
        "pe_power": pe_power,
        "l1_power": l1_power,
        "l2_power": l2_power,
        "noc_power": noc_power,
    }


def _wrap32(value: int) -> int:
    return (value + 2**31) % 2**32 - 2**31
