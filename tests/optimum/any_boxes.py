"""Boxes around mappings, to set their bounds beside the mappings' prices."""

from __future__ import annotations

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
from dse.models.loopnest.bound.boxes import LoopNestBoxes
from dse.models.loopnest.bound.fitting import DOWN, UP
from dse.support.arrays import FloatArray, IntArray

WIDEST = 4, 40
"""Tiles of an interval: few, or more than what makes a box small."""


def box_margins(problem: Problem, rng: np.random.Generator, drawn: int, whole: float = 0.1) -> FloatArray:
    """Of random feasible mappings, the loss over the bound of a box with its tiles: never below 1.

    No mapping is left out as the mirror image of another, or as dominated; some boxes are of all tiles.
    """
    boxes = LoopNestBoxes(problem)
    boxes.__dict__["_known"], boxes.__dict__["_pairs"] = boxes._known._replace(alike=False), None
    rows = problem.space.decode(problem.space.sample(rng, drawn)).rows
    losses = problem.evaluate(MappingBatch(rows)).loss
    rows, losses = rows[np.isfinite(losses)], losses[np.isfinite(losses)]
    if not len(rows):
        return np.ones(1)
    around = np.array([_box(boxes, row, rng, rng.random() < whole) for row in rows])
    found: FloatArray = losses / boxes.bound(around, np.inf).losses
    return found


def _box(boxes: LoopNestBoxes, row: IntArray, rng: np.random.Generator, whole: bool) -> IntArray:
    """A box that holds a mapping; often of one outer tile in a dim, or of one inner one."""
    problem = boxes.problem
    sizes, dims = np.array([problem.layer.loops[dim] for dim in "KCYX"]), np.arange(4)
    outer = np.minimum(row[OUTER_TILE : OUTER_TILE + 4], sizes)
    tiles = np.minimum(row[INNER_TILE : INNER_TILE + 4], outer)
    lower, upper, less, more = rng.integers(0, rng.choice(WIDEST), (4, 4)) * (rng.random((4, 1)) < 0.7)
    if whole:
        lower = upper = less = more = sizes
    high = np.minimum(outer + upper, sizes)
    columns = np.maximum(outer - lower, 1), high, np.maximum(tiles - less, 1), np.minimum(tiles + more, high)
    ways = UP, DOWN, UP, DOWN
    ends = [boxes._known.tiles[way, dims, column] for way, column in zip(ways, columns, strict=True)]
    first = int(problem.layer.type == "DSCONV")
    choice = row[CLUSTER], max(row[OUTER_PARALLEL], first), max(row[INNER_PARALLEL], first)
    return np.array([*np.stack(ends, axis=1).ravel(), *choice])
