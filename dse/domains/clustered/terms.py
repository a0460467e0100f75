"""Counts of mappings that a machine's cycles may be a sum of, whatever is right about it.

Of a cost model these are its own figures (on the machine, and on machines whose links are a quarter as wide:
what waits for one of these looks like that), and the counts that it declares (`CostModel.counts`). Others
follow from the loops alone: steps of each level, how often a tile of each tensor is another one, and in how
many rows of memory such tiles lie.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dse.core.layer import DIMS
from dse.domains.clustered.mapping import (
    CLUSTER,
    INNER_ORDER,
    INNER_PARALLEL,
    INNER_TILE,
    OUTER_ORDER,
    OUTER_PARALLEL,
    OUTER_TILE,
    MappingBatch,
)
from dse.domains.clustered.pricing import PricedProblem
from dse.support.arrays import FloatArray, IntArray

COUNT = len(DIMS)
RELEVANT = {"input": "CYXRS", "weight": "KCRS", "output": "KYX"}
"""The dims of each tensor, of a layer that is not depthwise."""
NARROWER = 4
LINKS = (("noc_bandwidth",), ("offchip_bandwidth",), ("noc_bandwidth", "offchip_bandwidth"))


def terms_of(problem: PricedProblem, mappings: MappingBatch) -> dict[str, FloatArray]:
    """The terms of n mappings by name, (n,) each and at least 0, under the problem's cost model."""
    layer, machine, rows = problem.priced_layer, problem.accelerator, mappings.rows
    own = problem.price_rows(rows, mappings.machines)
    found = {"cycles": own.cycles, "energy": own.energy_nj}
    if mappings.machines is None:
        for links in LINKS:
            narrow = {link: max(getattr(machine, link) // NARROWER, 1) for link in links}
            model = problem.model.prepared(layer, replace(machine, **narrow))
            found[f"cycles, {' and '.join(links)} / {NARROWER}"] = model(rows).cycles
        found |= problem.model.counts(layer, machine, mappings)
    found |= _loops(problem, rows) | {"once": np.ones(len(rows))}
    return {name: np.asarray(column, np.float64) for name, column in found.items()}


def _loops(problem: PricedProblem, rows: IntArray) -> dict[str, FloatArray]:
    """Terms that follow from the loops: by level, the outer one's of the whole, the inner one's in all."""
    layer, pes = problem.space.layer, problem.accelerator.num_pes
    sizes = np.array([layer.loops[dim] for dim in DIMS], np.float64)
    outer = np.clip(rows[:, OUTER_TILE : OUTER_TILE + COUNT], 1, sizes)
    inner = np.clip(rows[:, INNER_TILE : INNER_TILE + COUNT], 1, outer)
    cluster = np.clip(rows[:, CLUSTER], 1, pes)
    trips = _trips(sizes / outer, rows[:, OUTER_PARALLEL], pes // cluster)
    turns = _trips(outer / inner, rows[:, INNER_PARALLEL], cluster)
    steps = trips.prod(axis=1)
    found = {"outer steps": steps, "inner steps": steps * turns.prod(axis=1)}
    relevant = RELEVANT | ({"weight": "CRS", "output": "CYX"} if layer.type == "DSCONV" else {})
    for name, dims in relevant.items():
        moves = np.array([dim in dims for dim in DIMS])
        fills = _fills(trips, rows[:, OUTER_ORDER : OUTER_ORDER + COUNT], moves)
        found[f"fills of {name}"] = fills
        # Rows of a tile, if its last dim lies together in memory: columns, or of weights the filter.
        across = [place for place, dim in enumerate(DIMS) if dim in dims and dim not in "XRS"]
        found[f"rows of {name}"] = fills * outer[:, across].prod(axis=1)
        found[f"inner fills of {name}"] = steps * _fills(
            turns, rows[:, INNER_ORDER : INNER_ORDER + COUNT], moves
        )
    return found


def _trips(parts: FloatArray, parallel: IntArray, units: IntArray) -> FloatArray:
    """How often each loop runs (n, dims), of which that of the parallel dim is shared out among units."""
    trips = np.ceil(parts)
    each = np.arange(len(trips))
    trips[each, parallel] = np.ceil(trips[each, parallel] / np.maximum(units, 1))
    return trips


def _fills(trips: FloatArray, orders: IntArray, moves: np.ndarray) -> FloatArray:
    """How often a tile is another one: the turns of all loops down to the innermost one that moves it."""
    ordered = np.take_along_axis(trips, orders, axis=1)
    moving = moves[orders] & (ordered > 1)
    outside = np.cumsum(moving[:, ::-1], axis=1)[:, ::-1] > 0
    found: FloatArray = np.where(outside, ordered, 1.0).prod(axis=1)
    return found
