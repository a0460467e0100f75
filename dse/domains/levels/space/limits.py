"""What the levels of machines hold, and over how many children they may and must spread."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dse.support.arrays import BoolArray, IntArray

UNLIMITED = np.iinfo(np.int64).max
"""Words of a level without a capacity."""


@dataclass(frozen=True)
class Limits:
    """Words that levels hold, children that they spread over at most and at least: each (1 or n, levels).

    One row is for all mappings, n rows are for one each.
    """

    words: IntArray
    widest: IntArray
    least: IntArray

    def fit(self, words: IntArray, wide: IntArray) -> BoolArray:
        """Which mappings fit, of the words that they hold and the children that they spread over."""
        fitting: BoolArray = np.logical_and.reduce(
            (words <= self.words) & (wide <= self.widest) & (wide >= self.least), axis=1
        )
        return fitting
