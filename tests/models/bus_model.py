"""A cost model as somebody else would write it, with its proof in the same file: a bus between DRAM and PEs.

An outer tile of a tensor comes over the bus as often as the loops ask for that are outside of the innermost
one that the tensor depends on. Inside, the order decides how long a PE waits: a step costs a cycle more where
the innermost loop is over input channels.
"""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np

from dse.plugins import (
    CLUSTER,
    DIMS,
    INNER_ORDER,
    INNER_PARALLEL,
    INNER_TILE,
    OUTER_ORDER,
    OUTER_PARALLEL,
    OUTER_TILE,
    Accelerator,
    CostBatch,
    CostModel,
    Layer,
    LowerBounds,
    MappingBatch,
    Problem,
    Reason,
    TileBoxes,
    interval_proof,
)

K, C, Y, X, R, S = range(len(DIMS))
TENSORS = ((K, C, R, S), (C, Y, X, R, S), (K, Y, X))
MAC_NJ, WORD_NJ = 0.001, 0.3


class Bus(CostModel):
    """Compute or the bus, whichever is slower."""

    name = "bus"
    version = "1"
    proof_module = __name__

    def evaluate(
        self, layer: Layer, accelerator: Accelerator, mappings: MappingBatch, *, threads: int = 1
    ) -> CostBatch:
        """The costs of `mappings`."""
        rows = mappings.rows
        fits = (rows[:, [OUTER_PARALLEL, INNER_PARALLEL]] <= X).all(axis=1) & (rows > -1).all(axis=1)
        fits &= (rows[:, CLUSTER] >= 1) & (rows[:, CLUSTER] <= accelerator.num_pes)
        fits &= (rows[:, OUTER_TILE:CLUSTER] >= 1).all(axis=1) & (rows[:, INNER_TILE:] >= 1).all(axis=1)
        rows = np.where(fits[:, np.newaxis], rows, 1)
        sizes = np.array([layer.loops[dim] for dim in DIMS])
        outer = np.minimum(rows[:, OUTER_TILE:CLUSTER], sizes)
        inner = np.minimum(rows[:, INNER_TILE:], outer)
        turns = _spread(-(-sizes // outer), rows[:, OUTER_PARALLEL], accelerator.num_pes // rows[:, CLUSTER])
        steps = _spread(-(-outer // inner), rows[:, INNER_PARALLEL], rows[:, CLUSTER]).prod(axis=1)
        waits = np.where(rows[:, INNER_ORDER + 3] == C, 1, 0)
        compute = turns.prod(axis=1) * steps * (inner.prod(axis=1) + waits)
        words = _words(sizes, outer, rows[:, OUTER_ORDER : OUTER_ORDER + 4])
        costs = CostBatch.zeros(len(rows))
        costs.cycles[:] = np.maximum(compute, -(-words // accelerator.offchip_bandwidth))
        costs.energy_nj[:] = layer.macs * MAC_NJ + words * WORD_NJ
        costs.macs[:] = layer.macs
        costs.l1_size[:] = sum(inner[:, tensor].prod(axis=1) for tensor in TENSORS)
        costs.l2_size[:] = sum(outer[:, tensor].prod(axis=1) for tensor in TENSORS)
        costs.valid[:], costs.reason[:] = fits, np.where(fits, 0, Reason.REFUSED)
        for figure in costs.figures().values():
            figure[~fits] = 0
        return costs


def _spread(counts: Any, parallel: Any, units: Any) -> Any:
    """The counts (n, 6) of the busiest unit, one of which is spread."""
    found, rows = counts.copy(), np.arange(len(counts))
    found[rows, parallel] = -(-found[rows, parallel] // units)
    return found


def _fetches(turns: Any, order: Any, tensor: tuple[int, ...]) -> Any:
    """How often a tile of the tensor comes."""
    rows = np.arange(len(turns))
    fetched, depends = np.ones(len(turns), np.int64), np.zeros(len(turns), bool)
    has = np.isin(np.arange(len(DIMS)), tensor)
    for place in range(order.shape[1] - 1, -1, -1):
        loop = turns[rows, order[:, place]]
        depends |= has[order[:, place]] & (loop > 1)
        fetched *= np.where(depends, loop, 1)
    return fetched


def _words(sizes: Any, outer: Any, order: Any) -> Any:
    """The words (n,) that come over the bus."""
    turns = -(-sizes // outer)
    return sum(_fetches(turns, order, tensor) * outer[:, tensor].prod(axis=1) for tensor in TENSORS)


def lower_bound(problem: Problem, boxes: TileBoxes) -> LowerBounds:
    """No PE waits, the outer order is the best for each, and tiles take their least turns at their least."""
    layer, machine = problem.space.layer, problem.accelerator
    sizes = np.array([layer.loops[dim] for dim in DIMS])
    whole = np.tile(sizes[[R, S]], (len(boxes.cluster), 1))
    outer, inner = np.hstack([boxes.outer_low, whole]), np.hstack([boxes.inner_low, whole])
    turns = -(-sizes // np.hstack([boxes.outer_high, whole]))
    clustered = _spread(turns, boxes.outer_parallel, machine.num_pes // boxes.cluster)
    steps = -(-outer // np.hstack([boxes.inner_high, whole]))
    compute = (clustered * _spread(steps, boxes.inner_parallel, boxes.cluster) * inner).prod(axis=1)
    orders = np.array(list(permutations(range(4))))
    covered = np.maximum(turns * outer, sizes)
    each = [np.tile(counts, (len(orders), 1)) for counts in (turns, covered)]
    words = _least_words(*each, np.repeat(orders, len(outer), axis=0)).reshape(len(orders), -1).min(axis=0)
    cycles = np.maximum(compute, -(-words // machine.offchip_bandwidth))
    l1_size, l2_size = (sum(tile[:, of].prod(axis=1) for of in TENSORS) for tile in (inner, outer))
    return LowerBounds(cycles, layer.macs * MAC_NJ + words * WORD_NJ, l1_size, l2_size)


def _least_words(turns: Any, covered: Any, order: Any) -> Any:
    """The words (n,) of so many turns at least, where those of a dim bring all of its size, or more."""
    return sum(
        _fetches(turns, order, tensor) // turns[:, tensor].prod(axis=1) * covered[:, tensor].prod(axis=1)
        for tensor in TENSORS
    )


GROUP, refuse, make_boxes, least_area, checks = interval_proof(lower_bound)
