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

from dse.core.limits import PE_USE
from dse.core.objective import objective_named
from dse.domains.clustered.limits import FIGURES
from dse.domains.clustered.mapping import (
    COLUMNS,
)
from dse.domains.clustered.problem import Problem
from dse.domains.clustered.proof.bounds import Groups, Rounds, Solution, Value, winner_of
from dse.domains.clustered.proof.choices import (
    ORDER_TABLE,
    allowed_orders,
    cluster_sizes,
    counted,
    parallel_dims,
    tile_chains,
)
from dse.models.loopnest.params import (
    END_REAL,
    FIRST_REAL,
    OVERLAPS,
    PITCHES,
    SIZES,
    machine_params,
)
from dse.models.loopnest.proof import instance
from dse.models.loopnest.proof.boxes.pairs import NONE, Pairs, Tables
from dse.support.arrays import FloatArray, IntArray
from dse.support.jit import load_kernels
from dse.support.numerics.losses import PLACE

if TYPE_CHECKING:
    from dse.models.loopnest import LoopNest

MAPPED = ORDER_TABLE.shape[1]
CYCLES = instance.COLUMNS.index("cycles")
NO_PAIRS: Tables = np.zeros(0, np.int32), np.full(4, NONE)
MIRRORED = 3
"""Of the `sizes` that kernels take: whether groups that are mirror images are left out. Behind it stands how
many steps limits leave to the busiest PE."""
AXES = SIZES + 2, PITCHES, OVERLAPS, FIRST_REAL, END_REAL


@dataclass(frozen=True)
class BoxBounds:
    """A problem's groups; see `dse.domains.clustered.proof.bounds.Bounds`."""

    problem: Problem
    kernels: Any

    rounds: ClassVar[Rounds] = Rounds(first=1, most=8, blocks=2, part=1)
    # They are found again by a check.
    lists_solved: ClassVar[bool] = False
    limits: ClassVar[tuple[str, ...]] = tuple(FIGURES)
    # Where no tiles fit, no group has a bound.
    nothing_fits: ClassVar[bool] = False

    @cached_property
    def _choices(self) -> tuple[IntArray, IntArray, IntArray]:
        problem = self.problem
        return cluster_sizes(problem), counted(parallel_dims(problem)), _classes(problem)

    @cached_property
    def _params(self) -> tuple[IntArray, FloatArray]:
        problem, model = self.problem, cast("LoopNest", self.problem.model)
        return machine_params(problem.layer, problem.accelerator, model.constants)

    @cached_property
    def _figures(self) -> tuple[IntArray, FloatArray, FloatArray]:
        problem = self.problem
        machine = problem.accelerator
        sizes = [*problem.use.room, machine.num_pes, self._rows_like_columns, problem.use.most_steps]
        terms = objective_named(problem.objective).rows(instance.COLUMNS)
        return np.array(sizes, dtype=np.int64), instance.constants_of(problem), terms

    @property
    def _rows_like_columns(self) -> bool:
        """Whether a mapping costs the same with Y and X in each other's place, and is in the space."""
        params, problem = self._params[0][0], self.problem
        figures = [params[start : start + 2] for start in AXES]
        alike = all(rows == columns for rows, columns in figures)
        return alike and not any(
            gene.endswith((".Y", ".X", "order", "parallel")) for gene in problem.space.fixed
        )

    @cached_property
    def _orders(self) -> IntArray:
        """By level and set of dims with several steps, one order for each class that costs the same."""
        allowed = allowed_orders(self.problem)
        return np.array([instance.distinct_orders(tuple(orders)) for orders in allowed])

    @cached_property
    def _pairs(self) -> Pairs | None:
        """Undominated pairs of tiles, if words alone count and no tile is fixed."""
        terms = self._figures[2]
        if (terms[:, PLACE] == CYCLES).any() or any("tile" in gene for gene in self.problem.space.fixed):
            return None
        return Pairs(self._params[0][0], self.kernels.count_undominated)

    @property
    def _pairs_alone(self) -> Tables:
        """The counts of undominated pairs, and where they begin for each dim where no loop is parallel."""
        if self._pairs is None:
            return NO_PAIRS
        starts = self._pairs.starts(1, 1, NONE, NONE)
        return self._pairs.counts, starts

    def _pairs_of(self, number: int) -> Tables:
        """As `_pairs_alone`, for the cluster size and the parallel dims of a group."""
        if self._pairs is None:
            return NO_PAIRS
        clusters, parallels, classes = self._choices
        shape = (*classes[:, 0, 0], len(clusters), *parallels[:, 0])
        *_, place, outer, inner = np.unravel_index(number, shape)
        spread = parallels[[0, 1], [1 + outer, 1 + inner]]
        if PE_USE in self.problem.use.limits:
            # Of dims that are spread, the dominated pair may be the only one that leaves enough PEs busy.
            counts, starts = self._pairs_alone
            starts[spread] = NONE
            return counts, starts
        size = int(clusters[place])
        across = self.problem.accelerator.num_pes // size
        starts = self._pairs.starts(size, across, *spread.tolist())
        return self._pairs.counts, starts

    @property
    def groups(self) -> int:
        """How many boxes there are to begin with."""
        clusters, parallels, classes = self._choices
        return int(np.prod(classes[:, 0, 0]) * len(clusters) * parallels[0, 0] * parallels[1, 0])

    def bound(self, start: int, stop: int, losses: FloatArray, tie_breaks: FloatArray) -> None:
        """See Bounds. Of mappings with equal losses no proof is made: their tie breaks are the highest."""
        tie_breaks[:] = np.inf
        params, _ = self._params
        self.kernels.bound_groups(
            start,
            stop,
            params,
            *self._figures,
            *self._choices,
            self._orders,
            ORDER_TABLE,
            *self._pairs_alone,
            losses,
        )

    def solve(self, groups: Groups, to_beat: Value) -> Solution:
        """The best of all mappings of the groups that could have it."""
        best, row = np.array([to_beat[0]]), np.zeros(COLUMNS, np.int64)
        done = np.zeros(self.kernels.DONE, np.int64)
        for place in range(len(groups)):
            one = groups.part(place, place + 1)
            self.kernels.search_groups(
                one.numbers, one.losses, *self._params, *self._figures, *self._choices,
                self._orders, ORDER_TABLE, *self._pairs_of(int(one.numbers[0])), best, row, done,
            )  # fmt: skip
        if not best[0] < to_beat[0]:
            return Solution(to_beat, None, int(done[self.kernels.PRICED]))
        return Solution((float(best[0]), 0.0), winner_of(row), int(done[self.kernels.PRICED]))

    def floor(self) -> float:
        """The loss of full use of all lanes and links, every word moved once."""
        kernels = load_kernels("dse.models.loopnest.proof.kernels")
        found = instance.make_instance(self.problem.with_changes(tiles="factors", fixed={}))
        return float(kernels.floor(found.params, found.constants, found.terms, found.real))


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
