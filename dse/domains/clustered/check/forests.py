"""The trees of a dim's pairs of tiles, one for each way to spread it: nodes are numbers, unlike in all trees.

Where a cost model bounds the figures of cells with many pairs, nodes are made as they are asked for, so that
pairs that nothing is asked of take no time. Elsewhere all pairs are looked at beforehand (`pair_trees`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from dse.domains.clustered.check.cells import count_pairs, draw_pairs, halves_of, pairs_of, whole_cell
from dse.domains.clustered.check.pair_trees import Figures, PairTree
from dse.support.arrays import BoolArray, FloatArray, IntArray

LOOKED_AT = 1024
"""Pairs of a cell that are all looked at, at most."""
DEEPEST = 24
"""Of nodes drawn at random, at most."""

CellFigures = Callable[[IntArray], Mapping[str, FloatArray]]
"""Figures, by name, that no pair of cells (n, 4) is below."""


class Forest(Protocol):
    """Trees, and the least figures of each node."""

    roots: IntArray
    """The root of each tree."""

    def figures(self, nodes: IntArray) -> dict[str, FloatArray]:
        """Figures, by name, that no pair below nodes (n,) is below."""
        ...

    def halves(self, nodes: IntArray) -> IntArray:
        """The two children of nodes that have some: (n, 2)."""
        ...

    def alone(self, nodes: IntArray) -> BoolArray:
        """Whether nodes (n,) have no children."""
        ...

    def count(self, nodes: IntArray) -> IntArray:
        """How many pairs are below nodes (n,)."""
        ...

    def draw(self, rng: np.random.Generator, nodes: IntArray) -> IntArray:
        """A pair below each node (n,), uniformly: (n, 2)."""
        ...

    def every(self, node: int) -> IntArray:
        """All pairs below a node: (n, 2)."""
        ...


def draw_nodes(rng: np.random.Generator, forest: Forest, roots: IntArray) -> IntArray:
    """A node below each of some roots (n,), at random: of any depth."""
    nodes = roots.copy()
    depth = rng.integers(DEEPEST, size=len(nodes))
    for level in range(DEEPEST):
        going = np.flatnonzero((depth > level) & ~forest.alone(nodes))
        halves = forest.halves(nodes[going])
        nodes[going] = halves[np.arange(len(going)), rng.integers(2, size=len(going))]
    return nodes


class WholeForest:
    """Trees of all pairs."""

    def __init__(self, trees: Sequence[PairTree]) -> None:
        sizes = np.array([len(tree.table) for tree in trees])
        self._trees, self._begins = [tree.pairs for tree in trees], np.cumsum(sizes) - sizes
        self._firsts = np.array([tree.pairs.first for tree in trees])
        self._names, self._table = trees[0].names, np.concatenate([tree.table for tree in trees])
        self.roots = self._begins + 1

    def figures(self, nodes: IntArray) -> dict[str, FloatArray]:
        """See `Forest`."""
        return dict(zip(self._names, np.ascontiguousarray(self._table[nodes].T), strict=True))

    def _own(self, nodes: IntArray) -> tuple[IntArray, IntArray]:
        """The trees of nodes, and their numbers in these."""
        tree = np.searchsorted(self._begins, nodes, side="right") - 1
        return tree, nodes - self._begins[tree]

    def halves(self, nodes: IntArray) -> IntArray:
        """See `Forest`."""
        tree, own = self._own(nodes)
        found: IntArray = (self._begins[tree] + 2 * own)[:, np.newaxis] + [0, 1]
        return found

    def alone(self, nodes: IntArray) -> BoolArray:
        """See `Forest`."""
        tree, own = self._own(nodes)
        found: BoolArray = own >= self._firsts[tree]
        return found

    def count(self, nodes: IntArray) -> IntArray:
        """See `Forest`."""
        tree, own = self._own(nodes)
        found = np.empty(len(nodes), dtype=np.int64)
        for number, pairs in enumerate(self._trees):
            found[tree == number] = pairs.count(own[tree == number])
        return found

    def draw(self, rng: np.random.Generator, nodes: IntArray) -> IntArray:
        """See `Forest`."""
        tree, own = self._own(nodes)
        found: IntArray = np.empty((len(nodes), 2), dtype=np.int64)
        for number, pairs in enumerate(self._trees):
            found[tree == number] = pairs.draw(rng, own[tree == number])
        return found

    def every(self, node: int) -> IntArray:
        """See `Forest`."""
        tree, own = self._own(np.array([node]))
        found: IntArray = self._trees[tree[0]].every(int(own[0]))
        return found


class Spread(NamedTuple):
    """A way to spread a dim: over so many clusters, and figures of pairs and of cells."""

    across: int
    pairs: Figures
    cells: CellFigures


class GrowingForest:
    """Trees of cells, each cut in two as its children are first asked for."""

    def __init__(
        self, size: int, outers: tuple[int, int], inners: tuple[int, int], spreads: Sequence[Spread]
    ) -> None:
        self._size, self._spreads = size, spreads
        self._across = np.array([spread.across for spread in spreads])
        cells = whole_cell(outers, inners).repeat(len(spreads), axis=0)
        self._names, self._known = tuple(spreads[0].pairs(cells[:1, 0], cells[:1, 2])), 0
        self._table, self._cells = np.empty((0, len(self._names))), np.empty((0, 4), dtype=np.int64)
        self._tree, self._halves = np.empty(0, dtype=np.int64), np.empty((0, 2), dtype=np.int64)
        self.roots = self._add(np.arange(len(spreads)), cells, None)

    def _add(self, tree: IntArray, cells: IntArray, least: FloatArray | None) -> IntArray:
        """Add cells of trees, whose figures are no less than their parents': their nodes."""
        rows = self._rows(tree, cells)
        rows = rows if least is None else np.maximum(rows, least)
        begin, end = self._known, self._known + len(cells)
        if end > len(self._tree):
            self._table, self._cells, self._tree, self._halves = (
                _longer(each, 2 * end) for each in (self._table, self._cells, self._tree, self._halves)
            )
        self._table[begin:end], self._cells[begin:end], self._tree[begin:end] = rows, cells, tree
        self._halves[begin:end], self._known = -1, end
        return np.arange(begin, end)

    def _rows(self, tree: IntArray, cells: IntArray) -> FloatArray:
        """Figures that no pair of cells of trees is below: (n, names)."""
        few = count_pairs(cells) <= LOOKED_AT
        found = np.empty((len(cells), len(self._names)))
        for number, spread in enumerate(self._spreads):
            for rows, looked_at in ((~few, False), (few, True)):
                those = np.flatnonzero(rows & (tree == number))
                if not len(those):
                    continue
                part = _least(spread.pairs, cells[those]) if looked_at else spread.cells(cells[those])
                found[those] = np.stack([part[name] for name in self._names], axis=1)
        return found

    def figures(self, nodes: IntArray) -> dict[str, FloatArray]:
        """See `Forest`."""
        return dict(zip(self._names, np.ascontiguousarray(self._table[nodes].T), strict=True))

    def halves(self, nodes: IntArray) -> IntArray:
        """See `Forest`."""
        # The same node may be asked for several times.
        new = np.unique(nodes[self._halves[nodes, 0] < 0])
        if len(new):
            tree = self._tree[new]
            cells = halves_of(self._cells[new], self._size, self._across[tree])
            least = self._table[new].repeat(2, axis=0)
            made = self._add(tree.repeat(2), cells.reshape(-1, 4), least)
            self._halves[new] = made.reshape(-1, 2)
        found: IntArray = self._halves[nodes]
        return found

    def alone(self, nodes: IntArray) -> BoolArray:
        """See `Forest`."""
        found: BoolArray = self.count(nodes) == 1
        return found

    def count(self, nodes: IntArray) -> IntArray:
        """See `Forest`."""
        return count_pairs(self._cells[nodes])

    def draw(self, rng: np.random.Generator, nodes: IntArray) -> IntArray:
        """See `Forest`."""
        return draw_pairs(rng, self._cells[nodes])

    def every(self, node: int) -> IntArray:
        """See `Forest`."""
        return pairs_of(self._cells[[node]])[1]


def _longer(known: Any, rows: int) -> Any:
    """An array of more rows, the first of which are known."""
    found = np.empty((rows, *known.shape[1:]), dtype=known.dtype)
    found[: len(known)] = known
    return found


def _least(figures: Figures, cells: IntArray) -> Mapping[str, FloatArray]:
    """The least figures of cells, of all their pairs."""
    cell, pairs = pairs_of(cells)
    begins = np.flatnonzero(np.diff(cell, prepend=-1))
    found = figures(pairs[:, 0], pairs[:, 1])
    return {name: np.minimum.reduceat(values, begins) for name, values in found.items()}
