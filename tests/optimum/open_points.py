"""Spaces with open PE counts for tests of their proofs: all mappings of small ones, boxes around others."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np

from dse.core.chains import find_divisors
from dse.core.layer import DIMS
from dse.domains.clustered.accelerator import MACHINE_FIGURES
from dse.domains.clustered.mapping import (
    CLUSTER,
    INNER_PARALLEL,
    INNER_TILE,
    OUTER_PARALLEL,
    OUTER_TILE,
    MappingBatch,
)
from dse.domains.clustered.problem import Problem
from dse.models.maestro.proof import box
from dse.models.maestro.proof.spaces import SpaceBoxes
from dse.support.arrays import FloatArray, IntArray

R, S = DIMS.index("R"), DIMS.index("S")


def every_mapping(problem: Problem, *, cut: bool) -> MappingBatch:
    """All mappings of a small space, but for orders of loops that run once: those whose filter is `cut` at
    the outer level, or the others.
    """
    layer, parts = problem.space.layer, problem.parts
    sizes = [layer.loops[dim] for dim in DIMS]
    many = [dim for dim in range(6) if sizes[dim] > 1]
    orders = [[*one, *(dim for dim in range(6) if dim not in many)] for one in permutations(many)]
    chains = [
        [(outer, inner) for outer in find_divisors(size) for inner in find_divisors(outer)] for size in sizes
    ]
    rows, counts = [], []
    for tiles in product(*chains):
        outer, inner = zip(*tiles, strict=True)
        if cut != (outer[R] < sizes[R] or outer[S] < sizes[S]):
            continue
        for spread, within in product(range(6), repeat=2):
            whole = all(outer[dim] == sizes[dim] or spread == dim for dim in (R, S))
            if not whole or any(inner[dim] < sizes[dim] and within != dim for dim in (R, S)):
                continue
            along = 1 if layer.type == "DSCONV" and within == 0 else within
            cluster = outer[along] // inner[along]
            for pes, one, other in product(parts.values_of("num_pes", problem.accelerator), orders, orders):
                if pes >= cluster:
                    rows.append([spread, *one, *outer, cluster, within, *other, *inner])
                    counts.append(int(pes))
    return on_machines(problem, np.array(rows, np.int64).reshape(-1, 27), np.array(counts, np.int64))


def on_machines(problem: Problem, rows: IntArray, pes: IntArray) -> MappingBatch:
    """The rows as a batch, each on a machine of so many PEs."""
    machines = np.tile(np.array(problem.accelerator.machine_row, np.int64), (len(rows), 1))
    machines[:, MACHINE_FIGURES.index("num_pes")] = pes
    return MappingBatch(rows, machines)


def margins(boxes: SpaceBoxes, batch: MappingBatch, rng: np.random.Generator) -> FloatArray:
    """Of mappings that are feasible, their loss over the bound of a box that holds them: never below 1."""
    losses = boxes.problem.evaluate(batch).loss
    assert batch.machines is not None
    pes = batch.machines[:, MACHINE_FIGURES.index("num_pes")]
    roots, found, of = boxes.roots(), [], []
    for place in np.flatnonzero(np.isfinite(losses)):
        around = _around(boxes, roots, batch.rows[place], int(pes[place]), rng)
        if around is not None:
            found.append(around)
            of.append(losses[place])
    bounds = boxes.bound(np.array(found, np.int64).reshape(-1, box.ROW), np.inf).losses
    ratios: FloatArray = np.array(of) / bounds
    return ratios


def _around(
    boxes: SpaceBoxes, roots: IntArray, row: IntArray, pes: int, rng: np.random.Generator
) -> IntArray | None:
    """A box that holds a mapping, of one outer tile a dim or of several; None where others stand for it."""
    depthwise, cluster = int(boxes.given.layers["depthwise"][0]), row[CLUSTER]
    outer, inner = max(row[OUTER_PARALLEL], depthwise), max(row[INNER_PARALLEL], depthwise)
    clusters = 1 if outer >= R else min(pes // cluster, boxes.problem.space.layer.loops[DIMS[outer]] + 1)
    outer = 1 if outer >= R else outer
    key = [cluster, outer, inner, clusters]
    mine = (roots[:, [box.CLUSTER, box.PARALLEL, box.INNER, box.CLUSTERS]] == key).all(axis=1)
    if not mine.any():
        return None
    found, single = roots[mine][0].copy(), rng.random() < 0.5
    tables = (boxes.given.outer_tiles, OUTER_TILE, 0), (boxes.given.inner_tiles, INNER_TILE, 8)
    for table, tiles, column in tables:
        for dim in range(4):
            low, high = found[column + 2 * dim], found[column + 2 * dim + 1]
            place = low + int(np.searchsorted(table[dim, low : high + 1], row[tiles + dim]))
            parts = rng.integers(low, place + 1), rng.integers(place, high + 1)
            found[column + 2 * dim : column + 2 * dim + 2] = (
                (place, place) if single and column == 0 else parts
            )
    return found
