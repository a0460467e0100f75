"""The boxes that are open: which of them come next, and the lowest bound of all."""

from __future__ import annotations

import math

import numpy as np

from dse.proof.contract import Rounds
from dse.support.arrays import AnyArray, BoolArray, FloatArray, IntArray


class OpenBoxes:
    """Boxes with their bounds, in the order in which they came."""

    def __init__(self, boxes: AnyArray, bounds: FloatArray) -> None:
        self.boxes, self.bounds = boxes, bounds

    def __len__(self) -> int:
        return len(self.bounds)

    @property
    def lowest(self) -> float:
        """The lowest bound; inf without boxes."""
        return float(self.bounds.min(initial=math.inf))

    def keep(self, those: BoolArray) -> int:
        """Leave out the others; returns how many these were."""
        out = len(those) - int(np.count_nonzero(those))
        if out:
            self.boxes, self.bounds = self.boxes[those], self.bounds[those]
        return out

    def add(self, boxes: AnyArray, bounds: FloatArray) -> None:
        """Add boxes, behind those that are there."""
        self.boxes = np.concatenate([self.boxes, boxes])
        self.bounds = np.concatenate([self.bounds, bounds])

    def take(self, rounds: Rounds) -> tuple[AnyArray, FloatArray]:
        """Take those out that come next: the lowest bounds, of equal ones the latest; by their bounds.

        How many depends on how many there are, and on nothing else.
        """
        places = self._first(min(max(len(self) // 16, rounds.least), rounds.most, len(self)), rounds.alike)
        places = places[np.argsort(self.bounds[places], kind="stable")]
        taken = self.boxes[places], self.bounds[places]
        others = np.ones(len(self), dtype=np.bool_)
        others[places] = False
        self.keep(others)
        return taken

    def _first(self, count: int, alike: float) -> IntArray:
        """The places of so many that come next."""
        if count == len(self):
            return np.arange(count)
        keys = bands(self.bounds, alike) if alike else self.bounds
        # All that are below the last one to be taken come; of those like it, as many as are missing.
        last = np.partition(keys, count - 1)[count - 1]
        sure = np.flatnonzero(keys < last)
        return np.concatenate([sure, np.flatnonzero(keys == last)[len(sure) - count :]])


def bands(bounds: FloatArray, alike: float) -> FloatArray:
    """Numbers that rise with the bounds, equal for those in a band of about so much of themselves.

    By operations that are the same to the bit on every CPU.
    """
    # Exponent and mantissa in one number, a logarithm made of straight lines: np.log2 may differ in its last
    # bit from one library to another. A band is from half of `alike` to all of it wide, as a share.
    parts, exponents = np.frexp(bounds)
    found: FloatArray = np.floor((exponents + 2.0 * parts) / alike)
    return np.where(bounds > 0, found, -np.inf)
