"""How far a critic errs beyond the deviations that it states."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dse.support.arrays import FloatArray, IntArray

_PRIOR_ERRORS = 3.0
"""Errors as large as stated that are taken for granted at first."""
_LARGEST_ERROR = 30.0
"""Deviations that an error counts for at most."""
_MEMORY = 0.95
"""What an error counts for after one more."""


@dataclass(frozen=True)
class Prediction:
    """Of n points: the expected figures (n, m) in log2, and the deviations (n, m) that the critic states."""

    mean: FloatArray
    deviation: FloatArray

    def take(self, rows: IntArray) -> Prediction:
        """That of some of the points."""
        return Prediction(self.mean[rows], self.deviation[rows])


class Calibration:
    """By what the variances of predictions are to be multiplied, by figure, as evaluations have shown."""

    def __init__(self) -> None:
        self._squares: FloatArray | float = _PRIOR_ERRORS
        self._count = _PRIOR_ERRORS

    @property
    def variance(self) -> FloatArray | float:
        """The factor of each figure's variance: (m,), or 1 if nothing has been seen; never below 1."""
        return np.maximum(self._squares / self._count, 1.0)

    def observe(self, predicted: Prediction, figures: FloatArray) -> None:
        """Compare predictions with the figures (n, m) that were evaluated, NaN for refused points.

        Later ones count for more.
        """
        seen = np.isfinite(figures).all(axis=1)
        errors = figures[seen] - predicted.mean[seen]
        squares = np.minimum(np.square(errors / predicted.deviation[seen]), _LARGEST_ERROR**2)
        for square in squares:
            self._squares = self._squares * _MEMORY + square
            self._count = self._count * _MEMORY + 1
