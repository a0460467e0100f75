"""Inner problems once more, to check certificates with: solved by the cost model.

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
from dse.domains.clustered.mapping import INNER_TILE, MappingBatch, whole_filter_rows
from dse.domains.clustered.problem import Problem
from dse.domains.clustered.space.genes import MAPPED_DIMS, ORDERS
from dse.support.arrays import IntArray

BATCH = 100_000
FILTER = "RS"
NO_PIECES: Mapping[str, int] = {}


class Fewest(NamedTuple):
    """The fewest cycles of an inner problem (None if nothing fits in L1), and how many rows were priced."""

    cycles: int | None
    rows: int


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
