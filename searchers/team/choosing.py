"""Which candidates to pay for: expected improvement times the chance to fit, and a batch at a time."""

from __future__ import annotations

import numpy as np
from scipy.special import log_ndtr

from dse.support.arrays import BoolArray, FloatArray
from searchers.common.improvement import log_improvement

_LEAST_SHARE = 1e-6
_LEAST_DEVIATION = 0.003
"""Octaves: nobody's need of a buffer is foretold more exactly."""


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
    counts: BoolArray,
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
