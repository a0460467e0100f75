"""The roofline (Williams, Waterman and Patterson, CACM 2009) of a layer on an accelerator, by mapping.

A mapping takes as long as its PEs compute, or as long as the off-chip link needs to bring every input, weight
and output once: nothing is fetched twice, and the NoC is free. Buffers hold a tile of each tensor. Energy is
that of the MACs and of the words from and to DRAM, the same for every mapping.
"""

from __future__ import annotations

from math import prod
from typing import Any, ClassVar

import numpy as np

from dse.plugins import (
    CLUSTER,
    DIMS,
    INNER_PARALLEL,
    INNER_TILE,
    OUTER_PARALLEL,
    OUTER_TILE,
    Accelerator,
    CostBatch,
    CostModel,
    Layer,
    MappingBatch,
    Reason,
)

K, C, Y, X, R, S = range(len(DIMS))
MAC_NJ, DRAM_NJ = 0.0015, 0.3
"""Of a MAC, and of an element that comes from or goes to DRAM."""


class Roofline(CostModel):
    """Compute or bandwidth, whichever is slower. A Problem hands it layers without stride and padding."""

    name = "roofline"
    version = "1"
    proof_module = "dse_roofline_proof"
    rates = ("noc_bandwidth", "offchip_bandwidth")
    units: ClassVar[dict[str, str]] = {"area": "elements", "power": "mW"}

    def evaluate(
        self, layer: Layer, accelerator: Accelerator, mappings: MappingBatch, *, threads: int = 1
    ) -> CostBatch:
        """The costs of `mappings`; one thread does for all."""
        rows, pes = mappings.rows, accelerator.num_pes
        reasons = _reasons(rows, pes)
        valid = reasons == 0
        # What is refused is priced as if all its sizes were 1, and its figures are set to 0 at the end.
        rows = np.where(valid[:, np.newaxis], rows, 1)
        sizes = np.array([layer.loops[dim] for dim in DIMS])
        outer = np.minimum(rows[:, OUTER_TILE : OUTER_TILE + len(DIMS)], sizes)
        inner = np.minimum(rows[:, INNER_TILE : INNER_TILE + len(DIMS)], outer)
        outer[:, [R, S]] = inner[:, [R, S]] = sizes[[R, S]]
        cluster = rows[:, CLUSTER]
        steps = _busiest(sizes, outer, rows[:, OUTER_PARALLEL], pes // cluster, layer)
        steps *= _busiest(outer, inner, rows[:, INNER_PARALLEL], cluster, layer)
        compute = -(-steps * inner.prod(axis=1) // accelerator.simd_lanes)
        link_cycles, energy = fixed_costs(layer, accelerator)
        cycles = np.maximum(compute, link_cycles)
        energy_nj = np.full(len(rows), energy)
        area = np.full(len(rows), float(pes * accelerator.l1_size + accelerator.l2_size))
        costs = CostBatch(
            cycles=cycles,
            energy_nj=energy_nj,
            power=energy_nj * 1e3 * accelerator.clock_ghz / cycles,
            area=area,
            l1_size=held(layer, inner),
            l2_size=held(layer, outer),
            macs=np.full(len(rows), layer.macs),
            valid=valid,
            reason=reasons,
        )
        for figure in costs.figures().values():
            figure[~valid] = 0
        return costs


def fixed_costs(layer: Layer, accelerator: Accelerator) -> tuple[int, float]:
    """What every mapping costs: cycles of the off-chip link, and nanojoule."""
    words = sum(prod(layer.loops[DIMS[dim]] for dim in dims) for dims in _tensors(layer)) + _halo(layer)
    return -(-words // accelerator.offchip_bandwidth), layer.macs * MAC_NJ + words * DRAM_NJ


def _reasons(rows: Any, pes: int) -> Any:
    tiles = np.hstack([rows[:, OUTER_TILE : OUTER_TILE + 6], rows[:, INNER_TILE : INNER_TILE + 6]])
    reasons = np.zeros(len(rows), np.uint8)
    reasons[(rows[:, [OUTER_PARALLEL, INNER_PARALLEL]] > X).any(axis=1)] = Reason.SPREAD_FILTER
    reasons[(rows[:, CLUSTER] < 1) | (rows[:, CLUSTER] > pes)] = Reason.CLUSTER_TOO_LARGE
    reasons[(tiles < 1).any(axis=1)] = Reason.ZERO_TILE
    return reasons


def _busiest(sizes: Any, tiles: Any, parallel: Any, units: Any, layer: Layer) -> Any:
    """Steps of the busiest of `units` units, over which the tiles of the parallel dim are spread."""
    trips = -(-sizes // tiles)
    if layer.type == "DSCONV":
        # Its output channels are in C.
        parallel = np.where(parallel == K, C, parallel)
    rows = np.arange(len(trips))
    trips[rows, parallel] = -(-trips[rows, parallel] // units)
    return trips.prod(axis=1)


def _tensors(layer: Layer) -> tuple[list[int], list[int], list[int]]:
    """The dims of inputs (those that are output rows and columns too), weights and outputs."""
    if layer.type == "DSCONV":
        return [C, Y, X], [C, R, S], [C, Y, X]
    return [C, Y, X], [K, C, R, S], [K, Y, X]


def _halo(layer: Layer) -> int:
    """Input elements beyond those that `_tensors` counts."""
    outputs = layer.loops["Y"] * layer.loops["X"]
    return layer.C * (layer.Y * layer.X - outputs)


def held(layer: Layer, tiles: Any) -> Any:
    """Elements of a tile of each tensor."""
    inputs, weights, outputs = _tensors(layer)
    window = tiles.copy()
    window[:, [Y, X]] += tiles[:, [R, S]] - 1
    held = window[:, inputs].prod(axis=1) + tiles[:, weights].prod(axis=1) + tiles[:, outputs].prod(axis=1)
    return held
