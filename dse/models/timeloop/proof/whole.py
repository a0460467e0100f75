"""Whole chains as rows of mappings: in every order of the loops that a pattern stands for."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np

from dse.domains.levels.layout import RowArray
from dse.domains.levels.problem import MachineProblem
from dse.domains.levels.space.orders import Order
from dse.models.timeloop.proof.counts import Counts
from dse.models.timeloop.proof.orders import OPEN, Choice, First, Orders, Pattern
from dse.support.arrays import BoolArray, IntArray
from dse.support.jit import load_kernels

ORDERING = "dse.models.timeloop.proof.ordering"


class LevelOrders(NamedTuple):
    """The orders (n, dims) of a level's loops.

    Bits say which dims are looped over more than once: of each such set of dims, the orders that differ in
    their loops, from `starts` on in `picks`, and the innermost dim of each, -1 where there is no loop.
    """

    orders: IntArray
    starts: IntArray
    picks: IntArray
    innermost: IntArray

    @classmethod
    def of(cls, orders: IntArray) -> LevelOrders:
        """The orders, with those that differ for every set of dims."""
        dims = orders.shape[1]
        picks, innermost = [], []
        for running in range(2**dims):
            runs = (running >> orders) & 1
            codes, last = np.zeros(len(orders), dtype=np.int64), np.full(len(orders), -1)
            for place in range(dims):
                here = runs[:, place] == 1
                codes = np.where(here, codes * (dims + 1) + orders[:, place] + 1, codes)
                last = np.where(here, orders[:, place], last)
            different = np.sort(np.unique(codes, return_index=True)[1])
            picks.append(different)
            innermost.append(last[different])
        starts = np.cumsum([0, *map(len, picks)]).astype(np.int64)
        return cls(orders, starts, np.concatenate(picks), np.concatenate(innermost))


@lru_cache(16)
def _level_orders(names: tuple[Order, ...], dims: tuple[str, ...]) -> LevelOrders:
    """The orders by the places of dims; machines share them, and small proofs have little else to do."""
    return LevelOrders.of(np.array([[dims.index(name) for name in one] for one in names]))


class Rows:
    """Chains of a problem's components as rows of its layout: in orders of which one is the best, or in
    `every` one of the space.
    """

    def __init__(
        self, problem: MachineProblem, counts: Sequence[Counts], orders: Orders, every: bool = False
    ) -> None:
        self._every = every
        self._layout, self._counts, self._mirror = problem.space.layout, counts, orders
        self._components = [one.component for one in counts]
        self._choices = [level.orders for level in problem.space.levels]
        self._plain = [level.plain for level in problem.space.levels]

    @cached_property
    def _orders(self) -> list[LevelOrders]:
        """The orders of each level."""
        return [_level_orders(names, self._layout.dims) for names in self._choices]

    def write(self, pattern: Pattern, keep: BoolArray, chains: IntArray) -> RowArray:
        """The rows of chains (n, components) in every order of the pattern, and those of its mirror, where
        `keep` (levels, tensors) says what levels keep.
        """
        dims = len(self._layout.dims)
        rows = np.ones((len(chains), self._layout.levels, self._layout.width), dtype=np.int32)
        for component, picked in zip(self._components, chains.T, strict=True):
            looped = list(component.dims)
            rows[:, :, looped] = component.temporal[picked].swapaxes(1, 2)
            rows[:, :, [dims + dim for dim in looped]] = component.spatial[picked].swapaxes(1, 2)
        rows[:, :, 3 * dims :] = keep
        tiles, meet = self._tiles(chains), np.full(len(chains), self._every)
        if not self._every and any(
            plain < len(one) for plain, one in zip(self._plain, self._choices, strict=True)
        ):
            for counts, picked in zip(self._counts, chains.T, strict=True):
                meet |= counts.may_meet(picked)
        found = [self._ordered(rows, tiles, meet, pattern)]
        mirrored = self._mirror.mirrored(pattern)
        if mirrored != pattern:
            other, mirror = rows.copy(), list(self._mirror.mirror)
            for first in (0, dims):
                other[:, :, first : first + dims] = rows[:, :, [first + dim for dim in mirror]]
            found.append(self._ordered(other, tiles[:, :, mirror], meet, mirrored))
        return np.concatenate(found) if len(found) > 1 else found[0]

    def _tiles(self, chains: IntArray) -> RowArray:
        """The lengths of tiles, where rows have any: (n, loops, dims)."""
        dims, loops = len(self._layout.dims), 2 * self._layout.levels if self._layout.sizes else 0
        tiles = np.ones((len(chains), loops, dims), dtype=np.int32)
        for component, picked in zip(self._components, chains.T, strict=True):
            if component.tiles is not None:
                tiles[:, :, list(component.dims)] = component.tiles[picked, :, 1:].swapaxes(1, 2)
        return tiles

    def _ordered(self, rows: RowArray, tiles: RowArray, meet: BoolArray, pattern: Pattern) -> RowArray:
        """The rows in the orders of each level that have its choice's innermost loop, each once: where a loop
        that runs once stands does not matter. Of all but those that `meet` the plain orders are enough.
        """
        every = np.concatenate([part.reshape(len(rows), -1) for part in (rows, tiles)], axis=1)
        parts = [every[~meet], every[meet]]
        for level, choice in enumerate(pattern):
            most = self._plain[level], len(self._choices[level])
            parts = [self._level(part, level, choice, of) for part, of in zip(parts, most, strict=True)]
        return np.concatenate(parts)

    def _level(self, rows: RowArray, level: int, choice: Choice, most: int) -> RowArray:
        known, layout = self._orders[level], self._layout
        if choice == OPEN and self._mirror.settled is not None and not self._mirror.windowed:
            # Its order leaves nothing in place that is counted: one is as good as another.
            rows[:, layout.order(level)] = known.orders[0]
            return rows
        allowed = np.zeros(len(layout.dims), dtype=np.bool_)
        if isinstance(choice, First):
            allowed[list(choice.dims)] = True
        written: RowArray = load_kernels(ORDERING).write_orders(
            rows, layout.temporal(level).start, layout.order(level).start, known, allowed,
            not isinstance(choice, First), most,
        )  # fmt: skip
        return written
