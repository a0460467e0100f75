"""Which designs a search has visited: several gene vectors may stand for one, and count as one."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from dse.support.arrays import IntArray

if TYPE_CHECKING:
    from dse.core.space import Space


Redraw = Callable[[IntArray, IntArray], IntArray]
"""Given the indices (m,) of rows and their points (m, genes), other points for them: (m, genes)."""


class Visited:
    """The designs that a search has visited, each with the number of the sample that was its first.

    Every sample costs one, also that of a known design: a search that keeps to a region does well to look
    where it has not been.
    """

    def __init__(self, space: Space) -> None:
        self._space = space
        self._first: dict[bytes, int] = {}
        self._samples = 0
        self._type = np.min_scalar_type(int(space.sizes.max()))
        self._row = np.dtype((np.void, len(space.sizes) * self._type.itemsize))

    def __len__(self) -> int:
        """How many distinct designs there are."""
        return len(self._first)

    def keys(self, genes: IntArray) -> list[bytes]:
        """A key for each vector (n, genes): the same for those of one design."""
        rows = self._space.canonical(genes).astype(self._type).view(self._row)
        keys: list[bytes] = rows.ravel().tolist()  # type: ignore[assignment]
        return keys

    def add(self, genes: IntArray) -> None:
        """The points (n, genes) are the next samples."""
        self._add(self.keys(genes))

    def find(self, genes: IntArray) -> IntArray:
        """The number of each design's first sample, counted from 0; -1 for those not visited: (n,)."""
        return np.array([self._first.get(key, -1) for key in self.keys(genes)], dtype=np.int64)

    def new(self, genes: IntArray) -> IntArray:
        """The rows of `genes` (n, genes) that were not visited, each design once, in their order."""
        rows: dict[bytes, int] = {}
        for row, key in enumerate(self.keys(genes)):
            if key not in self._first:
                rows.setdefault(key, row)
        return genes[list(rows.values())]

    def renew(self, genes: IntArray, redraw: Redraw, tries: int) -> IntArray:
        """`genes` (n, genes), designs visited before and those that come twice drawn again; they are added.

        After so many tries what is still known stays, as it must where a space has no other points left.
        """
        genes = genes.copy()
        keys = self.keys(genes)
        for _ in range(tries):
            repeats = self._repeats(keys)
            if not len(repeats):
                break
            genes[repeats] = redraw(repeats, genes[repeats])
            keys = self.keys(genes)
        self._add(keys)
        return genes

    def _add(self, keys: list[bytes]) -> None:
        for number, key in enumerate(keys, self._samples):
            self._first.setdefault(key, number)
        self._samples += len(keys)

    def _repeats(self, keys: list[bytes]) -> IntArray:
        """The indices of keys that are known or stand earlier among `keys`."""
        repeats, fresh = [], set()
        for row, key in enumerate(keys):
            if key in self._first or key in fresh:
                repeats.append(row)
            fresh.add(key)
        return np.array(repeats, dtype=np.int64)
