"""What the certifiers of all cost models share: bounds in blocks while there is time, the best mapping."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple, TypeVar

import numpy as np

from dse.optimum.certificate import Best, priced
from dse.problem.problem import Problem
from dse.space.genes import LEVELS, MAPPED_DIMS, ORDERS
from dse.spec.mapping import Level, Mapping
from dse.support.arrays import FloatArray

Item = TypeVar("Item")
Result = TypeVar("Result")

BLOCK = 4096
"""Groups bounded between two looks at the clock."""


class Bounds(NamedTuple):
    """By group: a loss that none of its mappings is below, and what to prefer among equal losses.

    Both are inf where nothing fits in the buffers. Groups beyond the arrays have not been bounded.
    """

    losses: FloatArray
    beside: FloatArray
    complete: bool


def bound_in_blocks(
    groups: int, bound: Callable[[int, int, FloatArray, FloatArray], object], deadline: float, threads: int
) -> Bounds:
    """Bound the groups, in their order, until the deadline; at least one block of them.

    `bound(start, stop, losses, beside)` writes the bounds of the groups from `start` up to `stop`.
    """
    losses, beside = np.empty((2, groups))
    starts = range(0, groups, BLOCK)

    def bound_block(start: int) -> int:
        """Where the next block begins, or 0 if the time was over."""
        if start > 0 and time.perf_counter() > deadline:
            return 0
        stop = min(start + BLOCK, groups)
        bound(start, stop, losses[start:stop], beside[start:stop])
        return stop

    ends = in_threads(bound_block, starts, threads)
    done = next((start for start, end in zip(starts, ends, strict=True) if end == 0), groups)
    return Bounds(losses[:done], beside[:done], complete=done == groups)


def in_threads(work: Callable[[Item], Result], items: Sequence[Item], threads: int) -> list[Result]:
    """What `work` makes of each item, on up to so many threads."""
    if threads == 1 or len(items) <= 1:
        return [work(item) for item in items]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(work, items))


class Choice(NamedTuple):
    """One level of a mapping: positions of the parallel dim and of the order, tiles of K C Y X."""

    parallel: int
    order: int
    tiles: Sequence[int]


def best_of(problem: Problem, loss: float, outer: Choice, cluster: int, inner: Choice) -> Best:
    """The best mapping found, as the problem prices it: the certifier's figures must be those."""
    layer, fixed = problem.space.layer, problem.space.fixed

    def level(name: str, choice: Choice) -> Level:
        # In a depthwise layer a parallel K means C, and the certifiers know it as C only.
        dim = fixed.get(f"{name}.parallel", MAPPED_DIMS[choice.parallel])
        return Level(str(dim), (*ORDERS[choice.order], "R", "S"), (*choice.tiles, layer.R, layer.S))

    mapping = Mapping(level(LEVELS[0], outer), cluster, level(LEVELS[1], inner))
    best = priced(problem, mapping)
    if best is None or best.loss != loss:
        seen = problem.explain(mapping) if best is None else f"loss {best.loss!r}"
        raise RuntimeError(f"the certifier finds loss {loss!r} and the cost model {seen}: {mapping}")
    return best
