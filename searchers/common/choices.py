"""What a block of genes may be set to, and which mappings a search has paid for: for searchers by blocks.

Vectors are kept in their normal form, the smallest that decodes to a mapping: there two mappings are the same
if their vectors are, and setting a block to one of its values leaves a vector in normal form.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from dse.support.arrays import IntArray

if TYPE_CHECKING:
    from dse.space.blocks import Block
    from dse.space.mapping_space import MappingSpace


_MOST_PAIRS = 4096
"""Gene values of a block that are looked at to list what it decodes to; of a larger block some are drawn."""


class Choices:
    """The blocks of a space that have a choice, and the values of each."""

    def __init__(self, space: MappingSpace) -> None:
        self._space = space
        self._kept: dict[str, IntArray | None] = {}
        blocks = []
        for block in space.blocks:
            values = self._listed(block)
            self._kept[block.name] = values
            if values is None or len(values) > 1:
                blocks.append(block)
        self.blocks: tuple[Block, ...] = tuple(blocks)
        """Those with two values or more; none in a space of one mapping."""

    def sample(self, rng: np.random.Generator, count: int) -> IntArray:
        """Uniformly drawn vectors in normal form: (count, 13)."""
        return self.normal(self._space.sample(rng, count))

    def normal(self, genes: IntArray) -> IntArray:
        """The smallest vectors of the mappings that the vectors (n, 13) stand for."""
        return self._space.encode(self._space.decode(genes))

    def changes(
        self, vectors: IntArray, rng: np.random.Generator, most: int, blocks: tuple[Block, ...]
    ) -> tuple[IntArray, IntArray]:
        """The vectors (t, 13) with one of the blocks at a time set to its values, at most so many of each.

        An array (n, 13), and which of the vectors each of its rows comes from (n,). Where a block has more
        values some are drawn; where it has too many to list, its neighbours come first.
        """
        found = [np.empty((0, vectors.shape[1]), np.int64)]
        origins = [np.empty(0, np.int64)]
        for block in blocks:
            listed = self._kept[block.name]
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
        """The vector (13,) with the block set to `count` values at random: (count, 13)."""
        found = np.repeat(vector[np.newaxis], count, axis=0)
        listed, genes = self._kept[block.name], list(block.genes)
        if listed is not None:
            found[:, genes] = listed[rng.integers(len(listed), size=count)]
            return found
        found[:, genes] = rng.integers(self._space.sizes[genes], size=(count, len(genes)))
        return self.normal(found)

    def _listed(self, block: Block) -> IntArray | None:
        """The distinct values of a block's genes (m, genes), or None if they are too many to list."""
        genes = list(block.genes)
        sizes = self._space.sizes[genes].tolist()
        if np.prod(sizes, dtype=np.float64) > _MOST_PAIRS:
            return None
        every = np.zeros((int(np.prod(sizes)), len(self._space.sizes)), np.int64)
        every[:, genes] = list(product(*map(range, sizes)))
        distinct: IntArray = np.unique(self.normal(every)[:, genes], axis=0)
        return distinct


class Paid:
    """The mappings that a search has paid for, by their vectors in normal form."""

    def __init__(self) -> None:
        self._keys: set[bytes] = set()

    def __len__(self) -> int:
        return len(self._keys)

    def add(self, genes: IntArray) -> None:
        """These are paid for."""
        self._keys.update(row.tobytes() for row in genes)

    def new(self, genes: IntArray) -> IntArray:
        """The rows of `genes` (n, 13) that are not paid for, each once, in their order."""
        fresh = {row.tobytes(): number for number, row in reversed(list(enumerate(genes)))}
        kept = [number for key, number in reversed(fresh.items()) if key not in self._keys]
        return genes[sorted(kept)]
