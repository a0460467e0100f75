"""All mappings once more, by branch and bound in NumPy that is not the solver's.

A box is a cluster size, parallel dims, and for each dim a node of the tree of its pairs of tiles. Boxes whose
bound, by a cost model's own code, is not below the target are ruled out, others are split in two: along the
dim where that rules out most. The work is a count of bounds, so what is found depends on no clock.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from dse.domains.clustered.check.enumeration import allowed_parallels
from dse.domains.clustered.check.forests import (
    CellFigures,
    Forest,
    GrowingForest,
    Spread,
    WholeForest,
    draw_nodes,
)
from dse.domains.clustered.check.pair_trees import Figures, PairTree, pairs_between, perfect_pairs
from dse.domains.clustered.problem import Problem
from dse.domains.clustered.space.genes import MAPPED_DIMS, allowed_values
from dse.support.arrays import BoolArray, FloatArray, IntArray

FEW = 2**12
"""Pairs of a dim that are all looked at beforehand, at most, where a cost model bounds cells."""
SLICE = 1024
"""Boxes that are split at a time."""
ROUNDING = 1e-12
"""By so much of itself a bound may be off that is added up in another order."""


class Cost(Protocol):
    """What a cost model brings."""

    @property
    def refines(self) -> bool:
        """Whether `closer` has anything to say."""
        ...

    def most_inner(self, dim: int) -> int:
        """The largest inner tile of a dim that can fit."""
        ...

    def most_outer(self, dim: int) -> int:
        """The largest outer tile of a dim that can fit."""
        ...

    def columns(
        self, dim: int, outer: IntArray, inner: IntArray, across: int, within: int
    ) -> Mapping[str, FloatArray]:
        """Figures of pairs of tiles (n,) of a dim over so many clusters and PEs, which costs rise with."""
        ...

    def cells(self, dim: int, across: int, within: int) -> CellFigures | None:
        """Figures that no pair in cells of a dim is below, over so many clusters and PEs; None if there are
        figures of pairs only.
        """
        ...

    def losses(self, dims: Sequence[Mapping[str, FloatArray]]) -> FloatArray:
        """The loss that no mapping with figures no smaller than these (n,) is below; inf if none fits."""
        ...

    def closer(self, dims: Sequence[Mapping[str, FloatArray]]) -> FloatArray:
        """The same of boxes that fit, by a bound that takes longer; it need not be larger."""
        ...


@dataclass(frozen=True)
class Left:
    """Boxes of a cluster size that are not ruled out: parallel dims (n, 2), nodes (n, 4), bounds (n,), and
    by dim the trees that the nodes are of.
    """

    cluster: int
    parallels: IntArray
    nodes: IntArray
    bounds: FloatArray
    forests: tuple[Forest, ...]

    def __len__(self) -> int:
        return len(self.bounds)

    def pairs(self) -> FloatArray:
        """How many pairs of tiles each box has of each dim: (n, 4)."""
        counts = [forest.count(self.nodes[:, dim]) for dim, forest in enumerate(self.forests)]
        return np.stack(counts, axis=1).astype(np.float64)

    def draw(self, rng: np.random.Generator, boxes: IntArray) -> IntArray:
        """Tiles of each of some boxes (n,), uniformly: outer and inner ones of K C Y X, (n, 4, 2)."""
        drawn = [forest.draw(rng, self.nodes[boxes, dim]) for dim, forest in enumerate(self.forests)]
        return np.stack(drawn, axis=1)

    def tiles(self, box: int) -> IntArray:
        """All tiles of a box: (n, 4, 2)."""
        nodes = self.nodes[box].tolist()
        pairs = [forest.every(node) for forest, node in zip(self.forests, nodes, strict=True)]
        places = np.indices([len(each) for each in pairs]).reshape(4, -1)
        return np.stack([each[place] for each, place in zip(pairs, places, strict=True)], axis=1)


@dataclass(frozen=True)
class Searched:
    """What is not ruled out, how many bounds were worked out, and whether more would rule out more."""

    left: tuple[Left, ...]
    bounds: int
    cut_short: bool


class Boxes:
    """The boxes of a problem."""

    def __init__(self, problem: Problem, cost: Cost) -> None:
        self.problem, self.cost = problem, cost
        self._perfect = problem.tiles == "factors"

    @property
    def clusters(self) -> list[int]:
        """The cluster sizes that are allowed."""
        allowed = allowed_values(self.problem.space.fixed, "cluster")
        return list(self.problem.accelerator.cluster_sizes) if allowed is None else allowed

    def parallels(self, cluster: int) -> IntArray:
        """The parallel dims to look at, (n, 2): where nothing is spread one stands for all."""
        outer, inner = (
            [MAPPED_DIMS.index(dim) for dim in allowed_parallels(self.problem, level)]
            for level in ("outer", "inner")
        )
        outer = outer[:1] if cluster == self.problem.accelerator.num_pes else outer
        inner = inner[:1] if cluster == 1 else inner
        return np.array([(one, other) for one in outer for other in inner])

    def intervals(self, dim: int) -> tuple[tuple[int, int], tuple[int, int]]:
        """Those of the outer and of the inner tiles of a dim that are allowed, and that can fit."""
        name, cost = MAPPED_DIMS[dim], self.cost
        fixed: Mapping[str, Any] = self.problem.space.fixed
        outer, inner = fixed.get(f"outer.tile.{name}"), fixed.get(f"inner.tile.{name}")
        outers = (outer, outer) if outer else (inner or 1, self.problem.space.layer.loops[name])
        inners = (inner, inner) if inner else (1, outers[1])
        outers = (outers[0], min(outers[1], max(cost.most_outer(dim), outers[0])))
        return outers, (inners[0], min(inners[1], max(cost.most_inner(dim), inners[0])))

    @property
    def pairs(self) -> int:
        """How many pairs of tiles the search works out figures of, at most, before its first bound."""
        ways = sum(len(self.parallels(cluster)) for cluster in self.clusters)
        each = (self._pairs_of(dim) for dim in range(4) if not self._grows(dim))
        # A dim has no more trees than there are choices of parallel dims, nor than four.
        return sum(each) * min(ways, 4 * len(self.clusters))

    def _pairs_of(self, dim: int) -> int:
        size, intervals = self.problem.space.layer.loops[MAPPED_DIMS[dim]], self.intervals(dim)
        return len(perfect_pairs(size, *intervals)[0]) if self._perfect else pairs_between(*intervals)

    def _grows(self, dim: int) -> bool:
        """Whether the trees of a dim are made as they are asked for."""
        return self._pairs_of(dim) > FEW and not self._perfect and self.cost.cells(dim, 1, 1) is not None

    def forest(self, dim: int, cluster: int, ways: Sequence[tuple[bool, bool]]) -> Forest:
        """The pairs of a dim that are allowed and do not fill the buffers by themselves: a tree for each way
        to spread it, over clusters or PEs or both.
        """
        size, intervals = self.problem.space.layer.loops[MAPPED_DIMS[dim]], self.intervals(dim)
        spreads = [
            (self.problem.accelerator.num_pes // cluster if of_clusters else 1, cluster if of_pes else 1)
            for of_clusters, of_pes in ways
        ]
        if not self._grows(dim):
            trees = [
                PairTree.of(size, *intervals, self._figures(dim, *spread), perfect=self._perfect)
                for spread in spreads
            ]
            return WholeForest(trees)
        growing = [
            Spread(spread[0], self._figures(dim, *spread), cells)
            for spread in spreads
            if (cells := self.cost.cells(dim, *spread)) is not None
        ]
        return GrowingForest(size, *intervals, growing)

    def _figures(self, dim: int, across: int, within: int) -> Figures:
        return lambda outer, inner: self.cost.columns(dim, outer, inner, across, within)

    def search(self, target: float, most: int) -> Searched:
        """Rule out what is not below the target, with at most about so many bounds."""
        left, spent, cut_short = [], 0, False
        for place, cluster in enumerate(self.clusters):
            share = (most - spent) // (len(self.clusters) - place)
            search = Search(self, cluster, target, share)
            found = search.run()
            # The trees of a cluster size that is ruled out are let go: they are most of the memory.
            left += [found] if len(found) else []
            spent, cut_short = spent + search.spent, cut_short or search.cut_short
        return Searched(tuple(left), spent, cut_short)


@dataclass(frozen=True)
class _Front:
    """Boxes of one cluster size: their choices of parallel dims (n,), nodes (n, 4) and bounds (n,)."""

    choices: IntArray
    nodes: IntArray
    bounds: FloatArray

    def rows(self, rows: slice | BoolArray) -> _Front:
        """Some of them."""
        return _Front(self.choices[rows], self.nodes[rows], self.bounds[rows])

    def below(self, target: float) -> _Front:
        """Those that are not ruled out."""
        return self.rows(self.bounds < target)


def _joined(fronts: Sequence[_Front]) -> _Front:
    """All boxes of some fronts."""
    return _Front(
        np.concatenate([front.choices for front in fronts]),
        np.concatenate([front.nodes for front in fronts]),
        np.concatenate([front.bounds for front in fronts]),
    )


class Search:
    """Boxes of one cluster size, breadth first."""

    def __init__(self, boxes: Boxes, cluster: int, target: float, most: int) -> None:
        self._boxes, self._cluster, self._most = boxes, cluster, most
        self._target = target * (1 - ROUNDING) if np.isfinite(target) else target
        self.spent, self.cut_short = 0, False
        self._choices = boxes.parallels(cluster)
        # Of each dim whether it is spread over clusters (2) and over PEs (1): its tree is of these.
        spread = 2 * (self._choices[:, :1] == np.arange(4)) + (self._choices[:, 1:] == np.arange(4))
        self._roots, self._forests = np.empty_like(spread), []
        for dim in range(4):
            ways, which = np.unique(spread[:, dim], return_inverse=True)
            forest = boxes.forest(dim, cluster, [(bool(way & 2), bool(way & 1)) for way in ways.tolist()])
            self._roots[:, dim] = forest.roots[which]
            self._forests.append(forest)

    def run(self) -> Left:
        """What is not ruled out."""
        choices = np.arange(len(self._choices))
        front = _Front(choices, self._roots, self._bounds(self._roots)).below(self._target)
        ended = []
        while len(front.bounds):
            halves = []
            for start in range(0, len(front.bounds), SLICE):
                part = front.rows(slice(start, start + SLICE))
                # What is left when all is spent stays as it is, to be drawn from.
                if self.spent >= self._most:
                    self.cut_short = True
                    ended.append(part)
                    continue
                alone = np.asarray(self._alone(part.nodes).all(axis=1))
                ended.append(part.rows(alone))
                halves.append(self._split(part.rows(~alone)))
            front = _joined(halves) if halves else front.rows(slice(0))
        return self._described(_joined([*ended, front]))

    def draw(self, rng: np.random.Generator, count: int) -> Left:
        """Boxes of all sizes, at random."""
        choices = rng.integers(len(self._choices), size=count)
        roots = self._roots[choices]
        drawn = [draw_nodes(rng, forest, roots[:, dim]) for dim, forest in enumerate(self._forests)]
        nodes = np.stack(drawn, axis=1)
        bounds = self._bounds(nodes)
        if self._boxes.cost.refines:
            bounds = np.maximum(bounds, self._bounds(nodes, closer=True))
        return self._described(_Front(choices, nodes, bounds))

    def _described(self, front: _Front) -> Left:
        parallels = self._choices[front.choices]
        return Left(self._cluster, parallels, front.nodes, front.bounds, tuple(self._forests))

    def _alone(self, nodes: IntArray) -> BoolArray:
        """Of which dims nodes (n, 4) have no children."""
        return np.stack([forest.alone(nodes[:, dim]) for dim, forest in enumerate(self._forests)], axis=1)

    def _split(self, front: _Front) -> _Front:
        """The halves of boxes that are not ruled out, cut along the dim where least is left."""
        count = len(front.bounds)
        halves = np.repeat(front.nodes, 8, axis=0).reshape(count, 4, 2, 4)
        able = ~self._alone(front.nodes)
        for dim, forest in enumerate(self._forests):
            rows = np.flatnonzero(able[:, dim])
            halves[rows, dim, :, dim] = forest.halves(front.nodes[rows, dim])
        # Each dim that has halves is tried.
        bounds = np.full((count, 4, 2), -np.inf)
        rows, dims = np.nonzero(able)
        both = halves[rows, dims].reshape(-1, 4)
        bounds[rows, dims] = self._bounds(both).reshape(-1, 2)
        each, dim = np.arange(count), np.where(able, self._scores(front.bounds, bounds), -1.0).argmax(axis=1)
        found = _Front(front.choices.repeat(2), halves[each, dim].reshape(-1, 4), bounds[each, dim].ravel())
        found = found.below(self._target)
        if not self._boxes.cost.refines:
            return found
        closer = self._bounds(found.nodes, closer=True)
        return _Front(found.choices, found.nodes, np.maximum(found.bounds, closer)).below(self._target)

    def _scores(self, before: FloatArray, halves: FloatArray) -> FloatArray:
        """How good it is to cut boxes (n,) into halves (n, dims, 2): first how many are ruled out, then how
        much closer to it the others come.
        """
        out = (halves >= self._target).sum(axis=2)
        if not np.isfinite(self._target):
            return np.asarray(out, dtype=np.float64)
        known = before[:, np.newaxis, np.newaxis]
        gains = (np.minimum(halves, self._target) - known) / (self._target - known)
        return np.asarray(10.0 * out + (np.maximum(gains, 0.0) + 1e-3).prod(axis=2))

    def _bounds(self, nodes: IntArray, *, closer: bool = False) -> FloatArray:
        """The bounds of nodes (n, 4)."""
        self.spent += len(nodes)
        found = []
        for start in range(0, len(nodes), 4 * SLICE):
            part = nodes[start : start + 4 * SLICE]
            dims = [forest.figures(part[:, dim]) for dim, forest in enumerate(self._forests)]
            found.append(self._boxes.cost.closer(dims) if closer else self._boxes.cost.losses(dims))
        return np.concatenate(found) if found else np.zeros(0)
