"""Mappings with tiles of any size beside those that a proof looks at in their place."""

from __future__ import annotations

import numpy as np

from dse.core.layer import DIMS, Layer
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
from dse.domains.clustered.problem import Problem
from dse.models.loopnest.bound.dominance import count_undominated
from dse.models.loopnest.params import machine_params
from dse.support.arrays import BoolArray, IntArray
from tests.optimum.any_cases import count, random_problem

Y, X = DIMS.index("Y"), DIMS.index("X")


def mirrored(rows: IntArray) -> IntArray:
    """The mappings with Y and X in each other's place."""
    found, swap = rows.copy(), np.arange(len(DIMS))
    swap[[Y, X]] = X, Y
    for start in (OUTER_TILE, INNER_TILE):
        found[:, [start + Y, start + X]] = rows[:, [start + X, start + Y]]
    for start in (OUTER_ORDER, INNER_ORDER):
        found[:, start : start + len(DIMS)] = swap[rows[:, start : start + len(DIMS)]]
    for column in (OUTER_PARALLEL, INNER_PARALLEL):
        found[:, column] = swap[rows[:, column]]
    return found


def square_layer(rng: np.random.Generator, most: int) -> Layer:
    """A layer whose rows are like its columns."""
    filters, more = int(rng.integers(1, 4)), int(rng.integers(1, most))
    stride, padding = (int(rng.integers(1, 3)),) * 2, (int(rng.integers(filters)),) * 2
    channels, size = rng.integers(1, most, 2).tolist(), filters + more
    if rng.random() < 0.3:
        return Layer("DSCONV", 1, channels[1], size, size, filters, filters, stride=stride, padding=padding)
    return Layer(
        "CONV", channels[0], channels[1], size, size, filters, filters, stride=stride, padding=padding
    )


def square_problem(seed: int, most: int) -> Problem:
    """A problem of at most so many mappings whose rows are like its columns."""
    rng = np.random.default_rng(seed)
    while True:
        problem = random_problem(rng, ("latency", "energy", "edp")[seed % 3], 10**12)
        problem = problem.with_changes(layer=square_layer(rng, 4), fixed={})
        if count(problem) <= most and problem.layer.loops["Y"] > 1:
            return problem


def undominated(problem: Problem, row: IntArray, dim: int) -> BoolArray:
    """Of outer tiles by rows and inner ones by columns from 1 on, whether a pair is not dominated."""
    layer, machine = problem.layer, problem.accelerator
    known, _ = machine_params(layer, machine, problem.model.constants)  # type: ignore[attr-defined]
    depthwise = layer.type == "DSCONV"
    outer, inner = (max(int(row[at]), depthwise) for at in (OUTER_PARALLEL, INNER_PARALLEL))
    cluster, size = int(row[CLUSTER]), layer.loops[DIMS[dim]]
    counts = np.zeros((size + 1, size + 1), np.int32)
    across, places = machine.num_pes // cluster if dim == outer else 1, cluster if dim == inner else 1
    count_undominated(known, dim, across, places, counts)
    found: BoolArray = np.diff(np.diff(counts, axis=0), axis=1) > 0
    return found


def best_in_place(problem: Problem, row: IntArray, dim: int) -> tuple[float, float]:
    """The loss of a mapping, and the least with an undominated pair of tiles no larger than its own."""
    pairs = undominated(problem, row, dim)
    size = len(pairs)
    outer = min(int(row[OUTER_TILE + dim]), size)
    tiles = np.argwhere(pairs[:outer, : min(int(row[INNER_TILE + dim]), outer)]) + 1
    rows = np.repeat(row[np.newaxis], len(tiles), axis=0)
    rows[:, OUTER_TILE + dim], rows[:, INNER_TILE + dim] = tiles.T
    losses = problem.evaluate(MappingBatch(np.vstack([row, rows]))).loss
    return float(losses[0]), float(losses[1:].min())
