"""The samples of a local search: those that led to one another, and when they last improved."""

from __future__ import annotations

import numpy as np

from dse.support.arrays import FloatArray, IntArray


class LocalSearchSamples:
    """Rows of a history, in the order in which a local search came to have them, each once."""

    def __init__(self, progress: float) -> None:
        """A sample is an improvement if it is better than the best before by this part of it."""
        self._progress = progress
        self._members: set[int] = set()
        self._rows: list[int] = []
        self.best = np.inf
        """The lowest value so far."""
        self.idle = 0
        """How many samples there are since the last improvement."""

    def __len__(self) -> int:
        return len(self._rows)

    def __contains__(self, row: int) -> bool:
        return row in self._members

    @property
    def rows(self) -> IntArray:
        """The rows (n,), in their order."""
        return np.array(self._rows, np.int64)

    def join(self, rows: IntArray, values: FloatArray) -> None:
        """Add those of the rows that are not there yet; the `values` to minimise are of the whole history."""
        for row in rows.tolist():
            if row in self._members:
                continue
            self._members.add(row)
            self._rows.append(row)
            value = float(values[row])
            self.idle = 0 if value < (1 - self._progress) * self.best else self.idle + 1
            self.best = min(self.best, value)
