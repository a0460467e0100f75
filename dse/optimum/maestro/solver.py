"""The exact optimum over a space of perfect factors, under MAESTRO.

Perfect factors leave one inner problem to a mapping (no tile is cut short), and the two levels meet in one
number, the inner cycles:

* energy, needed L2, area and power depend on the outer tiles, parallel dim and order and on the cluster
  size; needed L1 on the inner tiles;
* cycles rise with the inner cycles, which depend on the outer tiles, the cluster size and the inner level.

So the outer tiles and the cluster size make a *group*, and the solver
1. bounds every group: the least loss of its outer configurations that fit in L2, were the inner level as
   fast as its longest-running PE and its first data let it be;
2. goes through the groups from the lowest bound and solves their inner problems by enumeration, until no
   bound is below the best loss found.

The rules of feasibility beyond the buffers never decide here. With perfect factors the serial floor is the
number of outer steps times that of inner steps times a step's work, each step costs its work at least, and
no lanes or clusters do more than their share: cycles are never below either floor, and the MACs that
MAESTRO reports are never below the layer's. The best mapping is priced by the problem all the same.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from functools import cache
from os import cpu_count
from typing import TYPE_CHECKING, Any

import numpy as np

from dse.optimum.certificate import (
    BOUNDED,
    INFEASIBLE,
    OPTIMAL,
    Best,
    Certificate,
    Counts,
    Solved,
)
from dse.optimum.common import Bounds, Choice, best_of, bound_in_blocks
from dse.problem.problem import Problem
from dse.spec.accelerator import Accelerator
from dse.spec.layer import Layer
from dse.spec.objective import clock_hertz, objective_named
from dse.support.arrays import FloatArray
from dse.support.jit import load_kernels

if TYPE_CHECKING:
    from dse.optimum.maestro.instance import Instance


KERNELS = "dse.optimum.maestro.kernels"

NOTHING = (math.inf, math.inf)


def solve(problem: Problem, time_limit: float | None = None, threads: int | None = None) -> Certificate:
    """Prove the problem's optimum, or what can be proven of it in `time_limit` seconds.

    The result does not depend on `threads`; by default there is one a core. InputError for a problem that
    cannot be certified.
    """
    kernels, start = _warm_kernels(), time.perf_counter()
    deadline = math.inf if time_limit is None else start + time_limit
    instance = kernels.make_instance(problem)
    bounds = bound_groups(instance, deadline, threads or cpu_count() or 1)
    found = solve_groups(instance, bounds, deadline)
    best = _best(problem, found)
    if bounds.complete and found.stopped_at is None:
        status, lower_bound = (OPTIMAL, best.loss) if best else (INFEASIBLE, math.inf)
    else:
        known = found.stopped_at if bounds.complete else None
        floor = _floor(problem, instance) if known is None else known
        status, lower_bound = BOUNDED, min(floor, found.least[0])
    return Certificate(
        fingerprint=problem.fingerprint,
        status=status,
        lower_bound=lower_bound,
        best=best,
        solved=tuple(found.solved),
        counts=_counts(problem, instance, bounds, found),
        seconds=time.perf_counter() - start,
    )


def bound_groups(instance: Instance, deadline: float, threads: int) -> Bounds:
    """Bound the groups, in their order, until the deadline; at least one block of them."""
    groups, kernels = instance.groups, load_kernels(KERNELS)
    if instance.facts[kernels.SMALLEST_L1] > instance.facts[kernels.L1]:
        nothing = np.full(groups, np.inf)
        return Bounds(nothing, nothing, complete=True)

    def bound(start: int, stop: int, losses: FloatArray, beside: FloatArray) -> None:
        kernels.bound_groups(start, stop, *instance.outer, losses, beside)

    return bound_in_blocks(groups, bound, deadline, threads)


@dataclass
class Found:
    """How far the groups are solved.

    `least` is the best loss and what is preferred beside it, `winner` where it stands: the outer tiles,
    the cluster size, the outer parallel dim and order, the inner ones and the inner tiles. `stopped_at` is
    the bound of the first group that the deadline left unsolved, if any.
    """

    least: tuple[float, float]
    winner: tuple[Any, ...] | None
    solved: list[Solved]
    inner_levels: int
    stopped_at: float | None


def solve_groups(instance: Instance, bounds: Bounds, deadline: float) -> Found:
    """Solve the groups from the lowest bound until none can beat the best, or until the deadline.

    At least one is solved. Only the order of the bounds decides which are, so nothing depends on timing.
    """
    kernels = load_kernels(KERNELS)
    found = Found(NOTHING, None, [], 0, None)
    tiles, result = np.empty(4, np.int64), np.empty(kernels.INNER, np.int64)
    place, scratch = np.zeros(kernels.BEST, np.int64), kernels.level_scratch()
    fitting = np.flatnonzero(bounds.losses < np.inf)
    for group in fitting[np.lexsort((bounds.beside[fitting], bounds.losses[fitting]))]:
        if (bounds.losses[group], bounds.beside[group]) >= found.least:
            break
        if found.solved and time.perf_counter() > deadline:
            found.stopped_at = float(bounds.losses[group])
            break
        cluster = kernels.read_group(group, instance.outer_tiles, instance.clusters, tiles)
        found.inner_levels += kernels.solve_inner(tiles, cluster, *instance.inner, result)
        cycles = int(result[kernels.CYCLES])
        least = kernels.group_loss(tiles, cluster, cycles, *instance.outer_level, *scratch, place)
        found.solved.append(Solved((*tiles.tolist(),), int(cluster), cycles))
        if least < found.least:
            found.least = least
            inner = result.tolist()
            found.winner = (
                tiles.tolist(),
                int(cluster),
                int(place[kernels.BEST_PARALLEL]),
                int(place[kernels.BEST_ORDER]),
                inner[kernels.PARALLEL],
                inner[kernels.ORDER],
                inner[kernels.TILES :],
            )
    return found


def _best(problem: Problem, found: Found) -> Best | None:
    """The best mapping found, as the problem prices it."""
    if found.winner is None:
        return None
    outer_tiles, cluster, outer_parallel, outer_order, inner_parallel, inner_order, inner_tiles = found.winner
    outer = Choice(outer_parallel, outer_order, outer_tiles)
    return best_of(problem, found.least[0], outer, cluster, Choice(inner_parallel, inner_order, inner_tiles))


def _floor(problem: Problem, instance: Instance) -> float:
    """A loss below that of any mapping, known without looking at one."""
    machine = problem.accelerator
    cycles = -(-problem.layer.macs // (machine.num_pes * machine.simd_lanes))
    energy, area, power = load_kernels(KERNELS).least_figures(instance.facts)
    figure = objective_named(problem.objective).figure
    return float(figure(cycles, energy, power, area, clock_hertz(machine)))


def _counts(problem: Problem, instance: Instance, bounds: Bounds, found: Found) -> Counts:
    too_large = int(np.count_nonzero(np.isinf(bounds.losses)))
    solved = len(found.solved)
    left = instance.groups - len(bounds.losses)
    if found.stopped_at is not None:
        # The unsolved ones whose bound is below the best.
        left += int(np.count_nonzero(bounds.losses < found.least[0])) - solved
    return Counts(
        groups=instance.groups,
        too_large=too_large,
        bounded=instance.groups - too_large - solved - left,
        solved=solved,
        open=left,
        inner_levels=found.inner_levels,
        mappings=problem.space.mappings,
    )


@cache
def _warm_kernels() -> Any:
    """The kernels after a first proof: loading them, and once compiling them, costs no problem its time."""
    kernels = load_kernels(KERNELS)
    instance = kernels.make_instance(
        Problem(Layer.fc(2, 2), Accelerator(2, 32, 64, 2, 2), cost_model="maestro")
    )
    solve_groups(instance, bound_groups(instance, math.inf, threads=1), math.inf)
    return kernels
