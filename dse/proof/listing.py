"""The designs near the best one, each once: what a search lists beside the best design."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from dse.core.listed import Wanted
from dse.proof.contract import Found
from dse.support.arrays import FloatArray, IntArray

UNSORTED = 4096
"""Designs that may wait before they are put in order."""


class Listing:
    """Designs by their losses, the best first, and of those that are the same the best, or the first.

    `keys` gives of designs rows of integers (n, m) that are equal where designs are the same; without it, all
    are different. Where only so many are asked for, others are forgotten.
    """

    def __init__(self, wanted: Wanted, keys: Callable[[list[Any]], IntArray] | None = None) -> None:
        self.wanted = wanted
        self._keys = keys
        self._losses, self._designs = np.empty(0), list[Any]()
        self._sorted = 0

    def add(self, found: Found, below: float) -> None:
        """Take in those designs whose loss is below a number."""
        places = np.flatnonzero(found.losses < below)
        self._losses = np.append(self._losses, found.losses[places])
        self._designs += [found.designs[place] for place in places.tolist()]
        # The loss of the last of a few is what others have to beat: it is kept up to date.
        few = self.wanted.most is not None and self.wanted.most < UNSORTED
        if few or len(self._losses) - self._sorted > UNSORTED:
            self._sort()

    @property
    def last(self) -> float:
        """The loss of the last design, if as many as are asked for are known; else inf."""
        known = self.wanted.most is not None and self._sorted >= self.wanted.most
        return float(self._losses[self._sorted - 1]) if known else math.inf

    def best(self, below: float) -> tuple[FloatArray, list[Any]]:
        """The losses of the designs that are below a number, and the designs."""
        self._sort()
        count = int(np.searchsorted(self._losses, below))
        return self._losses[:count], self._designs[:count]

    def _sort(self) -> None:
        order = np.argsort(self._losses, kind="stable")
        if self._keys is not None and len(order):
            # Each key's first place in the order is its best design.
            keys = self._keys(self._designs)[order]
            order = order[np.sort(np.unique(keys, axis=0, return_index=True)[1])]
        order = order[: self.wanted.most]
        self._losses, self._designs = self._losses[order], [self._designs[place] for place in order]
        self._sorted = len(order)
