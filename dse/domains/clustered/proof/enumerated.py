"""A proof under any cost model that has a lower bound: what the bound does not rule out is priced, all of it.

A group is a choice of all tiles and of the cluster size. The model brings a lower bound for each, and its own
prices do the rest: to solve a group is to price every mapping in it, that is all parallel dims and orders.
That takes longer than a solver that knows the model's formulas, and needs none of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from types import SimpleNamespace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from dse.core.objective import Objective, objective_named
from dse.core.reasons import Reason
from dse.domains.clustered.limits import FIGURES as LIMITED
from dse.domains.clustered.mapping import (
    CLUSTER,
    COLUMNS,
    INNER_ORDER,
    INNER_PARALLEL,
    INNER_TILE,
    OUTER_ORDER,
    OUTER_PARALLEL,
    OUTER_TILE,
    MappingBatch,
)
from dse.domains.clustered.problem import Problem
from dse.domains.clustered.proof.bounds import Groups, Rounds, Solution, Value, winner_of
from dse.domains.clustered.proof.choices import (
    MAX_GROUPS,
    ORDER_TABLE,
    allowed_orders,
    cluster_sizes,
    parallel_dims,
    refuse_any_tiles,
    tile_chains,
)
from dse.support.arrays import FloatArray, IntArray
from dse.support.errors import InputError

LowerBound = Callable[[Problem, IntArray, IntArray, IntArray], tuple[Any, Any]]
"""Of a problem's groups, outer and inner tiles (n, 4) of K C Y X and cluster sizes (n,): arrays (n,) of the
cycles and of the energies in nanojoule that none of a group's mappings is below."""

FIGURES = ("latency", "energy")
MAPPED = ORDER_TABLE.shape[1]
"""How many dims are cut and ordered, K C Y X; after them come R and S, whole and innermost."""


class Proof(NamedTuple):
    """What the proof module of a cost model has: a `dse.domains.clustered.proof.bounds.Certifier`."""

    GROUP: str
    refuse: Callable[[Problem], None]
    make_bounds: Callable[[Problem], EnumeratedBounds]
    least_area: Callable[[Problem], float]


def enumerated(lower_bound: LowerBound, *, orders: bool = True) -> Proof:
    """The proof of a cost model that brings `lower_bound`; of latency, energy and products of their powers.

    Where no figure depends on the orders of the loops, `orders` is False, and one order stands for all 576:
    groups are solved as many times faster.
    """
    make_bounds = partial(EnumeratedBounds, lower_bound=lower_bound, orders=orders)
    return Proof("tiles and cluster size", refuse, make_bounds, _no_area)


def refuse(problem: Problem) -> None:
    """InputError for an objective of other figures than cycles and energy, or for too many groups."""
    refuse_any_tiles(problem)
    if not objective_named(problem.objective).figures.keys() <= set(FIGURES):
        raise InputError(
            f"under cost model {problem.model.name!r} only {' and '.join(FIGURES)}, and products of their "
            f"powers such as 'edp', can be certified, got {problem.objective!r}"
        )
    groups = math.prod(map(len, _choices(problem)))
    if groups > MAX_GROUPS:
        raise InputError(
            f"{groups:,} choices of tiles and cluster size are too many to certify; at most {MAX_GROUPS:,}: "
            "fix some by outer.tile.K and the like"
        )


def _no_area(problem: Problem) -> float:
    raise InputError(f"cost model {problem.model.name!r} has no bound of the area that a mapping needs")


def _choices(problem: Problem) -> list[IntArray]:
    """The tiles of K, C, Y and X, (m, 2) outer and inner ones, and the cluster sizes (m, 1)."""
    tiles = [
        np.array([(outer, inner) for outer in chain.outer_choices for inner in chain.inner_choices(outer)])
        for chain in tile_chains(problem)
    ]
    return [*tiles, cluster_sizes(problem)[:, np.newaxis]]


@dataclass(frozen=True)
class EnumeratedBounds:
    """A problem's groups; see `dse.domains.clustered.proof.bounds.Bounds`."""

    problem: Problem
    lower_bound: LowerBound
    orders: bool = True

    # A few at a time: a solution often rules out the next group.
    rounds: ClassVar[Rounds] = Rounds(first=8, most=8, blocks=1)
    lists_solved: ClassVar[bool] = False
    nothing_fits: ClassVar[bool] = False
    limits: ClassVar[tuple[str, ...]] = tuple(LIMITED)

    @cached_property
    def _objective(self) -> Objective:
        return objective_named(self.problem.objective)

    @cached_property
    def _choices(self) -> list[IntArray]:
        return _choices(self.problem)

    @cached_property
    def _loops(self) -> IntArray:
        """The parallel dims and orders of a group, which all have: columns of MappingBatch, others 0."""
        parallels = [np.array(found) for found in parallel_dims(self.problem)]
        allowed = allowed_orders(self.problem)
        orders = [ORDER_TABLE[found if self.orders else found[:1]] for found in allowed]
        shape = [len(found) for found in (*parallels, *orders)]
        outer, inner, outer_order, inner_order = np.indices(shape).reshape(len(shape), -1)
        rows = np.zeros((len(outer), COLUMNS), np.int64)
        rows[:, OUTER_PARALLEL], rows[:, INNER_PARALLEL] = parallels[0][outer], parallels[1][inner]
        rows[:, OUTER_ORDER : OUTER_ORDER + MAPPED] = orders[0][outer_order]
        rows[:, INNER_ORDER : INNER_ORDER + MAPPED] = orders[1][inner_order]
        layer = self.problem.space.layer
        for order, tile in ((OUTER_ORDER, OUTER_TILE), (INNER_ORDER, INNER_TILE)):
            rows[:, order + MAPPED : order + MAPPED + 2] = MAPPED, MAPPED + 1
            rows[:, tile + MAPPED : tile + MAPPED + 2] = layer.R, layer.S
        return rows

    @property
    def groups(self) -> int:
        """How many choices of tiles and cluster size there are."""
        return math.prod(map(len, self._choices))

    def bound(self, start: int, stop: int, losses: FloatArray, tie_breaks: FloatArray) -> None:
        """What the model says of the groups from `start` up to `stop`."""
        cycles, energy_nj = self.lower_bound(self.problem, *self._read(np.arange(start, stop)))
        losses[:] = self._loss(cycles, energy_nj)
        tie_breaks[:] = self._tie_break(cycles, energy_nj)

    def solve(self, groups: Groups, to_beat: Value) -> Solution:
        """The best mapping of these groups, all of which are priced."""
        outer, inner, clusters = (np.repeat(each, len(self._loops), 0) for each in self._read(groups.numbers))
        rows = np.tile(self._loops, (len(groups), 1))
        rows[:, OUTER_TILE : OUTER_TILE + MAPPED], rows[:, INNER_TILE : INNER_TILE + MAPPED] = outer, inner
        rows[:, CLUSTER] = clusters
        found = self.problem.evaluate(MappingBatch(rows))
        tie_breaks = self._tie_break(found.cycles, found.energy_nj)
        place = int(np.lexsort((tie_breaks, found.loss))[0])
        value = (float(found.loss[place]), float(tie_breaks[place]))
        better = found.reason[place] == Reason.FEASIBLE and value < to_beat
        return Solution(value if better else to_beat, winner_of(rows[place]) if better else None, len(groups))

    def floor(self) -> float:
        """The loss of the cycles that every feasible mapping takes, with no energy."""
        machine = self.problem.accelerator
        cycles = -(-self.problem.layer.macs // (machine.num_pes * machine.simd_lanes))
        return float(self._loss(cycles, 0.0))

    def _loss(self, cycles: Any, energy_nj: Any) -> Any:
        costs = SimpleNamespace(cycles=cycles, energy_nj=energy_nj)
        return self._objective.value(costs, self.problem.accelerator.hertz)

    def _tie_break(self, cycles: Any, energy_nj: Any) -> Any:
        """What decides between mappings of the same loss."""
        return cycles if self._objective.of_energy_alone else energy_nj

    def _read(self, numbers: IntArray) -> tuple[IntArray, IntArray, IntArray]:
        """The outer and inner tiles (n, 4) and the cluster sizes (n,) of groups by their numbers."""
        places = np.unravel_index(numbers, [len(found) for found in self._choices])
        *tiles, clusters = (found[place] for found, place in zip(self._choices, places, strict=True))
        both = np.stack(tiles, axis=1)
        return both[:, :, 0], both[:, :, 1], clusters[:, 0]
