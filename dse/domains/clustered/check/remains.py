"""The mappings of the boxes that are not ruled out: how many, every one of small boxes, and random ones."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np

from dse.core.layer import DIMS
from dse.domains.clustered.check.boxes import Left
from dse.domains.clustered.check.enumeration import allowed_orders
from dse.domains.clustered.mapping import COLUMNS, whole_filter_rows
from dse.domains.clustered.problem import Problem
from dse.domains.clustered.space.genes import LEVELS, MAPPED_DIMS, allowed_values, named_parallel
from dse.support.arrays import FloatArray, IntArray

SMALL = 1000
"""Choices of tiles in a box that is small."""
BATCH = 2**16
"""Mappings given at a time, at least."""


class Remains:
    """Mappings of boxes of a problem."""

    def __init__(self, problem: Problem, left: Sequence[Left]) -> None:
        self._problem = problem
        self._differ: dict[tuple[bool, ...], IntArray] = {}
        self._left = [one for one in left if len(one)]
        self._tiles = [one.pairs().prod(axis=1) for one in self._left]
        self._sizes = [tiles * self._alike(one) for tiles, one in zip(self._tiles, self._left, strict=True)]

    @property
    def mappings(self) -> float:
        """How many there are."""
        return float(sum(sizes.sum() for sizes in self._sizes)) * math.prod(map(len, self._orders))

    def every(self, most: int) -> Iterator[tuple[IntArray, float]]:
        """All mappings of small boxes that differ, about so many: rows, some at a time, and how many of the
        mappings they are or stand for. The lowest bounds come first.

        The place of a loop of one whole step makes no difference.
        """
        bounds = np.concatenate([one.bounds for one in self._left] or [np.zeros(0)])
        owner = np.repeat(np.arange(len(self._left)), np.array(list(map(len, self._left)), dtype=np.int64))
        place = np.concatenate([np.arange(len(one)) for one in self._left] or [owner])
        batch, stands, count = [], 0.0, 0
        for at in np.argsort(bounds, kind="stable").tolist():
            one, box = self._left[owner[at]], int(place[at])
            if self._tiles[owner[at]][box] > SMALL:
                continue
            batch.append(self._of_box(one, box))
            self._left_out.add((int(owner[at]), box))
            stands += float(self._sizes[owner[at]][box]) * math.prod(map(len, self._orders))
            count += len(batch[-1])
            if count >= BATCH or count >= most:
                yield np.concatenate(batch), stands
                batch, stands, count, most = [], 0.0, 0, most - count
            if most <= 0:
                return
        if batch:
            yield np.concatenate(batch), stands

    def _of_box(self, left: Left, box: int) -> IntArray:
        """All mappings of a box that differ."""
        tiles, parts = left.tiles(box), []
        sizes = np.array([self._problem.space.layer.loops[dim] for dim in MAPPED_DIMS])
        outer, inner = (np.arange(4) == left.parallels[box][:, np.newaxis]).astype(np.int64)
        # A spread loop takes as many tiles in a step as there are clusters, or PEs. Where some of these idle,
        # a single step is partial: under `maestro` it matters what is inside of it.
        across = 1 + outer * (self._problem.accelerator.num_pes // left.cluster - 1)
        moves = np.concatenate(
            [
                tiles[:, :, 0] * across != sizes,
                tiles[:, :, 1] * (1 + inner * (left.cluster - 1)) != tiles[:, :, 0],
            ],
            axis=1,
        )
        kinds, kind = np.unique(moves, axis=0, return_inverse=True)
        for number, moving in enumerate(kinds.tolist()):
            orders = self._differing(tuple(moving))
            those = tiles[kind.ravel() == number]
            every = np.tile(orders, (len(those), 1, 1))
            boxes = np.full(len(every), box)
            parts.append(self._rows(left, boxes, np.repeat(those, len(orders), axis=0), every))
        return np.concatenate(parts)

    def _differing(self, moving: tuple[bool, ...]) -> IntArray:
        """Pairs of orders (n, 2, 4), one for each way to nest the outer and inner loops that move."""
        if moving not in self._differ:
            chosen = []
            for orders, moves in zip(self._orders, (moving[:4], moving[4:]), strict=True):
                found: dict[tuple[int, ...], IntArray] = {}
                for order in orders:
                    found.setdefault(tuple(dim for dim in order.tolist() if moves[dim]), order)
                chosen.append(list(found.values()))
            self._differ[moving] = np.array([(one, other) for one in chosen[0] for other in chosen[1]])
        return self._differ[moving]

    def draw(self, rng: np.random.Generator, count: int) -> IntArray:
        """So many mappings, each of a box drawn from those that `every` did not give, if any."""
        boxes = [
            np.array([box for box in range(len(one)) if (at, box) not in self._left_out], dtype=np.int64)
            for at, one in enumerate(self._left)
        ]
        owner, parts = np.repeat(np.arange(len(boxes)), np.array(list(map(len, boxes)), dtype=np.int64)), []
        shares = np.bincount(rng.choice(owner, count if len(owner) else 0), minlength=len(boxes))
        for one, those, share in zip(self._left, boxes, shares.tolist(), strict=True):
            drawn = rng.choice(those, share) if share else those[:0]
            tiles = one.draw(rng, drawn)
            orders = [each[rng.integers(len(each), size=len(drawn))] for each in self._orders]
            parts.append(self._rows(one, drawn, tiles, np.stack(orders, axis=1)))
        return np.concatenate(parts) if parts else np.empty((0, COLUMNS), np.int64)

    @cached_property
    def _left_out(self) -> set[tuple[int, int]]:
        """Boxes that `every` gave."""
        return set()

    @cached_property
    def _orders(self) -> list[IntArray]:
        """The orders of the outer and of the inner loops, as dims."""
        return [
            np.array([[DIMS.index(dim) for dim in order] for order in allowed_orders(self._problem, level)])
            for level in ("outer", "inner")
        ]

    def _alike(self, left: Left) -> FloatArray:
        """How many parallel dims a box stands for: all where nothing is spread; a depthwise C for K too."""
        problem, found = self._problem, np.ones(len(left))
        alone = left.cluster == problem.accelerator.num_pes, left.cluster == 1
        for place, (level, single) in enumerate(zip(("outer", "inner"), alone, strict=True)):
            allowed = allowed_values(problem.space.fixed, f"{level}.parallel") or MAPPED_DIMS
            if single:
                found *= len(allowed)
            elif problem.layer.type == "DSCONV" and {"K", "C"} <= set(allowed):
                found *= np.where(left.parallels[:, place] == DIMS.index("C"), 2, 1)
        return found

    def _rows(self, left: Left, boxes: IntArray, tiles: IntArray, orders: IntArray) -> IntArray:
        """Rows of a MappingBatch of boxes, with their tiles (n, 4, 2) and orders (n, 2, 4)."""
        outer, inner = (
            (
                named_parallel(self._problem.space.fixed, level, left.parallels[boxes, at]),
                orders[:, at],
                tiles[:, :, at],
            )
            for at, level in enumerate(LEVELS)
        )
        return whole_filter_rows(self._problem.layer, left.cluster, outer, inner)
