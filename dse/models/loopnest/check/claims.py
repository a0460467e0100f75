"""Claims under `loopnest`: bounds rule out all shapes but some, and no mapping of those is below the best.

The shapes are bounded all of them and in other code (`outer_check`). Of those that are left, inner tiles
drawn at random are priced by the cost model, with every order.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import islice, product
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import numpy as np

from dse.core.certificate import OPTIMAL, Certificate
from dse.core.layer import DIMS
from dse.core.objective import objective_named
from dse.core.proofs import Check
from dse.domains.clustered.check.any_size import any_checks
from dse.domains.clustered.check.enumeration import (
    Groups,
    allowed_orders,
    allowed_parallels,
    group_keys,
    inner_cuts,
)
from dse.domains.clustered.check.limits import limit_checks
from dse.domains.clustered.mapping import MappingBatch, whole_filter_rows
from dse.domains.clustered.problem import Problem
from dse.domains.clustered.space.genes import MAPPED_DIMS
from dse.models.loopnest.check.least_cost import LeastCost
from dse.models.loopnest.check.outer_check import Outer, output_words
from dse.models.loopnest.units import in_units, l1_a_mac, of_tensors
from dse.support.arrays import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from dse.models.loopnest import LoopNest

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
        outer = np.repeat(outer_orders, len(inner_orders), axis=0)
        inner = np.tile(inner_orders, (len(outer_orders), 1))
        yield whole_filter_rows(
            layer,
            cluster,
            (DIMS.index(outer_parallel), outer, tiles),
            (DIMS.index(parallel), inner, inner_tiles),
        )


@cache
def _distinct(orders: tuple[tuple[str, ...], ...], moves: tuple[bool, ...]) -> IntArray:
    """One of the orders for each way in which the dims that move can be ordered: a row of dims each."""
    found: dict[tuple[str, ...], list[int]] = {}
    moving = {dim for dim, move in zip(MAPPED_DIMS, moves, strict=True) if move}
    for order in orders:
        nesting = tuple(dim for dim in order if dim in moving)
        found.setdefault(nesting, [DIMS.index(dim) for dim in order])
    return np.array(list(found.values()), dtype=np.int64)


@dataclass(frozen=True)
class Coverage:
    """How many shapes there are, and which are below a target: tiles, cluster size, parallel dim."""

    shapes: int
    below: list[tuple[tuple[int, ...], int, str]]


def cover_shapes(problem: Problem, target: tuple[float, float]) -> Coverage:
    """The shapes that are not ruled out at `target`: a loss and its tie break."""
    shapes, below = 0, []
    for tiles, clusters in Groups(problem).chunks():
        for parallel in allowed_parallels(problem, "outer"):
            shapes += len(clusters)
            # With one cluster all parallel dims are the same.
            alone = clusters == problem.accelerator.num_pes
            alone &= parallel != allowed_parallels(problem, "outer")[0]
            rows = np.flatnonzero(~alone)
            outer = Outer(problem, tiles, clusters, parallel).rows(rows)
            outer = outer.rows(np.flatnonzero(outer.fits & outer.busy_enough))
            if not len(outer.clusters):
                continue
            left = outer.rows(np.flatnonzero(_not_ruled_out(problem, outer, target)))
            below += [(*group, parallel) for group in group_keys(left.tiles, left.clusters)]
    return Coverage(shapes, below)


def _not_ruled_out(problem: Problem, outer: Outer, target: tuple[float, float]) -> BoolArray:
    """Whether some outer order of a shape could have less than the target."""
    found = _below(figures(problem, *outer.least_of_any_order), target)
    # Orders are gone through only where words and work alone do not rule a shape out.
    rows = np.flatnonzero(found)
    part = outer.rows(rows)
    found[rows] = False
    for order in allowed_orders(problem, "outer"):
        if len(rows):
            found[rows] |= _below(figures(problem, *part.least(order)), target)
    return found


def _below(found: tuple[FloatArray, FloatArray], target: tuple[float, float]) -> BoolArray:
    losses, tie_breaks = found
    less: BoolArray = (losses < target[0]) | ((losses == target[0]) & (tie_breaks < target[1]))
    return less


def figures(problem: Problem, cycles: IntArray, dram: IntArray) -> tuple[FloatArray, FloatArray]:
    """The least loss and its tie break: every word goes over the NoC, each once."""
    layer = problem.layer
    of_input, of_weights, of_output = of_tensors(layer, problem.accelerator)
    inputs = layer.C * of_input
    for outputs, reads in zip(layer.output, layer.reads, strict=True):
        inputs *= outputs * reads.pitch + reads.overlap
    words = inputs + layer.K * layer.C * of_weights + of_output * output_words(layer)
    constants = in_units(cast("LoopNest", problem.model).constants, problem.accelerator)
    energy = 1e-3 * (
        layer.macs * constants.mac_pj
        + (float(l1_a_mac(problem.accelerator)) * layer.macs + words) * constants.l1_pj
        + words * constants.noc_pj
        + (words + dram) * constants.l2_pj
        + dram * constants.dram_pj
    )
    figures = SimpleNamespace(cycles=cycles, energy_nj=energy)
    losses = objective_named(problem.objective).value(figures, problem.accelerator.hertz)
    tie_breaks = cycles.astype(np.float64) if objective_named(problem.objective).of_energy_alone else energy
    return np.asarray(losses, dtype=np.float64), np.asarray(tie_breaks, dtype=np.float64)
