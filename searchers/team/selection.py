"""What is evaluated next, of what the agents have considered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dse.support.arrays import FloatArray, IntArray
from searchers.common.acquisition import LEAST_DEVIATION, believer_batch, log_chance_to_fit
from searchers.common.history import History
from searchers.team.agents import Candidates
from searchers.team.calibration import Prediction
from searchers.team.local_search import LocalSearch

if TYPE_CHECKING:
    from dse.core.space import Space
    from searchers.team import Team

PENALTY = 20.0
"""log2 of cost that counts for a need of twice a buffer, or a likely refusal, while agents respond."""
_LEAST_STATED = 1e-3
"""In log2: no critic is calibrated by errors of this size."""
_RESTLESS, _MAX_RESTLESS = 10.0, 4.0
"""Samples without improvement after which exploration has doubled, and by what it grows at most."""
_SPARE = 6
"""Candidates beyond the size of a batch that a team puts forward."""


@dataclass(frozen=True)
class Batch:
    """Points (n, genes) to evaluate, and what the critic predicts of them, if they are its choice."""

    genes: IntArray
    predicted: Prediction | None = None

    def take(self, rows: IntArray) -> Batch:
        """Some of the points."""
        return Batch(self.genes[rows], self.predicted.take(rows) if self.predicted else None)


def predicted_excess(means: FloatArray, factors: int) -> FloatArray:
    """log2 by which predicted needs exceed the buffers, and by which a refusal is likely: (n,).

    `means` (n, m) are a critic's predictions, the objective's `factors` first.
    """
    beyond: FloatArray = np.maximum(means[:, factors:], 0).sum(axis=1)
    return beyond


class Selection:
    """Selects batches by expected improvement and the chance to fit."""

    def __init__(self, settings: Team, space: Space, history: History, informed: bool) -> None:
        """`informed` says whether mappings are told apart by their features, and exploration begins low."""
        self._settings, self._space, self._history = settings, space, history
        self._describe, self._informed = history.describe, informed

    def choose(self, local_search: LocalSearch, considered: Candidates, teams: int) -> Batch:
        """Of each team's best points those to have next, some of which may be known to earlier local
        searches."""
        size = self._size(local_search)
        best = [considered.best(team, 4 * (size + _SPARE)) for team in range(teams)]
        candidates = self._unseen(local_search, best, size + _SPARE)
        if self._settings.policy == "uniform" or not len(candidates):
            return Batch(candidates[:size])
        return self._of_greatest_merit(local_search, candidates, size)

    def _size(self, local_search: LocalSearch) -> int:
        """How many points a local search has evaluated next."""
        settings, samples = self._settings, len(local_search.samples)
        if local_search.restricted:
            least, part = settings.restricted_batch_size, settings.batch_fraction * samples
        else:
            least, part = (
                1,
                max(settings.batch_fraction * samples, settings.late_batch_fraction * len(self._history)),
            )
        return min(max(round(part), least), settings.max_batch_size)

    def _unseen(self, local_search: LocalSearch, best: list[IntArray], count: int) -> IntArray:
        """Of each team's best candidates the first `count` that the local search does not have, each once.

        Mappings of the same features are one: they differ in what makes no difference, such as the order of
        loops that have a single turn.
        """
        history, rows = self._history, local_search.samples.rows
        told_by = history.features[rows] if self._informed else self._space.canonical(history.genes[rows])
        seen = {row.tobytes() for row in told_by}
        kept: list[IntArray] = []
        for candidates in best:
            left = count
            told_by = self._describe(candidates) if self._informed else candidates
            for vector, row in zip(candidates, told_by, strict=True):
                key = row.tobytes()
                if left and key not in seen:
                    seen.add(key)
                    kept.append(vector)
                    left -= 1
        return np.array(kept, np.int64).reshape(len(kept), len(self._space.sizes))

    def _of_greatest_merit(self, local_search: LocalSearch, candidates: IntArray, size: int) -> Batch:
        """Of the candidates (n, genes) a batch by expected improvement times the chance to be feasible."""
        history, factors = self._history, self._history.factors
        means, covariance, scales = local_search.critic.posterior(self._describe(candidates))
        variance = covariance.diagonal().copy()
        stated = np.sqrt(variance[:, np.newaxis] * scales[:-1])
        calibration = np.broadcast_to(local_search.calibration.variance, len(scales) - 1)
        deviations = (stated * np.sqrt(calibration))[:, factors:] + LEAST_DEVIATION
        log_chance = log_chance_to_fit(means[:, factors:-1], deviations).sum(axis=1)
        log_chance -= PENALTY * np.maximum(means[:, -1], 0)
        rows = local_search.samples.rows
        losses, best = history.losses[rows], np.inf
        if np.isfinite(losses).any():
            best = float(history.figures[rows[int(np.argmin(losses))]].sum())
        scale = (
            float((scales[:factors] * calibration[:factors]).sum())
            * self._exploration_weight(local_search) ** 2
        )
        cost, counts = means[:, :factors].sum(axis=1), history.find(candidates) < 0
        chosen = believer_batch(cost, covariance, variance, log_chance, best, counts, size, scale=scale)
        predicted = Prediction(means[chosen, :-1], stated[chosen] + _LEAST_STATED)
        return Batch(candidates[chosen], predicted)

    def _exploration_weight(self, local_search: LocalSearch) -> float:
        """How many calibrated deviations count: more, the longer a local search has not improved."""
        settings = self._settings
        if local_search.restricted or not self._informed:
            return settings.exploration
        return settings.early_exploration * min(1 + local_search.samples.idle / _RESTLESS, _MAX_RESTLESS)
