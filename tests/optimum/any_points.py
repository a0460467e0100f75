"""Boxes of outer tiles around mappings under `maestro`, to set their bounds beside the mappings' prices."""

from __future__ import annotations

import math

import numpy as np

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
from dse.models.maestro.proof.bounds import make_boxes
from dse.models.maestro.proof.records import Given
from dse.support.arrays import FloatArray, IntArray


def point_margins(problem: Problem, rng: np.random.Generator, drawn: int) -> FloatArray:
    """Of random feasible mappings, the loss over the bound of a box that holds it: never below 1.

    Every second box has the mapping's own outer tiles only; some of those have its inner parallel dim, and
    inner tiles around its own.
    """
    boxes = make_boxes(problem)
    rows = problem.space.decode(problem.space.sample(rng, drawn)).rows
    losses = problem.evaluate(MappingBatch(rows)).loss
    feasible = np.flatnonzero(np.isfinite(losses))
    around = [_around(row, boxes.roots()[0], boxes.given, rng) for row in rows[feasible]]
    ratios: FloatArray = (
        losses[feasible] / boxes.bound(np.array(around, np.int64).reshape(-1, box.ROW), math.inf).losses
    )
    return ratios


def _around(row: IntArray, root: IntArray, given: Given, rng: np.random.Generator) -> IntArray:
    """A box that holds the mapping of a row."""
    found, single, chosen = root.copy(), rng.random() < 0.5, rng.random() < 0.5
    found[box.CLUSTER], depthwise = row[CLUSTER], given.layers["depthwise"][0]
    found[box.CLUSTERS] = found[box.PES] // row[CLUSTER]
    found[box.PARALLEL] = max(row[OUTER_PARALLEL], depthwise)
    tables = (given.outer_tiles, OUTER_TILE, 0, single), (given.inner_tiles, INNER_TILE, 8, False)
    for table, tiles, column, one in tables:
        for dim in range(4):
            low, high = found[column + 2 * dim], found[column + 2 * dim + 1]
            place = low + int(np.searchsorted(table[dim, low : high + 1], row[tiles + dim]))
            parts = (place, place) if one else (rng.integers(low, place + 1), rng.integers(place, high + 1))
            if column == 0 or (single and chosen):
                found[column + 2 * dim : column + 2 * dim + 2] = parts
    if single and chosen:
        found[box.INNER] = max(row[INNER_PARALLEL], depthwise)
    return found
