"""The branches of a proof: what levels keep, and where tensors have depths of their own in which order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

import numpy as np

from dse.domains.levels.problem import MachineProblem
from dse.domains.levels.space.chains import FACTORS, SPATIAL
from dse.models.timeloop.proof.arrangements import Arrangement, Arrangements
from dse.models.timeloop.proof.branch import Branch
from dse.models.timeloop.proof.components import (
    Component,
    Recent,
    component_of,
    components_of,
    dims_by_component,
)
from dse.models.timeloop.proof.counts import Counts
from dse.models.timeloop.proof.nodes import Node, unbounded_node, unmade_node
from dse.models.timeloop.proof.orders import looped_dims, orders_of
from dse.models.timeloop.proof.parallel import busy_components
from dse.models.timeloop.proof.ragged_counts import RaggedCounts
from dse.models.timeloop.proof.room import SLACK
from dse.models.timeloop.proof.whole import Rows
from dse.support.arrays import BoolArray

AT_ONCE = 8
"""Branches of uneven nests that are bounded in one go: between them the time may be over."""
KEPT_AT_ONCE = 24
"""Branches of uneven nests that are kept, if they have few chains; others are made again."""
MOST_CHAINS = 200_000
"""Of components that are kept for other branches; a chain may take a kilobyte."""
MOST_OF_BRANCHES = 500_000
"""Chains of the branches that are kept."""


def branches_of(problem: MachineProblem, *, every: bool = False) -> OpenBranches | UnevenBranches:
    """The branches of a problem; none if too few MACs can be at work. With `every`, they hold every nest;
    without, of uneven ones those that can be the best.
    """
    divided = problem.tiles == FACTORS and not every
    return UnevenBranches(problem) if problem.accelerator.even and divided else OpenBranches(problem, every)


class OpenBranches:
    """One for each choice of what levels keep, and where, with the same components: all loops are open."""

    def __init__(self, problem: MachineProblem, every: bool = False) -> None:
        found = components_of(problem)
        # A dim of size 1 has no loops: without others it stands for all.
        looped = [one for one in found if (one.temporal * one.spatial).max() > 1] or found[:1]
        busy = _busy(problem, looped)
        if busy is None:
            self._branches: list[Branch] = []
            return
        orders, counts = orders_of(problem), _counts(problem, busy)
        keeps = list(_bypasses(problem))
        if problem.accelerator.even:
            keeps = list(Arrangements(problem, orders).keeps())
            holding = max(int(np.flatnonzero(keep.any(axis=1)).max()) for keep in keeps)
            orders = replace(orders, looped=looped_dims(problem, holding))
        rows = Rows(problem, counts, orders, every)
        self._branches = [
            Branch(problem, number, busy, counts, orders, keep, rows) for number, keep in enumerate(keeps)
        ]

    def __len__(self) -> int:
        return len(self._branches)

    def __getitem__(self, number: int) -> Branch:
        return self._branches[number]

    def roots(self) -> list[Node]:
        """What a proof begins with: all of each branch."""
        return [branch.root() for branch in self._branches]

    def parts(self, several: Node) -> list[Node]:
        """None: all are counted."""
        return []


class UnevenBranches:
    """One for each arrangement, made when it is asked for of components that many of them have."""

    def __init__(self, problem: MachineProblem) -> None:
        self._problem, self._orders = problem, orders_of(problem)
        self._arranged = list(Arrangements(problem, self._orders))
        sizes = list(problem.space.workload.sizes.values())
        every = dims_by_component(problem.space.workload)
        self._sharing = [dims for dims in every if any(sizes[dim] > 1 for dim in dims)] or every[:1]
        self._made: Recent[Branch] = Recent(lambda branch: branch.size, MOST_OF_BRANCHES, KEPT_AT_ONCE)
        self._counted: Recent[Counts] = Recent(lambda counts: len(counts.component), MOST_CHAINS)

    def __len__(self) -> int:
        return len(self._arranged)

    def __getitem__(self, number: int) -> Branch:
        return self._made.of(number, lambda: self._make(number))

    def roots(self) -> list[Node]:
        """What a proof begins with: several branches each that are not counted yet."""
        return [unbounded_node(first) for first in range(0, len(self._arranged), AT_ONCE)]

    def parts(self, several: Node) -> list[Node]:
        """The branches of such a node, each without the chains that are counted when it is bounded."""
        return [unmade_node(number) for number in range(several.branch, several.branch + AT_ONCE)][
            : len(self._arranged) - several.branch
        ]

    def _make(self, number: int) -> Branch:
        problem, arranged = self._problem, self._arranged[number]
        counts = [self._counts(dims, arranged) for dims in self._sharing]
        components = [one.component for one in counts]
        # Orders do not matter below the innermost storage.
        looped = (*arranged.looped[:-1], ())
        orders = replace(self._orders, looped=looped, settled=arranged.settled)
        rows = Rows(problem, counts, orders)
        fits = [self._fitting(one, arranged.keep) for one in counts]
        return Branch(problem, number, components, counts, orders, arranged.keep, rows, fits)

    def _counts(self, dims: tuple[int, ...], arranged: Arrangement) -> Counts:
        """The counts of a component."""
        slots = [
            tuple(
                slot
                for slot in self._problem.space.chains[dim].slots
                if slot.kind == SPATIAL or dim in arranged.looped[slot.level]
            )
            for dim in dims
        ]
        problem = self._problem
        return self._counted.of(
            (dims, tuple(slots)),
            lambda: Counts(problem.space.workload, problem.accelerator, component_of(problem, dims, slots)),
        )

    def _fitting(self, counts: Counts, keep: BoolArray) -> BoolArray:
        """The chains whose tiles fit while all other dims are 1."""
        machine, tensors = self._problem.accelerator, self._problem.space.workload.tensors
        left = np.ones(len(counts.component), dtype=np.bool_)
        for place, room in enumerate(self._problem.use.rooms):
            if room is not None:
                held = np.zeros(len(left))
                for part, tensor in np.argwhere(keep).tolist():
                    if machine.storages[part] == place:
                        held += np.exp(counts.tile(tensor, part)) * tensors[tensor].bits
                left &= held <= room * (1 + SLACK)
        return left


def _counts(problem: MachineProblem, components: list[Component]) -> list[Counts]:
    kind = Counts if problem.tiles == FACTORS else RaggedCounts
    return [kind(problem.space.workload, problem.accelerator, one) for one in components]


def _busy(problem: MachineProblem, components: list[Component]) -> list[Component] | None:
    fan_outs = [level.fan_out for level in problem.accelerator.levels]
    return busy_components(components, fan_outs, problem.use.least_macs)


def _bypasses(problem: MachineProblem) -> Iterator[BoolArray]:
    """What levels keep: (levels, tensors), once for every choice that is open."""
    names = problem.space.workload.tensor_names
    levels = problem.space.levels
    open_ = [(level.place, names.index(tensor)) for level in levels for tensor in level.open]
    for choice in product((False, True), repeat=len(open_)):
        keep = np.array([[name in level.keeps for name in names] for level in levels])
        for (place, tensor), kept in zip(open_, choice, strict=True):
            keep[place, tensor] = kept
        yield keep
