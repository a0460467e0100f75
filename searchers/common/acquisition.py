"""What to evaluate next, by a posterior: expected improvement, the chance to fit, and batches of both."""

from __future__ import annotations

import numpy as np

from dse.support import numerics
from dse.support.arrays import BoolArray, FloatArray

LEAST_DEVIATION = 0.003
"""In log2: no need of a buffer is predicted more exactly."""
_FAR = -6.0
"""Deviations above the best from which the expected improvement is computed by its asymptote."""
LOG_HALF = -0.6931471805599453
_LOG_CIRCLE = 1.8378770664093453
"""The logarithm of 2 pi."""
_LEAST_SHARE = 1e-6
"""Of a variance, what at least remains of it as points nearby become known."""


def log_improvement(mean: FloatArray, deviation: FloatArray, best: float) -> FloatArray:
    """The log of how far below `best` normal variables are expected to fall; 0 for all without a best (inf).

    Jones, Schonlau and Welch, "Efficient Global Optimization" (Journal of Global Optimization, 1998).
    """
    if not np.isfinite(best):
        return np.zeros(len(mean))
    score = (best - mean) / deviation
    near = np.maximum(score, _FAR)
    density = numerics.exp(-0.5 * np.square(near)) / np.sqrt(2 * np.pi)
    direct = numerics.log(density + near * numerics.ndtr(near))
    # Phi(z) is nearly density(z) / -z * (1 - 1 / z^2) far below 0: what is left of the sum is this.
    distant = -0.5 * (np.square(score) + _LOG_CIRCLE) - numerics.log(np.square(score) + 3)
    log_expected: FloatArray = numerics.log(deviation) + np.where(score > _FAR, direct, distant)
    return log_expected


def log_chance_to_fit(excess: FloatArray, deviation: FloatArray) -> FloatArray:
    """The log of the chance that normal variables, how far a limit is exceeded, are below 0."""
    chances: FloatArray = numerics.log_ndtr(-excess / deviation)
    return chances


def believer_batch(
    mean: FloatArray,
    covariance: FloatArray,
    variance: FloatArray,
    log_chance: FloatArray,
    best: float,
    counts: BoolArray,
    size: int,
    *,
    scale: float = 1.0,
    believe_best: bool = False,
) -> list[int]:
    """Which of n candidates to evaluate together: those until `size` of them are ones that count, or all.

    Each is the one of the greatest expected improvement times its chance (n,) to be feasible, as if those
    before it had come out at their mean (the kriging believer of Ginsbourger, Le Riche and Carraro, 2010).
    `variance` (n,) is the diagonal of `covariance` (n, n); the variables' own are `scale` times these. With
    `believe_best` the believed means, too, lower the `best` to improve upon, where they are likely feasible.
    """
    least = variance * _LEAST_SHARE
    free = np.ones(len(mean), np.bool_)
    known = np.empty((len(mean), len(mean)))
    chosen: list[int] = []
    while size and len(chosen) < len(mean):
        merit = log_improvement(mean, np.sqrt(variance * scale), best) + log_chance
        pick = int(np.argmax(np.where(free, merit, -np.inf)))
        number = len(chosen)
        shared = covariance[pick] - numerics.matmul(known[:number, pick][np.newaxis], known[:number])[0]
        known[number] = shared / np.sqrt(variance[pick])
        variance = np.maximum(variance - np.square(known[number]), least)
        free[pick] = False
        chosen.append(pick)
        if believe_best and log_chance[pick] > LOG_HALF:
            best = min(best, float(mean[pick]))
        size -= int(counts[pick])
    return chosen
