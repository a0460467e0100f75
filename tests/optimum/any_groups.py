"""The group that each mapping with tiles of any size is in, to set its price beside the group's bound."""

from __future__ import annotations

from typing import cast

import numpy as np

from dse.domains.clustered.mapping import (
    CLUSTER,
    INNER_PARALLEL,
    OUTER_PARALLEL,
    OUTER_TILE,
    MappingBatch,
)
from dse.domains.clustered.problem import Problem
from dse.domains.clustered.proof.certifiers import certifier_of
from dse.domains.clustered.proof.choices import cluster_sizes, parallel_dims
from dse.domains.clustered.space.genes import MAPPED_DIMS
from dse.models.loopnest.proof.boxes.bounds import MIRRORED, BoxBounds, intervals
from dse.support.arrays import FloatArray, IntArray


def margins(problem: Problem, rng: np.random.Generator, drawn: int) -> FloatArray:
    """Of random feasible mappings, the loss over the bound of the group: never below 1.

    No mapping is left out as the mirror image of another, or as dominated.
    """
    bounds = cast("BoxBounds", certifier_of(problem).make_bounds(problem))
    bounds._figures[0][MIRRORED], bounds.__dict__["_pairs"] = 0, None
    losses, ties = np.empty((2, bounds.groups))
    bounds.bound(0, bounds.groups, losses, ties)
    rows = problem.space.decode(problem.space.sample(rng, drawn)).rows
    found = problem.evaluate(MappingBatch(rows)).loss
    feasible = np.isfinite(found)
    known = losses[_groups(problem, rows[feasible])]
    ratios: FloatArray = found[feasible] / known
    return ratios


def _groups(problem: Problem, rows: IntArray) -> IntArray:
    """The groups' numbers."""
    number = np.zeros(len(rows), np.int64)
    for place, dim in enumerate(MAPPED_DIMS):
        size = problem.layer.loops[dim]
        firsts = np.array([low for low, _ in intervals(size, 1, size)])
        tile = np.minimum(rows[:, OUTER_TILE + place], size)
        number = number * len(firsts) + np.searchsorted(firsts, tile, side="right") - 1
    clusters = cluster_sizes(problem)
    cluster = rows[:, CLUSTER]
    number = number * len(clusters) + np.searchsorted(clusters, cluster)
    # Where there is one cluster, or one PE in each, all parallel dims are the first.
    alone = (cluster == problem.accelerator.num_pes, cluster == 1)
    for column, dims, single in zip(
        (OUTER_PARALLEL, INNER_PARALLEL), parallel_dims(problem), alone, strict=True
    ):
        dim = np.maximum(rows[:, column], dims[0])
        number = number * len(dims) + np.where(single, 0, np.searchsorted(dims, dim))
    return number
