"""Inner problems once more, to check certificates with: bounded in NumPy, solved by the cost model.

A cluster at work on an outer tile is a whole accelerator at work on a small layer: the cost model itself can
price every inner level there is. Nothing here is shared with the solver.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import NamedTuple

import numpy as np

from dse.core.figures import CostBatch
from dse.core.layer import DIMS, Layer
from dse.domains.clustered.accelerator import MAX_FIGURE, Accelerator
from dse.domains.clustered.check.enumeration import (
    allowed_orders,
    allowed_parallels,
    inner_cuts,
    smallest_tiles,
)
from dse.domains.clustered.check.limits import most_steps, room_of
from dse.domains.clustered.mapping import INNER_TILE, MappingBatch, whole_filter_rows
from dse.domains.clustered.problem import Problem
from dse.domains.clustered.space.genes import MAPPED_DIMS, ORDERS
from dse.support.arrays import BoolArray, IntArray

BATCH = 100_000
FILTER = "RS"
NO_PIECES: Mapping[str, int] = {}


def cycles_below_none(problem: Problem, tiles: dict[str, IntArray], clusters: IntArray) -> IntArray:
    """Cycles that no inner level of n groups is below: its work on the busiest PE after its first data.

    The first data are those of the smallest tiles; along the parallel dim either every PE has such a tile or
    the PEs together have the whole loop.
    """
    layer, machine = problem.space.layer, problem.accelerator
    halos = {"K": 0, "C": 0, "Y": layer.R - 1, "X": layer.S - 1}
    smallest = dict(zip(MAPPED_DIMS, smallest_tiles(problem), strict=True))
    bounds = []
    for parallel in allowed_parallels(problem, "inner"):
        work = busiest_steps(problem, tiles, clusters, parallel, smallest[parallel])
        held = {dim: np.full_like(clusters, smallest[dim] + halos[dim]) for dim in MAPPED_DIMS}
        held[parallel] = np.minimum(clusters * held[parallel], tiles[parallel] + halos[parallel])
        inputs = held["C"] * held["Y"] * held["X"]
        weights = layer.R * layer.S * held["C"] * (1 if layer.type == "DSCONV" else held["K"])
        into = machine.noc_latency - 1 + -(-(inputs + weights) // machine.noc_bandwidth)
        bounds.append(-(-work // machine.simd_lanes) + into)
    least: IntArray = np.minimum.reduce(bounds)
    return least


def least_steps(problem: Problem, tiles: dict[str, IntArray], clusters: IntArray) -> IntArray:
    """Steps of the busiest PE, each on a lane, that no inner level of n groups is below."""
    smallest = dict(zip(MAPPED_DIMS, smallest_tiles(problem), strict=True))
    parallels = allowed_parallels(problem, "inner")
    steps = [busiest_steps(problem, tiles, clusters, dim, smallest[dim]) for dim in parallels]
    least: IntArray = np.minimum.reduce(steps)
    return least


def busiest_steps(
    problem: Problem, tiles: Mapping[str, IntArray], clusters: IntArray, parallel: str, inner: IntArray | int
) -> IntArray:
    """Steps of the busiest PE over outer tiles, with this inner tile along the parallel dim.

    Larger tiles leave it no less: it has a whole one in each round, the last one too.
    """
    layer = problem.space.layer
    steps = layer.R * layer.S * inner * -(-tiles[parallel] // (inner * clusters))
    for dim in MAPPED_DIMS:
        steps = steps if dim == parallel else steps * tiles[dim]
    return steps


def steps_left(
    problem: Problem, tiles: Mapping[str, IntArray], clusters: IntArray, parallel: str
) -> IntArray | None:
    """Steps that limits leave to the busiest PE in an outer step of n groups; None where none ask for any."""
    most = most_steps(problem)
    if most is None:
        return None
    steps = np.ones_like(clusters)
    for dim in MAPPED_DIMS:
        span = tiles[dim] * (problem.accelerator.num_pes // clusters if dim == parallel else 1)
        steps = steps * -(-problem.space.layer.loops[dim] // span)
    return most // steps


class Fewest(NamedTuple):
    """The fewest cycles of an inner problem (None if nothing fits in L1), and how many rows were priced."""

    cycles: int | None
    rows: int


def fewest_cycles(
    problem: Problem, tiles: tuple[int, ...], cluster: int, most_rows: int, outer: str = ""
) -> Fewest | None:
    """The fewest cycles of a cluster over an outer tile, of all inner levels that fit in L1, and, with the
    `outer` parallel dim, keep as many PEs busy as limits ask for.

    None if there are more than `most_rows` of them.
    """
    small, alone, first = _small_problem(problem, tiles, cluster)
    choices = _inner_tiles(problem, tiles)
    # The need of L1 depends on inner tiles alone: any parallel dim and order says it.
    needs = _evaluate(problem, small, alone, choices, ["C"], ORDERS[:1]).l1_size
    fitting = choices[needs <= room_of(problem)[0]]
    parallels, orders = allowed_parallels(problem, "inner"), allowed_orders(problem, "inner")

    def price(part: IntArray) -> IntArray:
        cycles = _evaluate(problem, small, alone, part, parallels, orders).cycles - first
        if not outer:
            return cycles
        busy = [_keeps_busy(problem, tiles, cluster, outer, dim, part) for dim in parallels]
        return cycles[np.repeat(np.stack(busy, axis=1), len(orders), axis=1).ravel()]

    return _fewest(price, fitting, len(parallels) * len(orders), most_rows)


def fewest_of(
    problem: Problem, tiles: tuple[int, ...], cluster: int, inner: IntArray, parallel: str, most_rows: int
) -> Fewest | None:
    """The fewest cycles of a cluster over an outer tile, of those inner tiles (n, 4) in any order that fit in
    L1; None if there are more than `most_rows`. A `parallel` filter dim is in as many pieces as PEs.
    """
    small, alone, first = _small_problem(problem, tiles, cluster)
    pieces = {parallel: small.loops[parallel] // cluster} if parallel in FILTER else {}

    def price(part: IntArray) -> IntArray:
        costs = _evaluate(problem, small, alone, part, [parallel], ORDERS, pieces)
        return costs.cycles[costs.l1_size <= problem.accelerator.l1_size] - first

    return _fewest(price, inner, len(ORDERS), most_rows)


def _fewest(
    price: Callable[[IntArray], IntArray], inner: IntArray, ways: int, most_rows: int
) -> Fewest | None:
    """The fewest cycles of inner tiles (n, 4), each priced in so many ways."""
    if len(inner) * ways > most_rows:
        return None
    share = max(1, BATCH // ways)
    every = [price(inner[start : start + share]) for start in range(0, len(inner), share)]
    least = min((int(cycles.min()) for cycles in every if len(cycles)), default=None)
    return Fewest(least, len(inner) * ways)


def _keeps_busy(
    problem: Problem, tiles: tuple[int, ...], cluster: int, outer: str, parallel: str, inner: IntArray
) -> BoolArray:
    """Which inner tiles (n, 4) keep as many PEs busy as limits ask for."""
    sizes = {dim: np.array([tile]) for dim, tile in zip(MAPPED_DIMS, tiles, strict=True)}
    left = steps_left(problem, sizes, np.array([cluster]), outer)
    if left is None:
        return np.ones(len(inner), dtype=bool)
    piece = inner[:, MAPPED_DIMS.index(parallel)]
    found: BoolArray = busiest_steps(problem, sizes, np.array([cluster]), parallel, piece) <= left
    return found


def smallest_l1(problem: Problem) -> int:
    """Elements of L1 that the smallest inner tiles need; no mapping needs less."""
    tiles = tuple(smallest_tiles(problem))
    small, alone, _ = _small_problem(problem, tiles, 1)
    costs = _evaluate(problem, small, alone, np.array([tiles], dtype=np.int64), ["C"], ORDERS[:1])
    return int(costs.l1_size[0])


def _small_problem(problem: Problem, tiles: tuple[int, ...], cluster: int) -> tuple[Layer, Accelerator, int]:
    """A layer of one outer tile, a machine of one cluster, and the cycles until the tile's data are in.

    Once they are, nothing but the inner level holds the machine up.
    """
    layer, machine = problem.space.layer, problem.accelerator
    k, c, y, x = tiles
    small = Layer(layer.type, k, c, y + layer.R - 1, x + layer.S - 1, layer.R, layer.S)
    alone = replace(machine, num_pes=cluster, offchip_bandwidth=MAX_FIGURE)
    data = small.C * small.Y * small.X + small.K * small.C * small.R * small.S
    return small, alone, machine.noc_latency - 1 + -(-data // machine.noc_bandwidth)


def _inner_tiles(problem: Problem, tiles: tuple[int, ...]) -> IntArray:
    """Every choice of inner tiles of an outer tile: (n, 4); where L1 is part of the loss, the smallest."""
    if problem.objective in ("area_maestro", "power"):
        return np.array([smallest_tiles(problem)], dtype=np.int64)
    return np.array(list(product(*inner_cuts(problem, tiles))), dtype=np.int64)


def _evaluate(
    problem: Problem,
    layer: Layer,
    machine: Accelerator,
    tiles: IntArray,
    parallels: list[str],
    orders: Sequence[tuple[str, ...]],
    pieces: Mapping[str, int] = NO_PIECES,
) -> CostBatch:
    """Prices one outer tile with all combinations of inner tiles, parallel dims and orders; `pieces` are
    inner tiles of filter dims that are not whole."""
    ways = [[DIMS.index(dim) for dim in (parallel, *order)] for parallel, order in product(parallels, orders)]
    inner = np.tile(ways, (len(tiles), 1))
    rows = whole_filter_rows(
        layer,
        machine.num_pes,
        (DIMS.index("C"), np.tile(np.arange(4), (len(inner), 1)), [layer.loops[dim] for dim in MAPPED_DIMS]),
        (inner[:, 0], inner[:, 1:], np.repeat(tiles, len(ways), axis=0)),
    )
    for dim, piece in pieces.items():
        rows[:, INNER_TILE + DIMS.index(dim)] = piece
    return problem.model.evaluate(layer, machine, MappingBatch(rows))
