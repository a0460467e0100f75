"""Proving the optimum of a problem on a machine of levels: a branch and bound over the factors of its dims.

1. A first mapping comes from random ones and steps down from the best.
2. Every choice of what levels keep, with the factors of the two dims (or the one) that have the most, is a
   group with a bound. From the lowest bound on, the factors of the other dims are enumerated below it, each
   with a bound that holds for every order.
3. What is left is priced by the problem itself, in all orders.

Where the time runs out, the lowest bound of what is left is what has been proven. Groups, their bounds and
their order are the same in every run: a later one goes on with the first group that is not settled.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from functools import cache
from itertools import product
from typing import TYPE_CHECKING, cast

import numpy as np

from dse.optimum.certificate import BOUNDED, INFEASIBLE, OPTIMAL, Certificate, Counts, priced
from dse.optimum.clock import Clock
from dse.optimum.models import refuse
from dse.optimum.timeloop.model import Model, bypasses, chain_factors, make_model
from dse.problem.machine_problem import MachineProblem
from dse.spec.hierarchy.layout import RowArray
from dse.spec.hierarchy.machine import TENSORS, Level, Machine
from dse.spec.layer import Layer
from dse.support.arrays import BoolArray, FloatArray, IntArray
from dse.support.jit import load_kernels

if TYPE_CHECKING:
    from dse.spec.hierarchy.mapping import HierarchyMapping

SLACK = 1e-9
"""By what share a bound may be off, as its sums are rounded."""
FIRST_POINTS, STEPS_DOWN, STARTS = 4096, 200, 4
ROOM = 4096
MOST_GROUPS = 200_000
"""With more, the factors of one dim make the groups."""
SURE, LEAST_RATE, FOREVER = 100_000, 100_000.0, 1e6
"""Chains that are looked at in any case, and that a second is enough for at least."""
PRICED_AT_ONCE = 64
KERNEL = "dse.optimum.timeloop.kernel"


def solve(
    problem: MachineProblem, clock: Clock | None = None, known: Certificate | None = None
) -> Certificate:
    """Prove the problem's optimum, or what can be proven of it in the time of `clock`.

    `known` is what an earlier run left, of the same code. The first `settled` groups hold nothing better than
    its best mapping: they are left out.
    """
    clock = clock or Clock()
    refuse(problem)
    warm()
    proof = _Proof(problem)
    proof.begin(clock, known)
    proof.run(clock)
    best = None
    if proof.row is not None:
        best = priced(problem, problem.space.layout.decode(proof.row))
        if best is None or best.loss != proof.loss:
            raise RuntimeError(f"the proof finds loss {proof.loss!r} and the problem {best}")
    status, bound = OPTIMAL if best else INFEASIBLE, proof.loss
    if proof.left < proof.loss:
        status, bound = BOUNDED, max(proof.left, known.lower_bound if known else 0.0)
    return Certificate(
        fingerprint=problem.fingerprint,
        status=status,
        lower_bound=bound,
        best=best,
        solved=(),
        counts=proof.counts(),
        seconds=clock.seconds,
        settled=proof.solved if status == BOUNDED else 0,
        earlier_seconds=known.all_seconds if known else 0.0,
    )


@cache
def warm() -> None:
    """Prove a first optimum: loading kernels, and once compiling them, then costs no problem its time."""
    levels = (Level("DRAM", keeps=TENSORS, fan_out=2), Level("Store", capacity=8, keeps=("O",)))
    proof = _Proof(MachineProblem(Layer.fc(2, 2), Machine("warm", levels, 1.0), "edp", "timeloop"))
    proof.begin(Clock())
    proof.run(Clock())


@dataclass
class _Branch:
    """One choice of what is kept: its groups from the lowest bound on."""

    keep: BoolArray
    model: Model
    groups: IntArray
    losses: FloatArray
    size: int


@dataclass
class _Proof:
    """How far a proof is: `row` is the best mapping, `loss` its loss, `left` the lowest bound not settled."""

    problem: MachineProblem
    loss: float = math.inf
    row: RowArray | None = None
    left: float = math.inf
    groups: int = 0
    too_large: int = 0
    solved: int = 0
    open: int = 0
    looked: int = 0
    _factors: list[IntArray] = field(init=False)
    _unit: float = field(init=False)

    def __post_init__(self) -> None:
        self._factors = chain_factors(self.problem)
        hertz = self.problem.criteria.hertz
        self._unit = {"latency": 1 / hertz, "energy": 1e-12, "edp": 1e-12 / hertz}[self.problem.objective]
        # The dims with the most chains first: they make the groups.
        self._order = np.argsort([-len(dim) for dim in self._factors], kind="stable").astype(np.int64)
        counts = [len(self._factors[dim]) for dim in self._order]
        choices = 2 ** sum(len(level.open) for level in self.problem.space.levels)
        self._depth = 2 if choices * math.prod(counts[:2]) <= MOST_GROUPS else 1
        self._orders = self._order_rows()

    def begin(self, clock: Clock, known: Certificate | None = None) -> None:
        """Take what is known, or find a good mapping to begin with."""
        if known is not None:
            self.solved, self.looked = known.settled, known.counts.inner_levels
        if known is not None and known.best is not None:
            mapping = cast("HierarchyMapping", known.best.mapping)
            row = self.problem.batch(mapping).rows[0]
            self.loss, self.row = known.best.loss, row.copy()
            return
        space, rng = self.problem.space, np.random.default_rng(0)
        genes = space.sample(rng, FIRST_POINTS)
        losses = self.problem.price(genes).loss
        for place in np.argsort(losses, kind="stable")[:STARTS].tolist():
            here, loss = genes[place], losses[place]
            for _ in range(STEPS_DOWN):
                if clock.over:
                    break
                near = np.concatenate([block.neighbours(here) for block in space.blocks])
                found = self.problem.price(near).loss if len(near) else np.array([math.inf])
                if found.min() >= loss:
                    break
                here, loss = near[int(found.argmin())], found.min()
            if loss < self.loss:
                self.loss, self.row = float(loss), space.decode(here[np.newaxis]).rows[0].copy()

    def run(self, clock: Clock) -> None:
        """Settle every group that is not settled yet, or those that the time is enough for; one if it can."""
        branches = [self._branch(keep) for keep in bypasses(self.problem)]
        queue = sorted(
            (float(loss), number, place)
            for number, branch in enumerate(branches)
            for place, loss in enumerate(branch.losses.tolist())
            if loss < math.inf
        )
        begun, looked = time.perf_counter(), self.looked
        self.groups = sum(branch.size for branch in branches)
        self.too_large = self.groups - len(queue)
        first = self.solved
        for done, (loss, number, place) in enumerate(queue[first:], first):
            if loss >= self.loss:
                return
            passed, seen = max(time.perf_counter() - begun, 1e-3), self.looked - looked
            rate = seen / passed if seen > SURE else LEAST_RATE
            most = max(int(rate * max(0.0, min(clock.left, FOREVER))), SURE)
            if (done > first and clock.over) or not self._settle(branches[number], place, most, clock):
                self.left = loss
                self.open = sum(one < self.loss for one, _, _ in queue[done:])
                return
            self.solved += 1

    def counts(self) -> Counts:
        """What was looked at."""
        bounded = self.groups - self.too_large - self.solved - self.open
        return Counts(
            self.groups, self.too_large, bounded, self.solved, self.open, self.looked,
            self.problem.space.mappings,
        )  # fmt: skip

    def _branch(self, keep: BoolArray) -> _Branch:
        model = make_model(self.problem, self._factors, keep)
        ranges = [np.arange(model.first[dim], model.first[dim + 1]) for dim in self._order[: self._depth]]
        groups = np.stack([part.ravel() for part in np.meshgrid(*ranges, indexing="ij")], axis=1)
        losses = np.empty(len(groups))
        load_kernels(KERNEL).bound_groups(groups, self._order, model, losses)
        losses *= self._unit * (1 - SLACK)
        return _Branch(keep, model, groups, losses, len(groups))

    def _settle(self, branch: _Branch, place: int, most: int, clock: Clock) -> bool:
        """Price what a group has that may be below the best; False if that is too much for the time."""
        room, dims = ROOM, len(self._order)
        kernel, group = load_kernels(KERNEL), branch.groups[place]
        while True:
            found, losses = np.empty((room, dims), dtype=np.int64), np.empty(room)
            limit = self.loss / (self._unit * (1 - SLACK))
            count, looked = kernel.survivors(group, self._order, limit, most, branch.model, found, losses)
            if count != -1:
                break
            room *= 4
        self.looked += looked
        if count < 0:
            return False
        best_first = np.argsort(losses[:count], kind="stable")
        bounds = losses[best_first] * (self._unit * (1 - SLACK))
        for start in range(0, count, PRICED_AT_ONCE):
            if bounds[start] >= self.loss:
                break
            if start and clock.over:
                return False
            self._price(branch, found[best_first[start : start + PRICED_AT_ONCE]])
        return True

    def _price(self, branch: _Branch, chosen: IntArray) -> None:
        """Price factors (n, dims) in all orders."""
        layout, levels = self.problem.space.layout, len(self.problem.accelerator.levels)
        rows = np.ones((len(chosen), layout.columns), dtype=np.int32)
        for dim, factors in enumerate(self._factors):
            picked = factors[chosen[:, dim] - branch.model.first[dim]]
            for level in range(levels):
                rows[:, layout.temporal(level).start + dim] = picked[:, level, 0]
                rows[:, layout.spatial(level).start + dim] = picked[:, level, 1]
        for level in range(levels):
            rows[:, layout.keep(level)] = branch.keep[level]
        every = np.repeat(rows, len(self._orders), axis=0)
        for level in range(levels):
            every[:, layout.order(level)] = np.tile(self._orders[:, level], (len(rows), 1))
        losses = self.problem.price_rows(every).loss
        best = int(losses.argmin())
        if losses[best] < self.loss:
            self.loss, self.row = float(losses[best]), every[best].copy()

    def _order_rows(self) -> IntArray:
        """Every choice of orders: (choices, levels, dims)."""
        layout = self.problem.space.layout
        by_level = [
            [[layout.dims.index(dim) for dim in order] for order in level.orders]
            for level in self.problem.space.levels
        ]
        return np.array(list(product(*by_level)), dtype=np.int64)
