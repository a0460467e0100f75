"""The choices that a problem leaves to a mapping, as the tables that the solvers' kernels take."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from dse.core.chains import Chain
from dse.domains.clustered.problem import Problem
from dse.domains.clustered.space import parts
from dse.domains.clustered.space.genes import LEVELS, MAPPED_DIMS, ORDERS, allowed_values
from dse.support.arrays import IntArray

ORDER_TABLE = np.array([[MAPPED_DIMS.index(dim) for dim in order] for order in ORDERS], dtype=np.int64)
"""The loop orders, as dims from the outermost in: (24, 4)."""


def tile_chains(problem: Problem) -> list[Chain]:
    """The tile choices of K, C, Y and X."""
    space = problem.space
    return list(parts.tile_chains(space.layer, problem.tiles, space.fixed, parts.SPACES["default"]))


def cluster_sizes(problem: Problem) -> IntArray:
    """The cluster sizes that are allowed."""
    sizes = allowed_values(problem.space.fixed, "cluster")
    return np.array(problem.accelerator.cluster_sizes if sizes is None else sizes, dtype=np.int64)


def parallel_choices(problem: Problem, level: str) -> list[str]:
    """The dims that may be parallel at a level, as the space calls them."""
    allowed = allowed_values(problem.space.fixed, f"{level}.parallel")
    return [dim for dim in problem.parts.dims if allowed is None or dim in allowed]


def parallel_dims(problem: Problem) -> list[list[int]]:
    """By level, the positions of the dims to try as the parallel one; in a depthwise layer K means C."""
    first = 1 if problem.layer.type == "DSCONV" else 0
    found = []
    for name in LEVELS:
        dims = [dim for dim in parallel_choices(problem, name) if dim in MAPPED_DIMS]
        found.append(sorted({max(MAPPED_DIMS.index(dim), first) for dim in dims}))
    return found


def allowed_orders(problem: Problem) -> list[list[int]]:
    """By level, the positions of the loop orders that are allowed."""
    allowed = [allowed_values(problem.space.fixed, f"{name}.order") for name in LEVELS]
    return [
        [place for place, order in enumerate(ORDERS) if some is None or list(order) in some]
        for some in allowed
    ]


def order_nestings(orders: Sequence[int], dims: Collection[int]) -> dict[tuple[int, ...], int]:
    """The ways in which `dims` are nested by some loop orders, each with the first order that does so."""
    found: dict[tuple[int, ...], int] = {}
    for order in orders:
        found.setdefault(tuple(dim for dim in ORDER_TABLE[order].tolist() if dim in dims), order)
    return found
