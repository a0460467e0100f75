"""How many PEs a mapping puts to work."""

from __future__ import annotations

import numpy as np

from dse.core.layer import DIMS, Layer
from dse.domains.clustered.accelerator import MACHINE_FIGURES
from dse.domains.clustered.mapping import CLUSTER, INNER_PARALLEL, INNER_TILE, OUTER_PARALLEL, OUTER_TILE
from dse.support.arrays import IntArray


def working_pes(layer: Layer, machines: IntArray, rows: IntArray) -> IntArray:
    """The most PEs at work at a time (n,): in each cluster at work, those that have an inner tile."""
    # A depthwise layer has one filter for each channel: spreading its filters spreads its channels.
    spread = np.arange(len(DIMS))
    spread[DIMS.index("K")] = DIMS.index("C" if layer.type == "DSCONV" else "K")
    sizes, each = np.array([layer.loops[dim] for dim in DIMS]), np.arange(len(rows))
    outer_dim, inner_dim = spread[rows[:, OUTER_PARALLEL]], spread[rows[:, INNER_PARALLEL]]
    outer = np.minimum(np.maximum(rows[:, OUTER_TILE:CLUSTER], 1), sizes)
    inner = np.minimum(np.maximum(rows[:, INNER_TILE:], 1), outer)
    clusters = np.maximum(machines[:, MACHINE_FIGURES.index("num_pes")] // np.maximum(rows[:, CLUSTER], 1), 1)
    busy_clusters = np.minimum(-(-sizes[outer_dim] // outer[each, outer_dim]), clusters)
    busy_pes = np.minimum(-(-outer[each, inner_dim] // inner[each, inner_dim]), rows[:, CLUSTER])
    working: IntArray = busy_clusters * busy_pes
    return working
