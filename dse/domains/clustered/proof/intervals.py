"""A proof under any cost model that has a lower bound over intervals of tiles, over tiles of any size too.

The model brings what no mapping of a box is below (see `TileBoxes`), and its own prices do the rest: boxes
that are not ruled out are halved down to points, and of a point every loop order is priced. That takes longer
than a solver that knows the model's formulas, and needs none of them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from types import SimpleNamespace
from typing import ClassVar, NamedTuple

import numpy as np

from dse.core.certificate import Certificate
from dse.core.evaluations import Evaluations
from dse.core.objective import Objective, objective_named
from dse.core.proofs import Check
from dse.core.reasons import Reason
from dse.domains.clustered.bounding import LowerBound, LowerBounds, TileBoxes, bounds_of, losses_of
from dse.domains.clustered.mapping import COLUMNS, MappingBatch, whole_filter_rows
from dse.domains.clustered.problem import Problem
from dse.domains.clustered.proof.bounds import RowBoxes
from dse.domains.clustered.proof.choices import ORDER_TABLE, allowed_orders
from dse.domains.clustered.proof.nests import nest_keys
from dse.domains.clustered.proof.tile_boxes import WIDTH, Tiles
from dse.proof.contract import Bounded, Children, Found, Rounds
from dse.support.arrays import FloatArray, IntArray
from dse.support.errors import InputError

KIND = "tiles, parallel dims and cluster size"
PRICED = 2**16
"""Mappings that are priced at once."""
ROUNDING = 1e-9
"""By so much of itself a bound may be above a price that is added up in another order."""


class Proof(NamedTuple):
    """What the proof module of a cost model has: a Certifier, and `checks` of its certificates."""

    GROUP: str
    refuse: Callable[[Problem], None]
    make_boxes: Callable[[Problem], IntervalBoxes]
    least_area: Callable[[Problem], float]
    checks: Callable[..., tuple[Check, ...]]


def interval_proof(lower_bound: LowerBound, *, orders: bool = True) -> Proof:
    """The proof of a cost model that brings `lower_bound`; of latency, energy and products of their powers.

    `lower_bound(problem, boxes)` returns LowerBounds, or cycles and energy alone, arrays (n,).
    Where no figure depends on the orders of the loops, `orders` is False, and one order stands for all 576.
    """
    make_boxes = partial(IntervalBoxes, lower_bound=lower_bound, orders=orders)

    def checks(problem: Problem, certificate: Certificate, rng: np.random.Generator) -> tuple[Check, ...]:
        from dse.domains.clustered.check.intervals import interval_checks

        return interval_checks(problem, certificate, rng, lower_bound, orders=orders)

    return Proof(KIND, refuse, make_boxes, _no_area, checks)


def refuse(problem: Problem) -> None:
    """InputError for an objective of other figures than cycles and energy."""
    if not objective_named(problem.objective).figures.keys() <= {"latency", "energy"}:
        raise InputError(
            f"under cost model {problem.model.name!r} only latency and energy, and products of their powers "
            f"such as 'edp', can be certified, got {problem.objective!r}"
        )


def _no_area(problem: Problem) -> float:
    raise InputError(f"cost model {problem.model.name!r} has no bound of the area that a mapping needs")


class IntervalBoxes(RowBoxes):
    """A problem's boxes for the engine; see `dse.proof.contract.Boxes`."""

    kind: ClassVar[str] = KIND
    rounds: ClassVar[Rounds] = Rounds(least=1024, most=8192, share=2048)
    columns: ClassVar[int] = WIDTH

    def __init__(self, problem: Problem, lower_bound: LowerBound, orders: bool = True) -> None:
        self.problem = problem
        self.lower_bound, self._all_orders = lower_bound, orders
        self._tiles = Tiles(problem)
        self._objective: Objective = objective_named(problem.objective)

    def roots(self) -> IntArray:
        """See Boxes."""
        return self._tiles.roots()

    def bound(self, boxes: IntArray, to_beat: float) -> Bounded:
        """See Boxes: the objective of the model's bounds, as it rises with each figure."""
        return Bounded(losses_of(self._bounds(self._tiles.read(boxes)), self.problem))

    def divide(self, boxes: IntArray, bounds: FloatArray, to_beat: float) -> Children:
        """See Boxes."""
        return self._tiles.halves(boxes)

    def settle(self, boxes: IntArray, to_beat: float) -> Found:
        """See Boxes: rows of mappings, one for each nest of loops. What is no point and is not halved has no
        mapping.
        """
        points = boxes[self._tiles.points(boxes)]
        # Of a point there is a mapping for each pair of orders.
        step = max(1, PRICED // len(self._orders[0]))
        losses, rows = [np.empty(0)], [np.empty((0, COLUMNS), np.int64)]
        for start in range(0, len(points), step):
            found = self._priced(points[start : start + step], to_beat)
            losses.append(found[0])
            rows.append(found[1])
        return Found(np.concatenate(losses), np.concatenate(rows))

    def with_all(self) -> IntervalBoxes:
        """See MappingBoxes."""
        return IntervalBoxes(self.problem, self.lower_bound)

    def floor(self) -> float:
        """The loss of the cycles that every feasible mapping takes, with no energy."""
        machine = self.problem.accelerator
        cycles = -(-self.problem.layer.macs // (machine.num_pes * machine.simd_lanes))
        costs = SimpleNamespace(cycles=cycles, energy_nj=0.0)
        return float(self._objective.value(costs, machine.hertz))

    def _bounds(self, boxes: TileBoxes) -> LowerBounds:
        return bounds_of(self.lower_bound, self.problem, boxes)

    def _priced(self, points: IntArray, to_beat: float) -> tuple[FloatArray, IntArray]:
        """The losses and rows of mappings of points that are below `to_beat`; of one nest the best."""
        boxes = self._tiles.read(points)
        outer, inner = (np.tile(ORDER_TABLE[places], (len(points), 1)) for places in self._orders)
        # Of which point each mapping is: those of one have all orders.
        which = np.arange(len(points)).repeat(len(self._orders[0]))
        rows = whole_filter_rows(
            self.problem.layer,
            boxes.cluster[which],
            (boxes.outer_parallel[which], outer, boxes.outer_low[which]),
            (boxes.inner_parallel[which], inner, boxes.inner_low[which]),
        )
        priced = self.problem.evaluate(MappingBatch(rows))
        fits = np.flatnonzero(priced.reason == Reason.FEASIBLE)
        self._refuse_above(boxes, which[fits], priced.take(fits), rows[fits])
        # From the best on, so that the first of each nest is its best.
        better = fits[priced.loss[fits] < to_beat]
        better = better[np.argsort(priced.loss[better], kind="stable")]
        keys = nest_keys(self.problem, rows[better])
        chosen = better[np.sort(np.unique(keys, axis=0, return_index=True)[1])]
        return priced.loss[chosen], rows[chosen]

    def _refuse_above(self, points: TileBoxes, which: IntArray, priced: Evaluations, rows: IntArray) -> None:
        """InputError if a mapping is priced below the bound of its point, that of `which` (m,)."""
        for name, bound in self._bounds(points)._asdict().items():
            price = getattr(priced, name)
            wrong = np.flatnonzero(price < bound[which] * (1 - ROUNDING))[:1]
            if len(wrong):
                told = f"{bound[which[wrong[0]]]:.9g} as {name}, and {price[wrong[0]]:.9g} is priced"
                raise InputError(
                    f"cost model {self.problem.model.name!r}: its lower_bound gives {told}: "
                    f"{MappingBatch(rows[wrong])[0].to_json()}"
                )

    @cached_property
    def _orders(self) -> tuple[IntArray, IntArray]:
        """The pairs of loop orders that a point is priced with: places in ORDER_TABLE (m,) and (m,)."""
        allowed = [orders if self._all_orders else orders[:1] for orders in allowed_orders(self.problem)]
        outer, inner = np.meshgrid(*allowed, indexing="ij")
        return outer.ravel(), inner.ravel()
