"""Claims of proofs by lower bounds over intervals of tiles: the bounds hold, and a search of its own agrees.

1. Boxes around mappings drawn at random, and parts of these: no figure's bound is above the price, nor that
   of a box above that of its part.
2. All mappings are gone through once more, breadth first, in boxes that are cut in the middle of their
   longest list of tiles. What the bounds do not rule out within a budget is priced, or mappings of it are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from dse.core.certificate import Certificate
from dse.core.chains import find_divisors
from dse.core.proofs import Check
from dse.domains.clustered.bounding import LowerBound, LowerBounds, TileBoxes, bounds_of, losses_of
from dse.domains.clustered.check.enumeration import allowed_orders, allowed_parallels
from dse.domains.clustered.mapping import (
    CLUSTER,
    INNER_PARALLEL,
    INNER_TILE,
    OUTER_PARALLEL,
    OUTER_TILE,
    MappingBatch,
    whole_filter_rows,
)
from dse.domains.clustered.problem import Problem
from dse.domains.clustered.space.genes import LEVELS, MAPPED_DIMS, allowed_values
from dse.support.arrays import BoolArray, IntArray

ROUNDING = 1e-9
"""By so much of itself a bound may be off that is added up in another order."""
CHUNK = 2**15


class Budget(NamedTuple):
    """Mappings to draw, bounds to work out, and mappings to price of what these leave."""

    drawn: int = 4000
    bounds: int = 400_000
    rows: int = 300_000


BUDGET = Budget()


def interval_checks(
    problem: Problem,
    certificate: Certificate,
    rng: np.random.Generator,
    lower_bound: LowerBound,
    *,
    orders: bool,
) -> tuple[Check, ...]:
    """Check what certificates by such a bound claim; `orders` says whether figures depend on loop orders."""
    bounds = bounds_check(problem, rng, lower_bound, BUDGET.drawn)
    search = _Search(problem, lower_bound, orders, certificate.lower_bound * (1 - ROUNDING))
    return bounds, search.check(rng, BUDGET)


def bounds_check(problem: Problem, rng: np.random.Generator, lower_bound: LowerBound, drawn: int) -> Check:
    """Whether bounds of boxes around mappings drawn at random are below prices, and below those of parts."""
    name = "bounds are below the prices in their boxes"
    mappings = problem.space.decode(problem.space.sample(rng, drawn))
    priced = problem.evaluate(mappings)
    rows = mappings.rows
    points = _points(problem, rows)
    sizes = np.array([problem.space.layer.loops[dim] for dim in MAPPED_DIMS])
    ones, whole = np.ones_like(points.outer_low), np.tile(sizes, (drawn, 1))
    boxes = _around(rng, points, TileBoxes(*points[:3], ones, whole, ones, whole))
    parts = _around(rng, points, boxes)
    before, feasible, seen = LowerBounds(0.0, 0.0), priced.reason == 0, f"{drawn:,} boxes"
    for inside in (boxes, parts, points):
        found = bounds_of(lower_bound, problem, inside)
        for figure in LowerBounds._fields:
            bound = getattr(found, figure)
            above = feasible & (bound * (1 - ROUNDING) > getattr(priced, figure))
            if above.any():
                at = int(np.flatnonzero(above)[0])
                price = f"{getattr(priced, figure)[at]:.9g} is priced: {mappings[at].to_json()}"
                return Check(name, False, f"{figure} {bound[at]:.9g} of {inside.words(at)}; {price}")
            falls = bound < getattr(before, figure) * (1 - ROUNDING)
            if falls.any():
                at = int(np.flatnonzero(falls)[0])
                return Check(
                    name,
                    False,
                    f"{figure} {bound[at]:.9g} of {inside.words(at)}, and more of a box around it",
                )
        before = found
    return Check(name, True, f"{seen}, {int(feasible.sum()):,} of feasible mappings")


def _points(problem: Problem, rows: IntArray) -> TileBoxes:
    """Each mapping (n, 27) as a box of one tile a dim; in a depthwise layer a parallel K means C."""
    least = int(problem.layer.type == "DSCONV")
    outer, inner = rows[:, OUTER_TILE : OUTER_TILE + 4], rows[:, INNER_TILE : INNER_TILE + 4]
    across, within = (np.maximum(rows[:, column], least) for column in (OUTER_PARALLEL, INNER_PARALLEL))
    return TileBoxes(rows[:, CLUSTER], across, within, outer, outer, inner, inner)


def _around(rng: np.random.Generator, points: TileBoxes, within: TileBoxes) -> TileBoxes:
    """Boxes that hold points (n,) and lie within others: of each interval some part, often none or all."""

    def between(one: Any, other: Any) -> IntArray:
        share = np.clip(rng.uniform(-0.5, 1.5, np.shape(points.outer_low)), 0.0, 1.0)
        return np.asarray(one + np.rint(share * (other - one)), np.int64)

    return points._replace(
        outer_low=between(points.outer_low, within.outer_low),
        outer_high=between(points.outer_low, within.outer_high),
        inner_low=between(points.inner_low, within.inner_low),
        inner_high=between(points.inner_low, within.inner_high),
    )


@dataclass
class _Search:
    """Boxes as rows: cluster size and parallel dims, then from and to which place in eight lists of tiles."""

    problem: Problem
    lower_bound: LowerBound
    orders: bool
    target: float

    def __post_init__(self) -> None:
        fixed, loops = self.problem.space.fixed, self.problem.space.layer.loops
        self.lists: list[IntArray] = []
        for level, dim in product(LEVELS, MAPPED_DIMS):
            every = find_divisors(loops[dim]) if self.problem.tiles == "factors" else range(1, loops[dim] + 1)
            self.lists.append(np.array(fixed.get(f"{level}.tile.{dim}", list(every)), np.int64).reshape(-1))

    def check(self, rng: np.random.Generator, budget: Budget) -> Check:
        """Whether nothing is below the target."""
        left, spent = self._rule_out(budget.bounds)
        ways, ended = self._ways(), self._is_point(left)
        points, boxes = left[ended], left[~ended]
        most, at_once = max(1, budget.rows // len(ways)), max(1, CHUNK // len(ways))
        chosen = [rng.permutation(points)[:most], *([self._draw(rng, boxes, most)] if len(boxes) else [])]
        least, rows = math.inf, 0
        for part in chosen:
            for start in range(0, len(part), at_once):
                batch = MappingBatch(self._mappings(part[start : start + at_once], ways))
                least = min(least, float(self.problem.evaluate(batch).loss.min()))
                rows += len(batch)
        seen = f"{spent:,} bounds leave {len(points):,} choices of tiles and {len(boxes):,} boxes"
        seen += f", {rows:,} mappings of these priced"
        name, holds = "a search by other code finds none below", not least < self.target
        return Check(name, holds, seen if holds else f"{least!r}: {seen}")

    def _rule_out(self, most: int) -> tuple[IntArray, int]:
        """What is not ruled out by about so many bounds, and how many it took."""
        front, ended, spent = self._roots(), [], 0
        while len(front) and spent < most:
            losses = losses_of(bounds_of(self.lower_bound, self.problem, self._read(front)), self.problem)
            spent += len(front)
            front = front[losses < self.target]
            points = self._is_point(front)
            ended.append(front[points])
            front = self._halves(front[~points])
        return np.concatenate([*ended, front]), spent

    def _roots(self) -> IntArray:
        allowed = allowed_values(self.problem.space.fixed, "cluster")
        clusters = self.problem.accelerator.cluster_sizes if allowed is None else allowed
        parallels = [
            [MAPPED_DIMS.index(dim) for dim in allowed_parallels(self.problem, level)] for level in LEVELS
        ]
        ends = [len(tiles) - 1 for tiles in self.lists]
        roots = [[*choice, *[0] * len(ends), *ends] for choice in product(clusters, *parallels)]
        return np.array(roots, np.int64)

    def _read(self, boxes: IntArray) -> TileBoxes:
        low, high = self._tiles(boxes[:, 3:11]), self._tiles(boxes[:, 11:])
        return TileBoxes(
            boxes[:, 0], boxes[:, 1], boxes[:, 2], low[:, :4], high[:, :4], low[:, 4:], high[:, 4:]
        )

    def _tiles(self, places: IntArray) -> IntArray:
        return np.stack([tiles[places[:, column]] for column, tiles in enumerate(self.lists)], axis=1)

    def _is_point(self, boxes: IntArray) -> BoolArray:
        return np.asarray((boxes[:, 3:11] == boxes[:, 11:]).all(axis=1))

    def _halves(self, boxes: IntArray) -> IntArray:
        """The two halves of each box, those that have a mapping."""
        lengths = boxes[:, 11:] - boxes[:, 3:11]
        rows, cut = np.arange(len(boxes)), lengths.argmax(axis=1)
        middle = boxes[rows, 3 + cut] + lengths[rows, cut] // 2
        lower, upper = boxes.copy(), boxes.copy()
        lower[rows, 11 + cut], upper[rows, 3 + cut] = middle, middle + 1
        halves = np.concatenate([lower, upper])
        return halves[self._some_fit(halves)]

    def _some_fit(self, boxes: IntArray) -> BoolArray:
        """Which boxes may have a mapping: an inner tile is no larger than its outer one, or divides it."""
        found = self._read(boxes)
        fits = found.inner_low <= found.outer_high
        if self.problem.tiles == "factors":
            single = (found.inner_low == found.inner_high) & (found.outer_low == found.outer_high)
            fits &= ~single | (found.outer_low % found.inner_low == 0)
        return np.asarray(fits.all(axis=1))

    def _draw(self, rng: np.random.Generator, boxes: IntArray, count: int) -> IntArray:
        """Points of boxes, drawn at random, that are mappings."""
        chosen = boxes[rng.integers(len(boxes), size=count)]
        chosen[:, 3:11] = chosen[:, 11:] = rng.integers(chosen[:, 3:11], chosen[:, 11:], endpoint=True)
        tiles = self._read(chosen)
        fits = tiles.inner_low <= tiles.outer_low
        if self.problem.tiles == "factors":
            fits &= tiles.outer_low % tiles.inner_low == 0
        return chosen[fits.all(axis=1)]

    def _ways(self) -> IntArray:
        """The orders (m, 2, 4) of a point to price."""
        dims = [
            [[MAPPED_DIMS.index(dim) for dim in order] for order in allowed_orders(self.problem, level)]
            for level in LEVELS
        ]
        return np.array(list(product(*(each if self.orders else each[:1] for each in dims))), np.int64)

    def _mappings(self, points: IntArray, ways: IntArray) -> IntArray:
        """Rows of points in all orders."""
        boxes, every = self._read(points.repeat(len(ways), axis=0)), np.tile(ways, (len(points), 1, 1))
        return whole_filter_rows(
            self.problem.space.layer,
            boxes.cluster,
            (boxes.outer_parallel, every[:, 0], boxes.outer_low),
            (boxes.inner_parallel, every[:, 1], boxes.inner_low),
        )
