"""The surrogates of a search together: the objective, and each way to be infeasible that was met."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dse.support.arrays import BoolArray, FloatArray, IntArray
from searchers.bayesian.gaussian import Surrogate, log_chance_below
from searchers.bayesian.history import History
from searchers.common.improvement import log_improvement

_FIT_POINTS = 200
"""Samples that the objective's hyperparameters are fitted to: a step's time is square in them."""
_LIMIT_POINTS, _LIMIT_FIT_POINTS = 150, 120
"""Likewise for the limits, which are smoother."""
_LIMITS_KNOWN = 300
"""Samples after which the hyperparameters of the limits stay as they are."""
_STEPS = 15
_LEAST_DEVIATION = 0.003
"""Octaves: nobody's need of a buffer is foretold more exactly."""
_LEAST_SHARE = 1e-6
"""Of a variance, what at least remains of it as points nearby become known."""


@dataclass(frozen=True)
class Guess:
    """Of n points: the objective's mean and variance in octaves, and the log chance of being feasible."""

    mean: FloatArray
    variance: FloatArray
    log_chance: FloatArray

    def merit(self, best: float) -> FloatArray:
        """The log of the expected improvement upon `best` octaves, infeasible points being none.

        Without a `best` (`inf`) anything feasible is as good as any other.
        """
        return log_improvement(self.mean, np.sqrt(self.variance), best) + self.log_chance

    def joined(self, other: Guess) -> Guess:
        """The guesses at these points and at others, in this order."""
        return Guess(
            np.concatenate([self.mean, other.mean]),
            np.concatenate([self.variance, other.variance]),
            np.concatenate([self.log_chance, other.log_chance]),
        )


class Models:
    """A surrogate of the objective, and one each of the needed L1, the needed L2, and of refusal."""

    def __init__(self, history: History, seed: int) -> None:
        self._history = history
        width = history.features.shape[1]
        self._objective = Surrogate(width, seed)
        self._limits = [Surrogate(width, seed) for _ in range(3)]
        self._broken: list[Surrogate] = []
        self._shortfall = 0.0

    @property
    def lengths(self) -> FloatArray:
        """The length scale of each feature in the objective."""
        return self._objective.lengths

    def learn(self, rows: IntArray, limit_rows: IntArray, refit: bool) -> bool:
        """Learn the objective and the limits from samples of the history, given most relevant first.

        `refit` adapts the hyperparameters. False if nothing is to be learned: fewer than two have figures.
        """
        history = self._history
        rows = rows[np.isfinite(history.figures[rows])]
        if len(rows) < 2:
            return False
        if refit:
            chosen = _thinned(rows, _FIT_POINTS)
            self._objective.fit(history.features[chosen], history.figures[chosen], _STEPS)
        self._objective.update(history.features[rows], history.figures[rows])
        self._learn_limits(limit_rows, refit and len(history) <= _LIMITS_KNOWN)
        return True

    def log_chance(self, features: FloatArray) -> FloatArray:
        """The log of the chance of n points of being feasible."""
        log_chance = np.zeros(len(features))
        # Far from all that fits only the unknown would have a chance: doubt what is known as well.
        doubt = max(_LEAST_DEVIATION, self._shortfall) ** 2
        for limit in self._broken:
            posterior = limit.at(features)
            log_chance += log_chance_below(posterior.mean, posterior.variance + doubt, 0.0)
        return log_chance

    def guess(self, features: FloatArray) -> Guess:
        """What is known of n points."""
        posterior = self._objective.at(features)
        return Guess(posterior.mean, posterior.variance, self.log_chance(features))

    def batch(
        self, features: FloatArray, log_chance: FloatArray, best: float, counts: BoolArray, size: int
    ) -> list[int]:
        """Which of n points to evaluate together, each picked as if those before had come out as expected.

        They are all points, or those until `size` of them are points that count.
        """
        posterior = self._objective.at(features)
        covariance, variance = posterior.covariance(), posterior.variance
        least = variance * _LEAST_SHARE
        known = np.empty((len(features), len(features)))
        free, picks = np.ones(len(features), np.bool_), []
        for number in range(len(features)):
            merit = log_improvement(posterior.mean, np.sqrt(variance), best) + log_chance
            pick = int(np.argmax(np.where(free, merit, -np.inf)))
            picks.append(pick)
            free[pick] = False
            shared = covariance[pick] - known[:number, pick] @ known[:number]
            known[number] = shared / np.sqrt(variance[pick])
            variance = np.maximum(variance - np.square(known[number]), least)
            if log_chance[pick] > np.log(0.5):
                best = min(best, float(posterior.mean[pick]))
            size -= int(counts[pick])
            if not size:
                break
        return picks

    def _learn_limits(self, rows: IntArray, refit: bool) -> None:
        history = self._history
        excesses = [*history.needs.T, np.where(history.refused, 1.0, -1.0)]
        shortfalls = np.maximum(history.needs[np.isfinite(history.figures)], 0).sum(axis=1)
        self._shortfall = float(shortfalls.min())
        known, self._broken = self._broken, []
        for limit, excess in zip(self._limits, excesses, strict=True):
            told = rows[np.isfinite(excess[rows])]
            # A limit that nothing has broken says nothing yet.
            if len(told) < 2 or not np.nanmax(excess) > 0:
                continue
            if refit or limit not in known:
                chosen = _thinned(told, _LIMIT_FIT_POINTS)
                limit.fit(history.features[chosen], excess[chosen], _STEPS)
            chosen = _thinned(told, _LIMIT_POINTS)
            limit.update(history.features[chosen], excess[chosen])
            self._broken.append(limit)


def _thinned(rows: IntArray, count: int) -> IntArray:
    """`count` of the rows: of the first two thirds all, and evenly of the rest."""
    if len(rows) <= count:
        return rows
    first = count * 2 // 3
    rest = np.linspace(first, len(rows) - 1, count - first).astype(np.int64)
    return np.concatenate([rows[:first], rows[rest]])
