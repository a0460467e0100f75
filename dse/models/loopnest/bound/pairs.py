"""The undominated pairs of tiles of a problem's dims, counted when a group first needs them."""

from __future__ import annotations

from threading import Lock
from typing import Any

import numpy as np

from dse.support.arrays import CountArray, IntArray, RecordArray

LARGEST_ALONE, LARGEST_SPREAD = 2048, 512
"""Sizes of dims up to which pairs are counted: where no loop is parallel, and where one is."""
NONE = -1
Tables = tuple[CountArray, IntArray]
"""Counts of pairs, one table behind the other, and where those of K, C, Y and X begin."""


class Pairs:
    """Counts of pairs that are not dominated, one table behind the other in `counts`."""

    def __init__(self, problems: RecordArray, kernel: Any) -> None:
        self._problems, self._kernel = problems, kernel
        self._starts: dict[tuple[int, int, int], int] = {}
        self._end, self._lock = 0, Lock()
        self.counts = np.zeros(0, np.int32)

    def starts(self, cluster: int, clusters: int, outer: int, inner: int) -> IntArray:
        """Where the tables of K, C, Y and X begin; NONE for dims that are too large."""
        with self._lock:
            found = [
                self._start(dim, clusters if dim == outer else 1, cluster if dim == inner else 1)
                for dim in range(4)
            ]
        return np.array(found, dtype=np.int64)

    def _start(self, dim: int, across: int, places: int) -> int:
        key, size = (dim, across, places), int(self._problems[0].layer.sizes[dim])
        if size > (LARGEST_ALONE if across == places == 1 else LARGEST_SPREAD):
            return NONE
        if key not in self._starts:
            table = np.zeros((size + 1, size + 1), np.int32)
            self._kernel(self._problems, dim, across, places, table)
            begin, self._end = self._end, self._end + table.size
            if self._end > len(self.counts):
                # Another thread may be reading the old ones.
                larger = np.zeros(2 * self._end, np.int32)
                larger[:begin] = self.counts[:begin]
                self.counts = larger
            self.counts[begin : self._end] = table.ravel()
            self._starts[key] = begin
        return self._starts[key]
