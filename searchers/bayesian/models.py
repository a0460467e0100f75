"""The surrogates of a search together: the objective, and each way to be infeasible that was met."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dse.support.arrays import BoolArray, FloatArray, IntArray
from searchers.bayesian.forest import Forest
from searchers.bayesian.gaussian import Surrogate
from searchers.bayesian.kinds import FOREST, GAUSSIAN
from searchers.common.acquisition import LEAST_DEVIATION, believer_batch, log_chance_to_fit, log_improvement
from searchers.common.history import History

_FIT_POINTS = 200
"""Samples that the objective's hyperparameters are fitted to: a step's time is square in them."""
_LIMIT_POINTS, _LIMIT_FIT_POINTS = 150, 120
"""Likewise for the limits, which are smoother."""
_LIMITS_KNOWN = 300
"""Samples after which the hyperparameters of the limits stay as they are."""
_STEPS = 15
SURROGATES: dict[str, type[Surrogate] | type[Forest]] = {GAUSSIAN: Surrogate, FOREST: Forest}
"""Of the objective; buffers have Gaussian processes, as what they need is smooth."""


@dataclass(frozen=True)
class Prediction:
    """Of n points: the mean and the variance of the objective's log2, and the log chance to be feasible."""

    mean: FloatArray
    variance: FloatArray
    log_chance: FloatArray

    def merit(self, best: float) -> FloatArray:
        """The log of the expected improvement upon `best`, infeasible points being none.

        Without a `best` (`inf`) anything feasible is as good as any other.
        """
        return log_improvement(self.mean, np.sqrt(self.variance), best) + self.log_chance

    def joined(self, other: Prediction) -> Prediction:
        """The predictions at these points and at others, in this order."""
        return Prediction(
            np.concatenate([self.mean, other.mean]),
            np.concatenate([self.variance, other.variance]),
            np.concatenate([self.log_chance, other.log_chance]),
        )


class Models:
    """A surrogate of the objective, and one each of the need of each buffer, and of refusal."""

    def __init__(self, history: History, seed: int, surrogate: str = GAUSSIAN) -> None:
        self._history = history
        self._width, self._seed = history.features.shape[1], seed
        self._objective = SURROGATES[surrogate](self._width, seed)
        self._limits: list[Surrogate] = []
        self._broken: list[Surrogate] = []
        self._shortfall = 0.0

    @property
    def lengths(self) -> FloatArray:
        """The ARD length scale of each feature in the objective."""
        return self._objective.lengths

    def learn(self, rows: IntArray, limit_rows: IntArray, refit: bool) -> bool:
        """Learn the objective and the limits from samples of the history, given most relevant first.

        `refit` adapts the hyperparameters. False if nothing is to be learned: fewer than two have figures.
        """
        history = self._history
        rows = rows[np.isfinite(history.objective[rows])]
        if len(rows) < 2:
            return False
        if refit:
            chosen = _thinned(rows, _FIT_POINTS)
            self._objective.fit(history.features[chosen], history.objective[chosen], _STEPS)
        self._objective.update(history.features[rows], history.objective[rows])
        self._learn_limits(limit_rows, refit and len(history) <= _LIMITS_KNOWN)
        return True

    def log_chance(self, features: FloatArray) -> FloatArray:
        """The log of the chance of n points of being feasible."""
        log_chance = np.zeros(len(features))
        # Far from all that fits only the unknown would have a chance: widen what is known as well.
        least = max(LEAST_DEVIATION, self._shortfall) ** 2
        for limit in self._broken:
            posterior = limit.at(features)
            log_chance += log_chance_to_fit(posterior.mean, np.sqrt(posterior.variance + least))
        return log_chance

    def predict(self, features: FloatArray) -> Prediction:
        """What is known of n points."""
        posterior = self._objective.at(features)
        return Prediction(posterior.mean, posterior.variance, self.log_chance(features))

    def batch(
        self, features: FloatArray, log_chance: FloatArray, best: float, counts: BoolArray, size: int
    ) -> list[int]:
        """Which of n points to evaluate together: those until `size` of them are ones that count, or all.

        The means of those picked are believed, as the best to improve upon too.
        """
        posterior = self._objective.at(features)
        return believer_batch(
            posterior.mean,
            posterior.covariance(),
            posterior.variance,
            log_chance,
            best,
            counts,
            size,
            believe_best=True,
        )

    def _learn_limits(self, rows: IntArray, refit: bool) -> None:
        history = self._history
        excesses = [*history.needs.T, np.where(history.refused, 1.0, -1.0)]
        self._limits += [Surrogate(self._width, self._seed) for _ in excesses[len(self._limits) :]]
        shortfalls = np.maximum(history.needs[~history.refused], 0).sum(axis=1)
        self._shortfall = float(shortfalls.min())
        fitted, self._broken = self._broken, []
        for limit, excess in zip(self._limits, excesses, strict=True):
            known_rows = rows[np.isfinite(excess[rows])]
            # A limit that nothing has broken says nothing yet.
            if len(known_rows) < 2 or not np.nanmax(excess) > 0:
                continue
            if refit or limit not in fitted:
                chosen = _thinned(known_rows, _LIMIT_FIT_POINTS)
                limit.fit(history.features[chosen], excess[chosen], _STEPS)
            chosen = _thinned(known_rows, _LIMIT_POINTS)
            limit.update(history.features[chosen], excess[chosen])
            self._broken.append(limit)


def _thinned(rows: IntArray, count: int) -> IntArray:
    """`count` of the rows: of the first two thirds all, and evenly of the rest."""
    if len(rows) <= count:
        return rows
    first = count * 2 // 3
    rest = np.linspace(first, len(rows) - 1, count - first).astype(np.int64)
    return np.concatenate([rows[:first], rows[rest]])
