"""Boxes around mappings with tiles of any size, to set their bounds beside the mappings' prices."""

from __future__ import annotations

from typing import cast

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
from dse.domains.clustered.proof.certifiers import certifier_of
from dse.domains.clustered.proof.choices import ORDER_TABLE
from dse.models.loopnest.kernel import price_rows
from dse.models.loopnest.proof.boxes import bounds, box, inner, links, small, transitions
from dse.models.loopnest.proof.boxes.dims import COLUMNS, SHARES
from dse.models.loopnest.totals import COUNT_COLUMNS, CYCLES, DRAIN, FILL
from dse.support.arrays import FloatArray, IntArray
from tests.optimum.plain_kernels import plain

WIDEST = 4, 40
"""Tiles of an interval: few, or more than what makes a box small."""


def box_margins(problem: Problem, rng: np.random.Generator, drawn: int) -> FloatArray:
    """Of random feasible mappings, the loss over the bound of a small box with its tiles: never below 1."""
    rows = problem.space.decode(problem.space.sample(rng, drawn)).rows
    losses = problem.evaluate(MappingBatch(rows)).loss
    feasible = np.flatnonzero(np.isfinite(losses))
    found = [_bound(problem, _box(problem, rows[at], rng), rows[at]) for at in feasible]
    ratios: FloatArray = losses[feasible] / np.array(found)
    return ratios


def steady_margins(problem: Problem, rng: np.random.Generator, drawn: int) -> FloatArray:
    """Of random feasible mappings, the cycles of the outer steps over the bound of boxes: never below 1.

    The boxes are as in `box_margins`; where their outer steps are decided, both bounds count. The kernels are
    plain Python.
    """
    made = cast("bounds.BoxBounds", certifier_of(problem).make_bounds(problem))
    params, constants = made._params
    rows = problem.space.decode(problem.space.sample(rng, drawn)).rows
    details, reasons = np.zeros((drawn, COUNT_COLUMNS), np.int64), np.zeros(drawn, np.uint8)
    price_rows(
        params,
        constants,
        rows,
        0,
        drawn,
        details,
        np.zeros((4, drawn), np.int64),
        np.zeros((3, drawn)),
        reasons,
    )
    steady = details[:, CYCLES] - details[:, FILL] - details[:, DRAIN]
    feasible = np.flatnonzero(np.isfinite(problem.evaluate(MappingBatch(rows)).loss))
    found = [_steady(made, params[0], _box(problem, rows[at], rng), rows[at]) for at in feasible]
    ratios: FloatArray = steady[feasible] / np.array(found)
    return ratios


def _steady(made: bounds.BoxBounds, params: IntArray, tiles: IntArray, row: IntArray) -> float:
    """Cycles of the outer steps of a box, at least."""
    choice, table = _choice(made.problem, row), ORDER_TABLE
    dims, shares = np.zeros((4, COLUMNS), np.int64), np.zeros((4, SHARES))
    plain(box.measure)(tiles, choice, params, dims, shares)
    found = plain(transitions.between_steps)(tiles, choice, params, transitions.transition_scratch.py_func())
    if plain(links.link_decided)(tiles, choice, params):
        decided = plain(links.steady_cycles)(
            tiles, choice, params, made._orders[0], table, dims, links.link_scratch.py_func()
        )
        found = max(found, decided[0])
    return float(found)


def _choice(problem: Problem, row: IntArray) -> IntArray:
    """The cluster size and the parallel dims of a mapping, as kernels have them."""
    depthwise = problem.layer.type == "DSCONV"
    outer, within = (max(int(row[at]), depthwise) for at in (OUTER_PARALLEL, INNER_PARALLEL))
    return np.array([int(row[CLUSTER]), outer, within])


def _box(problem: Problem, row: IntArray, rng: np.random.Generator) -> IntArray:
    """Intervals of tiles that hold those of a mapping; often one of outer tiles, or of inner ones."""
    sizes = np.array([problem.layer.loops[dim] for dim in "KCYX"])
    outer = np.minimum(row[OUTER_TILE : OUTER_TILE + 4], sizes)
    tiles = np.minimum(row[INNER_TILE : INNER_TILE + 4], outer)
    lower, upper, less, more = rng.integers(0, rng.choice(WIDEST), (4, 4)) * (rng.random((4, 1)) < 0.7)
    high = np.minimum(outer + upper, sizes)
    columns = np.maximum(outer - lower, 1), high, np.maximum(tiles - less, 1), np.minimum(tiles + more, high)
    return np.stack(columns, axis=1)


def _bound(problem: Problem, tiles: IntArray, row: IntArray) -> float:
    """The bound of a box, as the search has it."""
    made = cast("bounds.BoxBounds", certifier_of(problem).make_bounds(problem))
    params, (sizes, constants, terms) = made._params[0], made._figures
    choice = _choice(problem, row)
    dims, shares = np.zeros((4, COLUMNS), np.int64), np.zeros((4, SHARES))
    fills, cases = np.zeros((2, 4, 3), np.int64), np.zeros((inner.CASES + 1, box.CASE_COLUMNS), np.int64)
    known, orders, table = np.zeros(10, np.int64), made._orders, ORDER_TABLE
    bound = box.bound_box(
        tiles, choice, params[0], sizes, constants, terms, orders[0], table, dims, shares, fills, cases,
        known, *bounds.NO_PAIRS,
    )  # fmt: skip
    scratch = links.link_scratch(), transitions.transition_scratch()
    further = small.bound_further(
        tiles, choice, params[0], constants, terms, orders, table, dims, cases, known[8], True, np.inf,
        small.small_scratch(params[0]), scratch, *bounds.NO_PAIRS,
    )  # fmt: skip
    return max(float(bound), float(further))
