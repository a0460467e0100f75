"""Which candidates to pay for: expected improvement times the chance to fit, and a batch at a time."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr, ndtr

FloatArray = NDArray[np.float64]

_FAR = -6.0
"""Deviations above the best beyond which the expected improvement is computed by its asymptote."""
_LEAST_SHARE = 1e-6
_LEAST_DEVIATION = 0.003
"""Octaves: nobody's need of a buffer is foretold more exactly."""


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


def log_chance_to_fit(needs: FloatArray, deviations: FloatArray) -> FloatArray:
    """The log of the chance that every need, (n, m) octaves beyond what there is, is below 0: (n,)."""
    chances: FloatArray = log_ndtr(-needs / (deviations + _LEAST_DEVIATION)).sum(axis=1)
    return chances


def choose(
    cost: FloatArray,
    covariance: FloatArray,
    scale: float,
    log_chance: FloatArray,
    best: float,
    counts: NDArray[np.bool_],
    size: int,
) -> list[int]:
    """Which of n candidates to pay for, until `size` of those that count are chosen, or all are.

    `cost` (n,) are expected octaves, of covariance `scale` * `covariance`. Each is chosen as if those before
    had come out as expected (the kriging believer of Ginsbourger, Le Riche and Carraro, 2010).
    """
    variance = covariance.diagonal().copy()
    least = variance * _LEAST_SHARE
    free = np.ones(len(cost), np.bool_)
    known = np.empty((len(cost), len(cost)))
    chosen: list[int] = []
    while size and len(chosen) < len(cost):
        merit = log_improvement(cost, np.sqrt(variance * scale), best) + log_chance
        pick = int(np.argmax(np.where(free, merit, -np.inf)))
        number = len(chosen)
        shared = covariance[pick] - known[:number, pick] @ known[:number]
        known[number] = shared / np.sqrt(variance[pick])
        variance = np.maximum(variance - np.square(known[number]), least)
        free[pick] = False
        chosen.append(pick)
        size -= int(counts[pick])
    return chosen
