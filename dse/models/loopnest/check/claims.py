"""Claims under `loopnest`: bounds rule out all shapes but some, and no mapping of those is below the best.

The shapes are bounded all of them and in other code (`coverage`). Of those that are left, inner tiles drawn
at random are priced by the cost model, with every order.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache
from itertools import islice, product

import numpy as np

from dse.core.certificate import OPTIMAL, Certificate
from dse.core.layer import DIMS
from dse.core.proofs import Check
from dse.domains.clustered.check.any_size import any_checks
from dse.domains.clustered.check.enumeration import (
    allowed_orders,
    allowed_parallels,
    inner_cuts,
)
from dse.domains.clustered.check.limits import limit_checks
from dse.domains.clustered.mapping import (
    CLUSTER,
    COLUMNS,
    INNER_ORDER,
    INNER_PARALLEL,
    INNER_TILE,
    OUTER_ORDER,
    OUTER_PARALLEL,
    OUTER_TILE,
    MappingBatch,
)
from dse.domains.clustered.problem import Problem
from dse.domains.clustered.space.genes import MAPPED_DIMS
from dse.models.loopnest.check.coverage import Coverage, cover_shapes
from dse.models.loopnest.check.least_cost import LeastCost
from dse.support.arrays import IntArray

ROWS, WAYS, ALL_WAYS = 500_000, 200, 6000
"""How many mappings of shapes that are left to price; how many choices of inner tiles and parallel dim of a
shape, and of all shapes, each with every order."""

Shape = tuple[tuple[int, ...], int, str]


def checks(problem: Problem, certificate: Certificate, rng: np.random.Generator) -> tuple[Check, ...]:
    """Check what only `loopnest` certificates claim."""
    kept = limit_checks(problem, certificate)
    if problem.tiles == "any":
        return (*kept, *any_checks(problem, certificate, rng, LeastCost(problem)))
    best = certificate.best
    target = (certificate.lower_bound, -math.inf)
    if certificate.status == OPTIMAL and best is not None:
        target = (best.loss, best.tie_break(problem.objective))
    covered = cover_shapes(problem, target)
    return *kept, _searched(problem, certificate, covered, rng)


def _searched(
    problem: Problem, certificate: Certificate, covered: Coverage, rng: np.random.Generator
) -> Check:
    """Whether mappings of the shapes that are left are below the bound."""
    priced, ways, shapes, least = 0, 0, 0, math.inf
    for place in rng.permutation(len(covered.below)).tolist():
        batch = list(islice(every_mapping(problem, covered.below[place], rng), WAYS))
        rows = np.concatenate(batch)
        least = min(least, float(problem.evaluate(MappingBatch(rows)).loss.min()))
        priced, ways, shapes = priced + len(rows), ways + len(batch), shapes + 1
        if priced >= ROWS or ways >= ALL_WAYS:
            break
    left = len(covered.below)
    seen = f"{covered.shapes - left:,} of {covered.shapes:,} shapes ruled out, {priced:,} mappings of "
    seen += f"{shapes:,} of the others priced"
    holds = not least < certificate.lower_bound
    name = "no mapping of a shape that is left is below the bound"
    return Check(name, holds, seen if holds else f"{least!r}: {seen}")


def every_mapping(problem: Problem, shape: Shape, rng: np.random.Generator) -> Iterator[IntArray]:
    """All mappings of a shape whose costs may differ, in random order of their inner tiles, some at a time.

    The place of a loop of one step changes nothing, nor does the parallel dim of a single PE or cluster.
    """
    tiles, cluster, outer_parallel = shape
    layer, machine = problem.layer, problem.accelerator
    clusters = machine.num_pes // cluster
    spans = [
        tile * (clusters if dim == outer_parallel else 1)
        for dim, tile in zip(MAPPED_DIMS, tiles, strict=True)
    ]
    outer_orders = _distinct(
        tuple(allowed_orders(problem, "outer")),
        tuple(layer.loops[dim] > span for dim, span in zip(MAPPED_DIMS, spans, strict=True)),
    )
    inner_allowed = tuple(allowed_orders(problem, "inner"))
    parallels = allowed_parallels(problem, "inner")
    ways = list(product(product(*inner_cuts(problem, tiles)), parallels if cluster > 1 else parallels[:1]))
    for way in rng.permutation(len(ways)).tolist():
        inner_tiles, parallel = ways[way]
        moves = tuple(
            outer > inner * (cluster if dim == parallel else 1)
            for dim, outer, inner in zip(MAPPED_DIMS, tiles, inner_tiles, strict=True)
        )
        inner_orders = _distinct(inner_allowed, moves)
        rows = np.empty((len(outer_orders) * len(inner_orders), COLUMNS), dtype=np.int64)
        rows[:, OUTER_PARALLEL], rows[:, INNER_PARALLEL] = DIMS.index(outer_parallel), DIMS.index(parallel)
        rows[:, OUTER_TILE:CLUSTER] = [*tiles, layer.R, layer.S]
        rows[:, CLUSTER] = cluster
        rows[:, INNER_TILE:COLUMNS] = [*inner_tiles, layer.R, layer.S]
        rows[:, OUTER_ORDER:OUTER_TILE] = np.repeat(outer_orders, len(inner_orders), axis=0)
        rows[:, INNER_ORDER:INNER_TILE] = np.tile(inner_orders, (len(outer_orders), 1))
        yield rows


@cache
def _distinct(orders: tuple[tuple[str, ...], ...], moves: tuple[bool, ...]) -> IntArray:
    """One of the orders for each way in which the dims that move can be ordered: a row of dims each."""
    found: dict[tuple[str, ...], list[int]] = {}
    moving = {dim for dim, move in zip(MAPPED_DIMS, moves, strict=True) if move}
    for order in orders:
        nesting = tuple(dim for dim in order if dim in moving)
        found.setdefault(nesting, [DIMS.index(dim) for dim in (*order, "R", "S")])
    return np.array(list(found.values()), dtype=np.int64)
