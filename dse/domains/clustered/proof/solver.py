"""Proving the optimum of a mapping problem: a branch and bound, whatever the cost model.

1. Every group of mappings gets a bound (what a group is, and its bound, are the cost model's: see `bounds`).
2. From the lowest bound on, groups are solved, until no bound is below the best loss found.
3. The best mapping is priced by the problem itself: its figures must be the solver's.

Where the time runs out, the lowest bound that is left is what has been proven. Nothing but that depends on
timing, and nothing at all on the number of threads. The groups, their bounds and so their order are the same
in every run: one that was stopped has settled the first so many of them (each holds nothing better than the
best found), and the next run goes on with the one after.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cache
from os import cpu_count
from typing import NamedTuple, TypeVar

import numpy as np

from dse.core.certificate import (
    BOUNDED,
    INFEASIBLE,
    OPTIMAL,
    Certificate,
    Counts,
    Incumbent,
    Solved,
    priced,
)
from dse.core.clock import Clock
from dse.core.layer import Layer
from dse.domains.clustered.accelerator import Accelerator
from dse.domains.clustered.mapping import Level, Mapping
from dse.domains.clustered.problem import Problem
from dse.domains.clustered.proof.bounds import Bounds, Choice, Groups, Solution, Value, Winner
from dse.domains.clustered.proof.boxes import solve_boxes
from dse.domains.clustered.proof.certifiers import (
    certifier_of,
    has_boxes,
    has_floor_only,
    refuse,
    refuse_limits,
)
from dse.domains.clustered.proof.descent import good_mapping, with_factors
from dse.domains.clustered.space.genes import LEVELS, MAPPED_DIMS, ORDERS
from dse.support.arrays import FloatArray
from dse.support.errors import InputError

Item = TypeVar("Item")
Result = TypeVar("Result")

BLOCK, STRETCH, BOUNDED_ANYWAY = 4096, 2**16, 2**17
"""Groups that one thread bounds at a time, that all do between two looks at the clock, and without a look."""
FACTORS_SHARE = 0.2
"""Of the time of a proof over tiles of any size, what that over perfect factors has before it."""
NOTHING: Value = (math.inf, -math.inf)
"""No mapping: of one above a cap the loss is inf too, and it is no better."""


def solve(
    problem: Problem,
    clock: Clock | None = None,
    known: Certificate | None = None,
    threads: int | None = None,
) -> Certificate:
    """Prove the problem's optimum, or what can be proven of it in the time of `clock`.

    It goes on from what is `known`, a bounded certificate of the same code. The result does not depend on
    `threads`; by default there is one a core. InputError for a problem that cannot be certified.
    """
    clock, threads = clock or Clock(), threads or cpu_count() or 1
    refuse(problem)
    if has_floor_only(problem):
        raise InputError("the solver takes the default space only, and not the area that a mapping needs")
    if has_boxes(problem):
        return solve_boxes(problem, clock, known, threads)
    warm(problem.model.name, problem.tiles)
    bounds = certifier_of(problem).make_bounds(problem)
    refuse_limits(problem, bounds)
    bounded = bound_groups(bounds, clock, threads)
    if known and known.settled and not bounded.complete:
        # Which groups are settled is known by their place in the order of all.
        return replace(known, seconds=clock.seconds, earlier_seconds=known.all_seconds, cached=False)
    found = solve_groups(bounds, bounded, clock, threads, begin(problem, known, clock, threads))
    best = found.best if found.winner is None else best_of(problem, found.value[0], found.winner)
    status, lower_bound = _claim(bounds, bounded, found)
    if known and status == BOUNDED:
        lower_bound = max(lower_bound, known.lower_bound)
    return Certificate(
        fingerprint=problem.fingerprint,
        status=status,
        lower_bound=lower_bound,
        best=best,
        solved=tuple(found.listed),
        counts=_counts(problem, bounds, bounded, found),
        seconds=clock.seconds,
        settled=found.solved if status == BOUNDED and bounded.complete else 0,
        earlier_seconds=known.all_seconds if known else 0.0,
    )


@cache
def warm(model: str, tiles: str) -> None:
    """Prove a first optimum: every proof after it finds its kernels loaded, and once compiled."""
    problem = Problem(Layer.fc(2, 2), Accelerator(2, 32, 64, 2, 2), cost_model=model, tiles=tiles)
    bounds = certifier_of(problem).make_bounds(problem)
    solve_groups(bounds, bound_groups(bounds, Clock(), threads=1), Clock(), 1, Found())


# The bounds


class Bounded(NamedTuple):
    """The bounds of the groups in their order; those beyond the arrays have not been bounded."""

    losses: FloatArray
    tie_breaks: FloatArray
    complete: bool

    @property
    def best_first(self) -> Groups:
        """The groups that fit in the buffers, from the lowest bound on."""
        fitting = np.flatnonzero(self.losses < np.inf)
        numbers = fitting[np.lexsort((self.tie_breaks[fitting], self.losses[fitting]))]
        return Groups(numbers, self.losses[numbers], self.tie_breaks[numbers])


def bound_groups(bounds: Bounds, clock: Clock, threads: int) -> Bounded:
    """Bound the groups, in their order, until the time is over; the first so many of them in any case."""
    groups, done = bounds.groups, 0
    if bounds.nothing_fits:
        nothing = np.full(groups, np.inf)
        return Bounded(nothing, nothing, complete=True)
    losses, tie_breaks = np.empty((2, groups))

    def bound_block(start: int) -> None:
        stop = min(start + BLOCK, groups)
        bounds.bound(start, stop, losses[start:stop], tie_breaks[start:stop])

    while done < groups and (done < BOUNDED_ANYWAY or not clock.over):
        end = min(done + STRETCH, groups)
        in_threads(bound_block, range(done, end, BLOCK), threads)
        done = end
    return Bounded(losses[:done], tie_breaks[:done], complete=done == groups)


# The solutions


@dataclass
class Found:
    """How far the groups are solved.

    `value` is that of the best mapping: `winner`, or else `best`, which was known before, if there is one.
    `solved` counts the groups whose solution their bound asked for, and `listed` names them where the model
    does. `stopped_at` is the bound of the first group that was left unsolved, if any.
    """

    value: Value = NOTHING
    winner: Winner | None = None
    best: Incumbent | None = None
    solved: int = 0
    listed: list[Solved] = field(default_factory=list)
    inner_levels: int = 0
    stopped_at: float | None = None

    def add(self, solution: Solution | Found) -> None:
        """Take in what solving some groups found."""
        self.inner_levels += solution.inner_levels
        self.listed += solution.solved if isinstance(solution, Solution) else solution.listed
        if solution.value < self.value:
            self.value, self.winner = solution.value, solution.winner


def begin(problem: Problem, known: Certificate | None, clock: Clock, threads: int) -> Found:
    """What an earlier run found; without one nothing, or where tiles are of any size a good mapping.

    That is what descents find, over perfect factors first: of equal mappings theirs is the one. Where they
    find none that is feasible, it is the best of perfect factors, whose proof takes at most a share of the
    time.
    """
    if known is None:
        if problem.tiles != "any":
            return Found()
        factors = with_factors(problem)
        good = [good_mapping(problem, factors)] if factors else []
        good.append(good_mapping(problem))
        best = min((one for one in good if one), key=lambda one: one.loss, default=None)
        if best is None and factors is not None:
            best = factors_best(problem, factors, clock, threads)
        return Found() if best is None else Found((best.loss, best.tie_break(problem.objective)), best=best)
    best, value = known.best, NOTHING
    if best is not None:
        value = (best.loss, best.tie_break(problem.objective))
    # Of groups that are not settled some were solved: they will be again.
    listed = list(known.solved) if known.settled else []
    return Found(value, None, best, known.settled, listed, known.counts.inner_levels)


def factors_best(problem: Problem, factors: Problem, clock: Clock, threads: int) -> Incumbent | None:
    """The best mapping of perfect factors that is found in a share of the time; None without one."""
    found = solve(factors, clock.part(FACTORS_SHARE), threads=threads).best
    return None if found is None else priced(problem, found.mapping)


def solve_groups(bounds: Bounds, bounded: Bounded, clock: Clock, threads: int, found: Found) -> Found:
    """Solve the groups from the lowest bound until none can beat the best, or until the time is over.

    The first that are `solved` are left out, and a few are solved in any case. Rounds, and what their blocks
    have to beat, do not depend on timing.
    """
    queue = bounded.best_first
    losses, tie_breaks = queue.losses, queue.tie_breaks
    begun = first = found.solved
    size, late = bounds.rounds.first, False

    def solve_block(start: int) -> Found | None:
        """What is found in a block; None if the time was over before its end."""
        block, stop = Found(found.value), min(start + size, len(queue))
        part = bounds.rounds.part
        for place in range(start, stop, part):
            if place > begun and clock.over:
                return None
            groups, left = queue.part(place, min(place + part, stop)), True
            while left:
                solution = bounds.solve(groups, block.value)
                block.add(solution)
                left = solution.left is not None
                if left and (clock.over or not solution.more):
                    block.stopped_at = solution.left
                    return block
        return block

    while first < len(queue) and (losses[first], tie_breaks[first]) < found.value:
        if late or (first > begun and clock.over):
            found.solved, found.stopped_at = first, float(losses[first])
            return found
        starts = range(first, min(first + bounds.rounds.blocks * size, len(queue)), size)
        for block in in_threads(solve_block, starts, threads):
            late = late or block is None
            if not late and block is not None:
                found.add(block)
                if block.stopped_at is not None:
                    found.solved, found.stopped_at = first, max(block.stopped_at, float(losses[first]))
                    return found
                first = min(first + size, len(queue))
        size = min(2 * size, bounds.rounds.most)
    listed = {(one.tiles, one.cluster) for one in found.listed}
    found.solved = len(listed) if bounds.lists_solved else _count_below(queue, found.value)
    return found


def _count_below(queue: Groups | Bounded, value: Value) -> int:
    """How many groups have a bound below the value."""
    below = queue.losses < value[0]
    below |= (queue.losses == value[0]) & (queue.tie_breaks < value[1])
    return int(np.count_nonzero(below))


def in_threads(work: Callable[[Item], Result], items: Sequence[Item], threads: int) -> list[Result]:
    """What `work` makes of each item, on up to so many threads."""
    if threads == 1 or len(items) <= 1:
        return [work(item) for item in items]
    return list(_pool(threads).map(work, items))


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    """Threads that all proofs share: what they do takes less time than beginning them. They ask for none."""
    return ThreadPoolExecutor(threads)


# The certificate


def _claim(bounds: Bounds, bounded: Bounded, found: Found) -> tuple[str, float]:
    """What has been proven: the status and the lower bound of a certificate."""
    if bounded.complete and found.stopped_at is None:
        return (INFEASIBLE if found.value == NOTHING else OPTIMAL), found.value[0]
    known = found.stopped_at if bounded.complete else None
    return BOUNDED, min(bounds.floor() if known is None else known, found.value[0])


def _counts(problem: Problem, bounds: Bounds, bounded: Bounded, found: Found) -> Counts:
    too_large = int(np.count_nonzero(np.isinf(bounded.losses)))
    left = bounds.groups - len(bounded.losses)
    if found.stopped_at is not None:
        # The unsolved ones whose bound is below the best.
        left += _count_below(bounded, found.value) - found.solved
    return Counts(
        groups=bounds.groups,
        too_large=too_large,
        bounded=bounds.groups - too_large - found.solved - left,
        solved=found.solved,
        open=left,
        inner_levels=found.inner_levels,
        mappings=problem.space.mappings,
    )


def best_of(problem: Problem, loss: float, winner: Winner) -> Incumbent:
    """The best mapping found, as the problem prices it: the solver's figures must be those."""
    layer, fixed = problem.space.layer, problem.space.fixed

    def level(name: str, choice: Choice) -> Level:
        # In a depthwise layer a parallel K means C, and the kernels know it as C only.
        dim = fixed.get(f"{name}.parallel", MAPPED_DIMS[choice.parallel])
        return Level(str(dim), (*ORDERS[choice.order], "R", "S"), (*choice.tiles, layer.R, layer.S))

    mapping = Mapping(level(LEVELS[0], winner.outer), winner.cluster, level(LEVELS[1], winner.inner))
    best = priced(problem, mapping)
    if best is None or best.loss != loss:
        seen = problem.explain(mapping) if best is None else f"loss {best.loss!r}"
        raise RuntimeError(f"the certifier finds loss {loss!r} and the cost model {seen}: {mapping}")
    return best
