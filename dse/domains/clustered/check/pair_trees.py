"""The pairs of an outer and an inner tile of a dim as a binary tree, with the least figures of each node.

A node is a number: 1 is the root, and the children of i are 2i and 2i + 1. Neighbours in the tree have tiles
alike. A pair none of whose figures is below those of a smaller pair stands in its leaf: where mappings with
the smaller pair are ruled out, so are those with this one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Self

import numpy as np

from dse.core.chains import find_divisors
from dse.support.arrays import FloatArray, IntArray

BATCH = 2**16
"""Pairs whose figures are worked out at a time, at least."""
NEVER = 1e30
"""The figures of a leaf without pairs: too large to fit in any buffer."""

Figures = Callable[[IntArray, IntArray], Mapping[str, FloatArray]]
"""Figures, by name, of outer and inner tiles (n,)."""


@dataclass(frozen=True)
class Pairs:
    """The pairs (n, 2) in a tree: leaf i, from number `first` up, holds those from `starts[i]` up to
    `starts[i + 1]`.
    """

    pairs: IntArray
    starts: IntArray
    first: int

    def _members(self, nodes: IntArray) -> tuple[IntArray, IntArray]:
        """The pairs below nodes (n,): from a place in `pairs` up to another."""
        # A number has a bit for each level down to its node: with more of them it is that of its first leaf.
        depth = np.frexp(nodes.astype(np.float64))[1] - 1
        below = self.first.bit_length() - 1 - depth
        start, most = (nodes << below) - self.first, len(self.starts) - 1
        ends = np.minimum(start, most), np.minimum(start + (1 << below), most)
        return self.starts[ends[0]], self.starts[ends[1]]

    def count(self, nodes: IntArray) -> IntArray:
        """How many pairs are below nodes (n,)."""
        start, end = self._members(nodes)
        return end - start

    def draw(self, rng: np.random.Generator, nodes: IntArray) -> IntArray:
        """A pair below each node (n,), uniformly: (n, 2)."""
        return self.pairs[rng.integers(*self._members(nodes))]

    def every(self, node: int) -> IntArray:
        """All pairs below a node: (n, 2)."""
        start, end = self._members(np.array([node]))
        return self.pairs[start[0] : end[0]]


@dataclass(frozen=True)
class PairTree:
    """Pairs, and the figures with `names` of each node: the rows of `table`, by number."""

    pairs: Pairs
    names: tuple[str, ...]
    table: FloatArray

    @classmethod
    def of(
        cls,
        size: int,
        outers: tuple[int, int],
        inners: tuple[int, int],
        figures: Figures,
        *,
        perfect: bool = False,
    ) -> Self:
        """The tree of all pairs of tiles in two intervals, the inner tile no larger than the outer one.

        With `perfect`, of those alone that divide each other and the size.
        """
        pairs, places, values = [], [], []
        names: tuple[str, ...] = ()
        known = 0
        for outer, inner in [perfect_pairs(size, outers, inners)] if perfect else _batches(outers, inners):
            found = figures(outer, inner)
            names = tuple(found)
            rows = np.stack([found[name] for name in names], axis=1)
            stands = _standing(size, outer, inner, rows)
            kept, place = np.unique(stands, return_inverse=True)
            pairs.append(np.stack([outer, inner], axis=1))
            places.append(place + known)
            values.append(np.concatenate([rows[kept], np.stack([outer[kept], inner[kept]], axis=1)], axis=1))
            known += len(kept)
        leaves = np.concatenate(values)
        order = _alike(np.log2(leaves[:, -2:]))
        new = np.empty(len(order), dtype=np.int64)
        new[order] = np.arange(len(order))
        leaf = new[np.concatenate(places)]
        starts = np.concatenate([[0], np.cumsum(np.bincount(leaf, minlength=len(order)))])
        members = np.concatenate(pairs)[np.argsort(leaf, kind="stable")]
        table = _least(leaves[order, :-2])
        return cls(Pairs(members, starts, len(table) // 2), names, table)


def pairs_between(outers: tuple[int, int], inners: tuple[int, int]) -> int:
    """How many pairs there are of tiles in two intervals, the inner tile no larger than the outer one."""
    inner = np.arange(inners[0], min(inners[1], outers[1]) + 1)
    return int((outers[1] + 1 - np.maximum(inner, outers[0])).sum())


def _batches(outers: tuple[int, int], inners: tuple[int, int]) -> Iterator[tuple[IntArray, IntArray]]:
    """All pairs, those of an inner tile together, and after those of the next smaller one."""
    inner = np.arange(inners[0], min(inners[1], outers[1]) + 1)
    first = np.maximum(inner, outers[0])
    counts = outers[1] + 1 - first
    batch = (np.cumsum(counts) - 1) // BATCH
    for number in np.unique(batch):
        those = batch == number
        count, begins = counts[those], np.cumsum(counts[those]) - counts[those]
        outer = np.arange(count.sum()) + np.repeat(first[those] - begins, count)
        yield outer, np.repeat(inner[those], count)


def perfect_pairs(size: int, outers: tuple[int, int], inners: tuple[int, int]) -> tuple[IntArray, IntArray]:
    """The pairs of tiles in two intervals that divide each other and the size, by inner and outer tile."""
    tiles = np.array(find_divisors(size), dtype=np.int64)
    inner, outer = (each.ravel() for each in np.meshgrid(tiles, tiles, indexing="ij"))
    there = (outer % inner == 0) & (inner >= inners[0]) & (inner <= inners[1])
    there &= (outer >= outers[0]) & (outer <= outers[1])
    return outer[there], inner[there]


def _standing(size: int, outer: IntArray, inner: IntArray, rows: FloatArray) -> IntArray:
    """For each pair the place of one that has no larger figures and that no smaller pair stands for."""
    run = np.flatnonzero(np.diff(inner, prepend=inner[0] - 1))
    first_inner = inner[0]

    def place(of_outer: IntArray, of_inner: IntArray) -> IntArray:
        """Where a pair stands; where it is not here, the pair itself that is asked for."""
        begin = run[np.clip(of_inner - first_inner, 0, len(run) - 1)]
        at = begin + of_outer - outer[begin]
        there = (of_inner >= first_inner) & (of_outer >= of_inner) & (at >= 0)
        at = np.where(there, np.minimum(at, len(outer) - 1), 0)
        there &= (outer[at] == of_outer) & (inner[at] == of_inner)
        return np.where(there, at, np.arange(len(outer)))

    stands = np.arange(len(outer))
    # The smallest tiles that are as many, and neighbours.
    fewest = -(-size // -(-size // outer))
    even = -(-outer // -(-outer // inner))
    for other in (
        place(fewest, inner),
        place(fewest, np.minimum(-(-fewest // -(-outer // inner)), inner)),
        place(outer, even),
        place(outer - 1, inner),
        place(outer, inner - 1),
        place(outer - 1, inner - 1),
    ):
        open_ = np.flatnonzero((stands == np.arange(len(outer))) & (other != stands))
        no_larger = (rows[other[open_]] <= rows[open_]).all(axis=1)
        stands[open_[no_larger]] = other[open_[no_larger]]
    # What a pair stands with may stand with another one itself.
    while not np.array_equal(stands, further := stands[stands]):
        stands = further
    return stands


def _least(leaves: FloatArray) -> FloatArray:
    """The least figures of each node, from those of the leaves."""
    first = 1 << max(len(leaves) - 1, 0).bit_length()
    table = np.full((2 * first, leaves.shape[1]), NEVER)
    table[first : first + len(leaves)] = leaves
    level = first
    while level > 1:
        half = level // 2
        table[half:level] = np.minimum(table[level : 2 * level : 2], table[level + 1 : 2 * level : 2])
        level = half
    return table


def _alike(keys: FloatArray) -> IntArray:
    """The leaves in an order in which halves of halves are alike: each is cut where it is wider."""
    order = np.arange(len(keys))
    size = 1 << max(len(order) - 1, 0).bit_length()
    while size > 1:
        block, begins = np.arange(len(order)) // size, np.arange(0, len(order), size)
        there = keys[order]
        wide = np.maximum.reduceat(there, begins) - np.minimum.reduceat(there, begins)
        across = (wide[:, 0] >= wide[:, 1])[block]
        key = np.where(across, there[:, 0], there[:, 1])
        other = np.where(across, there[:, 1], there[:, 0])
        order = order[np.lexsort((other, key, block))]
        size //= 2
    return order
