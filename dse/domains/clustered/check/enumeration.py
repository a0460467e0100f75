"""The choices that a problem leaves to a mapping, listed once more: nothing is shared with the solver."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from dse.core.chains import find_divisors
from dse.domains.clustered.problem import Problem
from dse.domains.clustered.space.genes import MAPPED_DIMS, ORDERS, allowed_values
from dse.support.arrays import IntArray

CHUNK = 8192


class Group(NamedTuple):
    """Outer tiles of K C Y X and a cluster size."""

    tiles: tuple[int, ...]
    cluster: int


class Groups:
    """The outer tiles of a problem with all its cluster sizes, by number."""

    def __init__(self, problem: Problem) -> None:
        fixed: Mapping[str, Any] = problem.space.fixed
        self._choices: list[IntArray] = []
        for dim in MAPPED_DIMS:
            inner, outer = fixed.get(f"inner.tile.{dim}", 1), fixed.get(f"outer.tile.{dim}")
            found = find_divisors(problem.space.layer.loops[dim]) if outer is None else [outer]
            self._choices.append(np.array([tile for tile in found if tile % inner == 0], dtype=np.int64))
        allowed = allowed_values(fixed, "cluster")
        sizes = problem.accelerator.cluster_sizes if allowed is None else allowed
        self._choices.append(np.array(sizes, dtype=np.int64))

    def __len__(self) -> int:
        return math.prod(map(len, self._choices))

    def __getitem__(self, numbers: IntArray) -> tuple[dict[str, IntArray], IntArray]:
        """The tiles, by dim, and the cluster sizes of the groups of these numbers."""
        indices = np.unravel_index(numbers, [len(values) for values in self._choices])
        *tiles, clusters = (values[index] for values, index in zip(self._choices, indices, strict=True))
        return dict(zip(MAPPED_DIMS, tiles, strict=True)), clusters

    def chunks(self) -> Iterator[tuple[dict[str, IntArray], IntArray]]:
        """All of them, some thousands at a time."""
        for start in range(0, len(self), CHUNK):
            yield self[np.arange(start, min(start + CHUNK, len(self)))]


def group_keys(tiles: Mapping[str, IntArray], clusters: IntArray) -> list[Group]:
    """The groups of a chunk, one by one."""
    columns = (tiles[dim].tolist() for dim in MAPPED_DIMS)
    return [Group(tuple(key), cluster) for *key, cluster in zip(*columns, clusters.tolist(), strict=True)]


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
