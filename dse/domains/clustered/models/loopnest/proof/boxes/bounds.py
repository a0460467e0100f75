"""The bounds of a proof over tiles of any size, under `loopnest`.

1. A *box* is a cluster size, the parallel dims of both levels, and for each dim an interval of outer tiles
   and one of inner tiles. Its bound takes each figure from the tiles of the intervals that have least of it:
   the fewest steps, the fewest pieces, the smallest footprint (`dims`), and from them the least words and
   cycles of any order (`outer`, `inner`, `box`).
2. A group is a box whose outer tiles are within a factor of two, as far as they have the same number of steps
   or nearly so, and whose inner tiles are any.
3. To solve a group, it is split in two where it is widest, and both halves again, until the bound of a box is
   not below the best loss, or one pair of tiles is left for each dim: then every order that differs is priced
   by the cost model's own kernel (`search`).

Losses alone are compared: of mappings with the same loss, any may be the best one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np

from dse.core.objective import objective_named
from dse.domains.clustered.mapping import (
    CLUSTER,
    COLUMNS,
    INNER_ORDER,
    INNER_PARALLEL,
    INNER_TILE,
    OUTER_ORDER,
    OUTER_PARALLEL,
    OUTER_TILE,
)
from dse.domains.clustered.models.loopnest.facts import machine_facts
from dse.domains.clustered.models.loopnest.proof import instance
from dse.domains.clustered.problem import Problem
from dse.domains.clustered.proof.bounds import Choice, Groups, Rounds, Solution, Value, Winner
from dse.domains.clustered.proof.choices import (
    ORDER_TABLE,
    allowed_orders,
    cluster_sizes,
    counted,
    parallel_dims,
    tile_chains,
)
from dse.support.arrays import FloatArray, IntArray
from dse.support.jit import load_kernels

if TYPE_CHECKING:
    from dse.domains.clustered.models.loopnest import LoopNest

MAPPED = ORDER_TABLE.shape[1]


@dataclass(frozen=True)
class BoxBounds:
    """A problem's groups; see `dse.domains.clustered.proof.bounds.Bounds`."""

    problem: Problem
    kernels: Any

    rounds: ClassVar[Rounds] = Rounds(first=1, most=64, blocks=2, part=1)
    # They are found again by a check.
    lists_solved: ClassVar[bool] = False
    # Where no tiles fit, no group has a bound.
    nothing_fits: ClassVar[bool] = False

    @cached_property
    def _choices(self) -> tuple[IntArray, IntArray, IntArray]:
        problem = self.problem
        return cluster_sizes(problem), counted(parallel_dims(problem)), _classes(problem)

    @cached_property
    def _facts(self) -> tuple[IntArray, FloatArray]:
        problem, model = self.problem, cast("LoopNest", self.problem.model)
        return machine_facts(problem.layer, problem.accelerator, model.constants)

    @cached_property
    def _figures(self) -> tuple[IntArray, FloatArray, FloatArray]:
        problem = self.problem
        machine = problem.accelerator
        sizes = np.array([machine.l1_size, machine.l2_size, machine.num_pes], dtype=np.int64)
        terms = objective_named(problem.objective).rows(instance.COLUMNS)
        return sizes, instance.constants_of(problem), terms

    @cached_property
    def _orders(self) -> IntArray:
        """By level and set of dims with several steps, one order for each class that costs the same."""
        allowed = allowed_orders(self.problem)
        return np.array([instance.distinct_orders(orders) for orders in allowed])

    @property
    def groups(self) -> int:
        """How many boxes there are to begin with."""
        clusters, parallels, classes = self._choices
        return int(np.prod(classes[:, 0, 0]) * len(clusters) * parallels[0, 0] * parallels[1, 0])

    def bound(self, start: int, stop: int, losses: FloatArray, tie_breaks: FloatArray) -> None:
        """See Bounds. Of mappings with equal losses no proof is made: their tie breaks are the highest."""
        tie_breaks[:] = np.inf
        facts, _ = self._facts
        self.kernels.bound_groups(
            start, stop, facts, *self._figures, *self._choices, self._orders, ORDER_TABLE, losses
        )

    def solve(self, groups: Groups, to_beat: Value) -> Solution:
        """The best of all mappings of the groups that could have it."""
        best, row = np.array([to_beat[0]]), np.zeros(COLUMNS, np.int64)
        done = np.zeros(self.kernels.DONE, np.int64)
        self.kernels.search_groups(
            groups.numbers, groups.losses, *self._facts, *self._figures, *self._choices,
            self._orders, ORDER_TABLE, best, row, done,
        )  # fmt: skip
        if not best[0] < to_beat[0]:
            return Solution(to_beat, None, int(done[self.kernels.PRICED]))
        return Solution((float(best[0]), 0.0), _winner(row), int(done[self.kernels.PRICED]))

    def floor(self) -> float:
        """The loss of full use of all lanes and links, every word moved once."""
        kernels = load_kernels("dse.domains.clustered.models.loopnest.proof.kernels")
        found = instance.make_instance(self.problem.with_changes(tiles="factors", fixed={}))
        return float(kernels.floor(found.facts, found.constants, found.terms, found.real))


def _winner(row: IntArray) -> Winner:
    """The mapping of a row."""
    orders = [row[start : start + MAPPED] for start in (OUTER_ORDER, INNER_ORDER)]
    outer, inner = (int(np.flatnonzero((order == ORDER_TABLE).all(axis=1))[0]) for order in orders)
    tiles = [row[start : start + MAPPED].tolist() for start in (OUTER_TILE, INNER_TILE)]
    return Winner(
        Choice(int(row[OUTER_PARALLEL]), outer, tiles[0]),
        int(row[CLUSTER]),
        Choice(int(row[INNER_PARALLEL]), inner, tiles[1]),
    )


def _classes(problem: Problem) -> IntArray:
    """By dim, how many intervals of outer tiles, and the least and largest inner tile; then the intervals."""
    chains = tile_chains(problem)
    found = []
    for chain in chains:
        outers = chain.outer_choices
        found.append(intervals(chain.size, outers[0], outers[-1]))
    table = np.zeros((MAPPED, 1 + max(map(len, found)), 4), dtype=np.int64)
    for rows, chain, classes in zip(table, chains, found, strict=True):
        rows[0] = len(classes), 0, chain.inner or 1, chain.inner or chain.outer_choices[-1]
        rows[1 : 1 + len(classes), :2] = classes
    return table


def intervals(size: int, least: int, most: int) -> list[tuple[int, int]]:
    """Intervals of the tiles from `least` to `most`, each within a factor of two or nearly so.

    All tiles with the same number of steps are in one of them; a tile of the whole dim is alone.
    """
    found = [(size, size)] if most == size else []
    high = min(most, size - 1)
    while high >= least:
        low = -(-size // -(-size // max(least, (high + 1) // 2)))
        found.append((min(max(low, least), high), high))
        high = found[-1][0] - 1
    return found[::-1]
