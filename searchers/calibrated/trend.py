"""A measured figure as a sum of terms with weights of at least 0, which constants of a machine are."""

from __future__ import annotations

import numpy as np

from dse.support.arrays import FloatArray

STRENGTHS = (1e-3, 1e-2, 1e-1, 1.0)
"""How strongly weights are drawn to what the cost model says: chosen by leaving samples out."""
FEW = 4
"""Samples below which the strongest is taken."""
LEAST = 0.2
"""The weight of a sample however bad it is: those near the best count most."""


class Trend:
    """Weights of terms (t,), by non-negative least squares of relative errors.

    Before there are samples the first term, the cost model's own figure, is the trend but for a factor; the
    more of them there are, the less is left of that.
    """

    def __init__(self, terms: FloatArray, measured: FloatArray, strength: float | None = None) -> None:
        """Fit to the terms (n, t) of n samples and what was measured (n,), above 0."""
        self._worth = np.sqrt(np.maximum(measured.min() / measured, LEAST))
        if strength is None:
            strength = STRENGTHS[-1]
            if len(measured) >= FEW:
                errors = [self._error(terms, measured, each) for each in STRENGTHS]
                strength = STRENGTHS[int(np.argmin(errors))]
        self.strength = strength
        self.weights = _fitted(terms, measured, self._worth, strength)

    def __call__(self, terms: FloatArray) -> FloatArray:
        """What the trend makes of the terms (n, t) of mappings: (n,), above 0."""
        return _valued(terms, self.weights)

    def left_out(self, terms: FloatArray, measured: FloatArray) -> FloatArray:
        """For each sample what a trend of all the others makes of it: (n,)."""
        return self._left_out(terms, measured, self.strength)

    def _left_out(self, terms: FloatArray, measured: FloatArray, strength: float) -> FloatArray:
        found = np.empty(len(measured))
        for place in range(len(measured)):
            others = np.arange(len(measured)) != place
            weights = _fitted(terms[others], measured[others], self._worth[others], strength)
            found[place] = _valued(terms[place : place + 1], weights)[0]
        return found

    def _error(self, terms: FloatArray, measured: FloatArray, strength: float) -> float:
        errors = np.log(self._left_out(terms, measured, strength) / measured)
        return float(np.average(np.square(errors), weights=np.square(self._worth)))


def _valued(terms: FloatArray, weights: FloatArray) -> FloatArray:
    found: FloatArray = np.maximum(terms @ weights, 1e-300)
    return found


def _fitted(terms: FloatArray, measured: FloatArray, worth: FloatArray, strength: float) -> FloatArray:
    from scipy.optimize import nnls

    parts = terms / measured[:, np.newaxis]
    # A weight counts as what it makes of a usual sample; all are drawn to nothing, but the model's own.
    scale = np.maximum(parts.mean(axis=0), 1e-300)
    expected = np.zeros(len(scale))
    expected[0] = scale[0] * np.exp(-np.average(np.log(np.maximum(parts[:, 0], 1e-300)), weights=worth))
    pull = np.sqrt(strength)
    rows = np.concatenate([parts / scale * worth[:, np.newaxis], pull * np.eye(len(scale))])
    found, _ = nnls(rows, np.concatenate([worth, pull * expected]), maxiter=50 * len(scale))
    weights: FloatArray = found / scale
    return weights
