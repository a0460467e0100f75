"""What the roofline brings to proofs: cycles and energy that no mapping with such tiles is below.

With the tiles and the cluster size given, the loops' trips are known, and which of them is spread over PEs is
left to choose. The least of the choices is the bound. The roofline prices no loop orders: one stands for all.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from dse_roofline import C, K, fixed_costs

from dse.plugins import DIMS, Problem, enumerated

MAPPED = 4
"""K, C, Y and X are cut into tiles; R and S stay whole."""


def lower_bound(problem: Problem, outer: Any, inner: Any, clusters: Any) -> tuple[Any, Any]:
    """Cycles (n,) and nanojoule (n,) of outer and inner tiles (n, 4) and cluster sizes (n,)."""
    layer, machine = problem.space.layer, problem.accelerator
    sizes = np.array([layer.loops[dim] for dim in DIMS[:MAPPED]])
    # In a depthwise layer a parallel K means C.
    parallels = range(C if layer.type == "DSCONV" else K, MAPPED)
    steps = _least(-(-sizes // outer), machine.num_pes // clusters, parallels)
    steps *= _least(-(-outer // inner), clusters, parallels)
    macs = steps * inner.prod(axis=1) * layer.R * layer.S
    cycles, energy_nj = fixed_costs(layer, machine)
    return np.maximum(-(-macs // machine.simd_lanes), cycles), np.full(len(outer), energy_nj)


def _least(trips: Any, units: Any, parallels: range) -> Any:
    """The least product (n,) of trips (n, 4) where one of them is spread over so many units (n,)."""
    found = [np.delete(trips, dim, axis=1).prod(axis=1) * -(-trips[:, dim] // units) for dim in parallels]
    return np.min(found, axis=0)


GROUP, refuse, make_bounds, least_area = enumerated(lower_bound, orders=False)
