"""The branches of a proof: what levels keep, and where tensors have depths of their own in which order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from itertools import product
from threading import Lock
from typing import Protocol

import numpy as np

from dse.domains.levels.problem import MachineProblem
from dse.models.timeloop.proof.arrangements import Arrangements
from dse.models.timeloop.proof.branch import Branch
from dse.models.timeloop.proof.components import Component, components_of
from dse.models.timeloop.proof.counts import Counts
from dse.models.timeloop.proof.nodes import Node
from dse.models.timeloop.proof.orders import orders_of
from dse.models.timeloop.proof.parallel import busy_components
from dse.models.timeloop.proof.whole import Rows
from dse.support.arrays import BoolArray

KEPT_AT_ONCE = 64
"""Branches of uneven nests whose tables are kept: of others they are counted again."""


class Branches(Protocol):
    """Branches by number."""

    def __len__(self) -> int: ...

    def __getitem__(self, number: int) -> Branch: ...

    def root(self, number: int) -> Node:
        """All of a branch; without chains where these are counted when it is first bounded."""


def branches_of(problem: MachineProblem) -> Branches:
    """The branches of a problem; none if too few MACs can be at work."""
    return UnevenBranches(problem) if problem.accelerator.even else EvenBranches(problem)


class EvenBranches:
    """One for each choice of what levels keep, with the same components."""

    def __init__(self, problem: MachineProblem) -> None:
        every = components_of(problem)
        # A dim of size 1 has no loops: without others it stands for all.
        looped = [one for one in every if (one.temporal * one.spatial).max() > 1] or every[:1]
        busy = _busy(problem, looped)
        if busy is None:
            self._branches: list[Branch] = []
            return
        orders, counts = orders_of(problem), _counts(problem, busy)
        rows = Rows(problem, busy, orders)
        self._branches = [
            Branch(problem, number, busy, counts, orders, keep, rows)
            for number, keep in enumerate(_bypasses(problem))
        ]

    def __len__(self) -> int:
        return len(self._branches)

    def __getitem__(self, number: int) -> Branch:
        return self._branches[number]

    def root(self, number: int) -> Node:
        """See Branches."""
        return self._branches[number].root()


class UnevenBranches:
    """One for each arrangement, each with components of its own, made when it is asked for."""

    def __init__(self, problem: MachineProblem) -> None:
        self._problem, self._orders = problem, orders_of(problem)
        self._arranged = list(Arrangements(problem, self._orders))
        sizes = list(problem.space.workload.sizes.values())
        self._looped = [dim for dim, size in enumerate(sizes) if size > 1] or [0]
        self._made = lru_cache(KEPT_AT_ONCE)(self._make)
        self._making = Lock()

    def __len__(self) -> int:
        return len(self._arranged)

    def __getitem__(self, number: int) -> Branch:
        with self._making:
            return self._made(number)

    def root(self, number: int) -> Node:
        """See Branches."""
        nothing, none = np.empty(0, dtype=np.int64), np.empty(0)
        pattern = ("open",) * len(self._problem.accelerator.levels)
        unknown = -np.inf
        return Node(number, pattern, (nothing,), unknown, unknown, none, (nothing,), (none,), (none,))

    def _make(self, number: int) -> Branch:
        problem, arranged = self._problem, self._arranged[number]
        every = components_of(problem, arranged)
        looped = [one for one in every if set(one.dims) & set(self._looped)]
        # Too few MACs at work are found out as of other limits: nothing fits.
        components = _busy(problem, looped) or looped
        orders = replace(self._orders, looped=self._settling(arranged.looped), settled=arranged.settled)
        rows = Rows(problem, components, orders)
        return Branch(problem, number, components, _counts(problem, components), orders, arranged.keep, rows)

    def _settling(self, looped: tuple[tuple[int, ...], ...]) -> tuple[tuple[int, ...], ...]:
        """Where the orders of loops can matter: not below the innermost storage."""
        return (*looped[:-1], ())


def _counts(problem: MachineProblem, components: list[Component]) -> list[Counts]:
    return [Counts(problem.space.workload, problem.accelerator, one) for one in components]


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
