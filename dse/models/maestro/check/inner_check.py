"""Inner problems once more, to check certificates with: solved by the cost model.

A cluster at work on an outer tile is a whole accelerator at work on a small layer: the cost model itself can
price every inner level there is. Nothing here is shared with the solver.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dse.core.layer import DIMS, Layer
from dse.domains.clustered.accelerator import MAX_FIGURE
from dse.domains.clustered.mapping import INNER_TILE, MappingBatch, whole_filter_rows
from dse.domains.clustered.problem import Problem
from dse.domains.clustered.space.genes import MAPPED_DIMS, ORDERS
from dse.support.arrays import IntArray

BATCH = 100_000
FILTER = "RS"


def fewest_cycles(
    problem: Problem, tiles: tuple[int, ...], cluster: int, inner: IntArray, parallel: str
) -> int | None:
    """The fewest cycles of a cluster over an outer tile, of those inner tiles (n, 4) in any order that fit in
    L1; None if none fits. A `parallel` filter dim is in as many pieces as PEs.
    """
    layer, machine = problem.space.layer, problem.accelerator
    k, c, y, x = tiles
    small = Layer(layer.type, k, c, y + layer.R - 1, x + layer.S - 1, layer.R, layer.S)
    # Once the tile's data are in, nothing but the inner level holds the machine up.
    alone = replace(machine, num_pes=cluster, offchip_bandwidth=MAX_FIGURE)
    data = small.C * small.Y * small.X + small.K * small.C * small.R * small.S
    first = machine.noc_latency - 1 + -(-data // machine.noc_bandwidth)
    orders = np.array([[DIMS.index(dim) for dim in order] for order in ORDERS])
    found = []
    for part in np.array_split(inner, -(-len(inner) * len(orders) // BATCH) or 1):
        count = len(part) * len(orders)
        rows = whole_filter_rows(
            small,
            cluster,
            (DIMS.index("C"), np.tile(np.arange(4), (count, 1)), [small.loops[dim] for dim in MAPPED_DIMS]),
            (DIMS.index(parallel), np.tile(orders, (len(part), 1)), np.repeat(part, len(orders), axis=0)),
        )
        if parallel in FILTER:
            rows[:, INNER_TILE + DIMS.index(parallel)] = small.loops[parallel] // cluster
        costs = problem.model.evaluate(small, alone, MappingBatch(rows))
        found.append(costs.cycles[costs.l1_size <= machine.l1_size])
    return min((int(cycles.min()) - first for cycles in found if len(cycles)), default=None)
