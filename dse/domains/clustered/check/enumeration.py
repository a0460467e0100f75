"""The choices that a problem leaves to a mapping, listed once more: nothing is shared with the solver."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dse.core.chains import find_divisors
from dse.domains.clustered.problem import Problem
from dse.domains.clustered.space.genes import MAPPED_DIMS, ORDERS, allowed_values

CHUNK = 8192


def allowed_parallels(problem: Problem, level: str) -> list[str]:
    """The dims that may be parallel at a level; in a depthwise layer a parallel K means C."""
    allowed = allowed_values(problem.space.fixed, f"{level}.parallel")
    named = list(problem.parts.dims) if allowed is None else allowed
    if problem.layer.type == "DSCONV":
        named = ["C" if dim == "K" else dim for dim in named]
    return sorted(set(named))


def allowed_orders(problem: Problem, level: str) -> list[tuple[str, ...]]:
    """The loop orders that are allowed at a level."""
    allowed = allowed_values(problem.space.fixed, f"{level}.order")
    return [tuple(order) for order in ORDERS if allowed is None or list(order) in allowed]


def smallest_tiles(problem: Problem) -> list[int]:
    """The smallest inner tiles of K C Y X that are allowed."""
    fixed: Mapping[str, Any] = problem.space.fixed
    return [fixed.get(f"inner.tile.{dim}", 1) for dim in MAPPED_DIMS]


def inner_cuts(problem: Problem, tiles: tuple[int, ...]) -> list[list[int]]:
    """The inner tiles of K C Y X that outer `tiles` can be cut into."""
    fixed: Mapping[str, Any] = problem.space.fixed
    return [
        [fixed[name]] if (name := f"inner.tile.{dim}") in fixed else list(find_divisors(tile))
        for dim, tile in zip(MAPPED_DIMS, tiles, strict=True)
    ]
