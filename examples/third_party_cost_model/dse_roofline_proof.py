"""What the roofline brings to proofs: cycles, energy and buffers that no mapping of a box is below.

A box has a cluster size, parallel dims, and the lowest and highest tiles of each dim. The roofline prices no
loop orders: one stands for all.
"""

from __future__ import annotations

import numpy as np
from dse_roofline import fixed_costs, held

from dse.plugins import DIMS, LowerBounds, Problem, TileBoxes, interval_proof

MAPPED = 4
"""K, C, Y and X are cut into tiles; R and S stay whole."""


def lower_bound(problem: Problem, boxes: TileBoxes) -> LowerBounds:
    """The least of n boxes, each figure (n,).

    Larger tiles take fewer turns, and a dim takes no fewer steps than its size over the units that share it.
    """
    layer, machine = problem.space.layer, problem.accelerator
    sizes = np.array([layer.loops[dim] for dim in DIMS])
    rows = np.arange(len(boxes.cluster))
    clusters, pes = np.ones((2, len(rows), MAPPED), np.int64)
    clusters[rows, boxes.outer_parallel] = machine.num_pes // boxes.cluster
    pes[rows, boxes.inner_parallel] = boxes.cluster
    outer_turns = _up(_up(sizes[:MAPPED], boxes.outer_high), clusters)
    inner_turns = _up(_up(boxes.outer_low, boxes.inner_high), pes)
    inner_steps = np.maximum(inner_turns * boxes.inner_low, _up(boxes.outer_low, pes))
    steps = np.maximum(outer_turns * inner_steps, _up(sizes[:MAPPED], clusters * pes))
    macs = steps.prod(axis=1) * layer.R * layer.S
    cycles, energy_nj = fixed_costs(layer, machine)
    whole = np.tile(sizes[MAPPED:], (len(rows), 1))
    return LowerBounds(
        cycles=np.maximum(_up(macs, machine.simd_lanes), cycles),
        energy_nj=np.full(len(rows), energy_nj),
        l1_size=held(layer, np.hstack([boxes.inner_low, whole])),
        l2_size=held(layer, np.hstack([boxes.outer_low, whole])),
    )


def _up(number: np.ndarray, by: np.ndarray | int) -> np.ndarray:
    """The quotient, rounded up."""
    return -(-number // by)


GROUP, refuse, make_boxes, least_area, checks = interval_proof(lower_bound, orders=False)
