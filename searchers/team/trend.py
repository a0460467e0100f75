"""Sums of counts: what a figure of a mapping nearly is, with weights that are learned."""

from __future__ import annotations

import numpy as np

from dse.support import numerics
from dse.support.arrays import FloatArray, SingleArray
from dse.support.numerics import matmul

_LEAST_SHARE = 1e-6
"""Of a sum's mean, what is added to it, so that none is zero."""
_ERROR = 0.2
"""The relative error of a sum of counts, against which weights other than the expected ones are weighed."""
_DOUBT = 1.0
"""By how much of itself a weight may well differ from what is expected of it."""
_UNEXPECTED = 0.05
"""The share of a figure that may well come from counts of which nothing is expected."""


class Trend:
    """log2 of sums of counts, a sum for each figure but the last, which has none."""

    def __init__(self, addends: int, expected: FloatArray | None) -> None:
        """The last `addends` features are log2 of the counts.

        `expected` are the weights (hypotheses, addends + 1, figures), but for a factor a figure, that may
        hold before there are samples, with that of the constant term last; all zero where nothing is expected
        of a figure. Each figure goes by the hypothesis that its samples make the likeliest.
        """
        self._addends, self._expected = addends, expected

    def fit(self, features: SingleArray, figures: FloatArray, constant: FloatArray | float = 1.0) -> None:
        """Learn the weights from points (n, width) with figures (n, m), in log2.

        `constant` is what is always there, relative to a point that is predicted: (n,), or 1 for all.
        """
        counts = self._counts(features, constant)
        self._weights = np.zeros((self._addends + 1, figures.shape[1]))
        self._least = np.ones(figures.shape[1])
        for figure in range(figures.shape[1] - 1):
            known = numerics.exp2(figures[:, figure])
            expected = None if self._expected is None else self._expected[:, :, figure]
            if expected is not None and expected.any():
                found = (expected_weights(counts, known, one) for one in expected)
                weights = min(found, key=lambda weights_and_cost: weights_and_cost[1])[0]
            else:
                weights = learned_weights(counts, known)
            if weights.any():
                self._weights[:, figure] = weights
                self._least[figure] = _LEAST_SHARE * matmul(counts, weights).mean()

    def __call__(self, features: SingleArray, constant: FloatArray | float = 1.0) -> FloatArray:
        """log2 of the sums: (n, figures)."""
        logs: FloatArray = numerics.log2(
            matmul(self._counts(features, constant), self._weights) + self._least
        )
        return logs

    def _counts(self, features: SingleArray, constant: FloatArray | float) -> FloatArray:
        """What may add up to a figure, the constant term last: (n, addends + 1)."""
        logs = features[:, features.shape[1] - self._addends :].astype(np.float64)
        return np.column_stack([numerics.exp2(logs), np.full(len(logs), constant)])


def learned_weights(counts: FloatArray, figures: FloatArray) -> FloatArray:
    """Non-negative weights by which counts (n, k) add up to figures (n,); all zero if none are found.

    By least squares of relative errors (Lawson and Hanson, 1974).
    """
    shares = counts / figures[:, np.newaxis]
    units = shares.mean(axis=0)
    found = numerics.non_negative(shares / units, np.ones(len(figures)))
    # Counts that are as good as sums of each other: the figures go without a trend, until there are others.
    return np.zeros(counts.shape[1]) if found is None else found / units


def expected_weights(
    counts: FloatArray, figures: FloatArray, expected: FloatArray
) -> tuple[FloatArray, float]:
    """Likewise, near weights (k,) that are expected but for a factor, from few figures: the likeliest.

    The errors of figures and the differences from what is expected are normal, with the deviations above.
    With them what they cost: the sum of their squared deviations.
    """
    shares = counts / figures[:, np.newaxis]
    units = shares.mean(axis=0)
    scale = float(numerics.exp(-numerics.log(matmul(shares, expected)).mean()))
    usual = expected * units * scale
    doubt = _DOUBT * usual + _UNEXPECTED
    columns = np.concatenate([shares / units * doubt / _ERROR, np.eye(len(units))])
    targets = np.concatenate([np.full(len(figures), 1 / _ERROR), usual / doubt])
    found = numerics.non_negative(columns, targets)
    if found is None:
        return expected * scale, np.inf
    errors = matmul(columns, found) - targets
    return found * doubt / units, float(np.square(errors).sum())
