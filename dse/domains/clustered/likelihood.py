"""Which fits samples leave possible, where errors are normal, of a deviation that is not known either."""

from __future__ import annotations

import numpy as np

from dse.support.arrays import BoolArray, FloatArray

POSSIBLE = 3.84
"""Twice the logarithm of how much less likely a fit may be: chi squared, of 95 %."""
ROUNDING = 1e-3
"""What is as near as this, relative, tells no two fits apart: models and machines round."""


def most_possible(least: float, count: int) -> float:
    """The greatest mean square of so many errors that is possible, where the best fit has the least."""
    return float(max(least, ROUNDING**2) * np.exp(POSSIBLE / count))


def possible(variances: FloatArray, count: int) -> BoolArray:
    """Which fits are possible, by the mean squares (m,) of so many errors."""
    squares = np.maximum(variances, ROUNDING**2)
    ratios = np.log(squares) - np.log(squares.min())
    found: BoolArray = count * ratios <= POSSIBLE
    return found
