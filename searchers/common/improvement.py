"""How much better than the best a candidate is expected to be: for every searcher that has a posterior."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr

from dse.support.arrays import FloatArray

_FAR = -6.0
"""Deviations above the best from which the expected improvement is computed by its asymptote."""


def log_improvement(mean: FloatArray, deviation: FloatArray, best: float) -> FloatArray:
    """The log of how far below `best` normal variables are expected to fall; 0 for all without a best (inf).

    Jones, Schonlau and Welch, "Efficient Global Optimization" (Journal of Global Optimization, 1998).
    """
    if not np.isfinite(best):
        return np.zeros(len(mean))
    score = (best - mean) / deviation
    near = np.maximum(score, _FAR)
    density = np.exp(-0.5 * np.square(near)) / np.sqrt(2 * np.pi)
    direct = np.log(density + near * ndtr(near))
    # Phi(z) is nearly density(z) / -z * (1 - 1 / z^2) far below 0: what is left of the sum is this.
    distant = -0.5 * (np.square(score) + np.log(2 * np.pi)) - np.log(np.square(score) + 3)
    log_expected: FloatArray = np.log(deviation) + np.where(score > _FAR, direct, distant)
    return log_expected
