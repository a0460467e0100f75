"""Proving the optimum of a mapping problem under `loopnest` by enumeration with bounds.

1. A shape is a choice of outer tiles, cluster size and outer parallel dim. It alone decides what L2 must hold
   and, with the outer order, all DRAM traffic. Each shape gets a bound: its orders' exact DRAM words and time
   on the link, with no less inside an outer step than the busiest PE's work (`shapes`).
2. From the lowest bound on, a shape's inner tiles and inner parallel dims are gone through. Each gets a
   bound: the words of three cases, by which tensor can stay in L1 as the innermost loop advances (`tiles`).
3. Where that is below the best loss found, all orders that differ are priced, exactly (`search`).
4. The search ends when no shape's bound is below the best loss.

The rules of feasibility beyond the buffers never decide here: the model counts all MACs, and each of its
steps takes the busiest PE's work, so cycles are below neither floor.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from functools import cache
from os import cpu_count
from typing import TYPE_CHECKING, Any

import numpy as np

from dse.optimum.certificate import BOUNDED, INFEASIBLE, OPTIMAL, Best, Certificate, Counts
from dse.optimum.common import Bounds, Choice, best_of, bound_in_blocks, in_threads
from dse.problem.problem import Problem
from dse.spec.accelerator import Accelerator
from dse.spec.layer import Layer
from dse.support.arrays import FloatArray, IntArray
from dse.support.jit import load_kernels

if TYPE_CHECKING:
    from dse.optimum.loopnest.instance import Instance


KERNELS = "dse.optimum.loopnest.kernels"

FEW, MANY, BLOCKS = 8, 256, 4
"""Shapes that a block has at first and at most, and blocks searched at a time, with the same loss to beat."""


def solve(problem: Problem, time_limit: float | None = None, threads: int | None = None) -> Certificate:
    """Prove the problem's optimum, or what can be proven of it in `time_limit` seconds.

    The result does not depend on `threads`; by default there is one a core. InputError for a problem that
    cannot be certified.
    """
    kernels, start = _warm_kernels(), time.perf_counter()
    deadline = math.inf if time_limit is None else start + time_limit
    instance = kernels.make_instance(problem)
    bounds = bound_shapes(instance, deadline, threads or cpu_count() or 1)
    found = search(instance, bounds, deadline, threads or cpu_count() or 1)
    best = _best(problem, instance, found)
    if bounds.complete and found.stopped_at is None:
        status, lower_bound = (OPTIMAL, best.loss) if best else (INFEASIBLE, math.inf)
    else:
        known = found.stopped_at if bounds.complete else None
        floor = kernels.floor(instance.facts, instance.constants, instance.real) if known is None else known
        status, lower_bound = BOUNDED, min(floor, found.least[0])
    return Certificate(
        fingerprint=problem.fingerprint,
        status=status,
        lower_bound=lower_bound,
        best=best,
        solved=(),
        counts=_counts(problem, instance, bounds, found),
        seconds=time.perf_counter() - start,
    )


def bound_shapes(instance: Instance, deadline: float, threads: int) -> Bounds:
    """Bound the shapes, in their order, until the deadline; at least one block of them."""
    if not len(instance.inner_tiles):
        nothing = np.full(instance.shapes, np.inf)
        return Bounds(nothing, nothing, complete=True)
    kernels = load_kernels(KERNELS)

    def bound(start: int, stop: int, losses: FloatArray, beside: FloatArray) -> None:
        kernels.bound_shapes(start, stop, *instance.arrays, losses, beside)

    return bound_in_blocks(instance.shapes, bound, deadline, threads)


@dataclass
class Found:
    """How far the shapes are searched.

    `least` is the best loss and what is preferred beside it, `place` where it stands (see `kernels`), if
    anywhere. `inner_levels` are those whose bound was taken. `stopped_at` is the bound of the first shape
    that the deadline left, and `searched` how many were searched until then, or by their bound had to be.
    """

    least: tuple[float, float]
    place: IntArray | None
    inner_levels: int
    searched: int
    stopped_at: float | None


def search(instance: Instance, bounds: Bounds, deadline: float, threads: int) -> Found:
    """Search the shapes from the lowest bound until none can beat the best, or until the deadline.

    At least some are searched. Blocks and what they have to beat do not depend on timing.
    """
    kernels = load_kernels(KERNELS)
    found = Found((math.inf, math.inf), None, 0, 0, None)
    fitting = np.flatnonzero(bounds.losses < np.inf)
    shapes = fitting[np.lexsort((bounds.beside[fitting], bounds.losses[fitting]))]
    losses, beside = bounds.losses[shapes], bounds.beside[shapes]

    def search_block(start: int) -> tuple[FloatArray, IntArray, int]:
        best, place = np.array(found.least), np.zeros(kernels.AT_HAND, np.int64)
        done = np.zeros(kernels.DONE, np.int64)
        stop = min(start + size, len(shapes))
        kernels.search_shapes(shapes, losses, beside, start, stop, *instance.arrays, best, place, done)
        return best, place, int(done[kernels.LOOKED_AT])

    first, size = 0, FEW
    while first < len(shapes) and (losses[first], beside[first]) < found.least:
        if first > 0 and time.perf_counter() > deadline:
            found.searched, found.stopped_at = first, float(losses[first])
            return found
        starts = range(first, min(first + BLOCKS * size, len(shapes)), size)
        for best, place, looked_at in in_threads(search_block, starts, threads):
            found.inner_levels += looked_at
            if (best[0], best[1]) < found.least:
                found.least, found.place = (float(best[0]), float(best[1])), place
        first, size = first + BLOCKS * size, min(2 * size, MANY)
    below = losses < found.least[0]
    below |= (losses == found.least[0]) & (beside < found.least[1])
    found.searched = int(np.count_nonzero(below))
    return found


def _best(problem: Problem, instance: Instance, found: Found) -> Best | None:
    """The best mapping found, as the problem prices it."""
    if found.place is None:
        return None
    kernels, choice = load_kernels(KERNELS), np.empty(6, np.int64)
    place = found.place.tolist()
    kernels.read_shape.py_func(
        place[kernels.SHAPE], instance.outer_tiles, instance.clusters, instance.parallels, choice
    )
    tiles = [int(instance.outer_tiles[dim, 1 + choice[dim]]) for dim in range(4)]
    outer = Choice(int(instance.parallels[0, 1 + choice[5]]), place[kernels.OUTER_ORDER], tiles)
    inner_tiles = instance.inner_tiles[place[kernels.TILES]].tolist()
    inner = Choice(place[kernels.PARALLEL], place[kernels.INNER_ORDER], inner_tiles)
    return best_of(problem, found.least[0], outer, int(instance.clusters[choice[4]]), inner)


def _counts(problem: Problem, instance: Instance, bounds: Bounds, found: Found) -> Counts:
    too_large = int(np.count_nonzero(np.isinf(bounds.losses)))
    left = instance.shapes - len(bounds.losses)
    if found.stopped_at is not None:
        left += int(np.count_nonzero(bounds.losses < found.least[0])) - found.searched
    return Counts(
        groups=instance.shapes,
        too_large=too_large,
        bounded=instance.shapes - too_large - found.searched - left,
        solved=found.searched,
        open=left,
        inner_levels=found.inner_levels,
        mappings=problem.space.mappings,
    )


@cache
def _warm_kernels() -> Any:
    """The kernels after a first proof: loading them, and once compiling them, costs no problem its time."""
    kernels = load_kernels(KERNELS)
    machine = Accelerator(2, 32, 64, 2, 2)
    instance = kernels.make_instance(Problem(Layer.fc(2, 2), machine, cost_model="loopnest"))
    search(instance, bound_shapes(instance, math.inf, threads=1), math.inf, threads=1)
    return kernels
