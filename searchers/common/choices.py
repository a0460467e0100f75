"""What a block of genes may be set to, for searchers that go block by block.

Vectors are kept canonical: there two designs are the same if their vectors are, and setting a block to one of
its values leaves a vector canonical.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from dse.support.arrays import IntArray

if TYPE_CHECKING:
    from dse.core.space import Block, Space


_MAX_LISTED = 4096
"""Settings of a block's genes that are looked at to list its values; of a larger block some are drawn."""


class Choices:
    """The blocks of a space that have a choice, and the values of each."""

    def __init__(self, space: Space) -> None:
        self._space = space
        self._values: dict[str, IntArray | None] = {}
        blocks = []
        for block in space.blocks:
            values = self._listed(block)
            self._values[block.name] = values
            if values is None or len(values) > 1:
                blocks.append(block)
        self.blocks: tuple[Block, ...] = tuple(blocks)
        """Those with two values or more; none in a space of one design."""

    def sample(self, rng: np.random.Generator, count: int) -> IntArray:
        """Vectors that the space draws, made canonical: (count, genes)."""
        return self._space.canonical(self._space.sample(rng, count))

    def changes(
        self, vectors: IntArray, rng: np.random.Generator, most: int, blocks: tuple[Block, ...]
    ) -> tuple[IntArray, IntArray]:
        """The vectors (t, genes) with one of the blocks at a time set to its values, at most so many of each.

        An array (n, genes), and which of the vectors each of its rows comes from (n,). Where a block has more
        values some are drawn; where it has too many to list, its neighbours come first.
        """
        found = [np.empty((0, vectors.shape[1]), np.int64)]
        origins = [np.empty(0, np.int64)]
        for block in blocks:
            listed = self._values[block.name]
            if listed is None:
                for number, vector in enumerate(vectors):
                    near = block.neighbours(vector)[:most]
                    found += [near, self.drawn(block, vector, rng, most - len(near))]
                    origins.append(np.full(most, number))
                continue
            if len(listed) > most:
                listed = listed[rng.permutation(len(listed))[:most]]
            each = np.repeat(vectors, len(listed), axis=0)
            each[:, block.genes] = np.concatenate([listed] * len(vectors))
            found.append(each)
            origins.append(np.repeat(np.arange(len(vectors)), len(listed)))
        return np.concatenate(found), np.concatenate(origins)

    def drawn(self, block: Block, vector: IntArray, rng: np.random.Generator, count: int) -> IntArray:
        """The vector (genes,) with the block set to `count` values at random: (count, genes)."""
        found = np.repeat(vector[np.newaxis], count, axis=0)
        listed, genes = self._values[block.name], list(block.genes)
        if listed is not None:
            found[:, genes] = listed[rng.integers(len(listed), size=count)]
            return found
        found[:, genes] = self._space.sample(rng, count)[:, genes]
        return self._space.canonical(found)

    def _listed(self, block: Block) -> IntArray | None:
        """The distinct values of a block (m, its genes), or None if they are too many to list."""
        genes = list(block.genes)
        sizes = self._space.sizes[genes].tolist()
        if np.prod(sizes, dtype=np.float64) > _MAX_LISTED:
            return None
        every = np.zeros((int(np.prod(sizes)), len(self._space.sizes)), np.int64)
        every[:, genes] = list(product(*map(range, sizes)))
        distinct: IntArray = np.unique(self._space.canonical(every)[:, genes], axis=0)
        return distinct
