"""One search by teams of agents, as ask and tell: descents, each with a critic of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dse.support import numerics
from dse.support.arrays import FloatArray, IntArray
from searchers.common.acquisition import LEAST_DEVIATION, believer_batch, log_chance_to_fit
from searchers.common.choices import Choices
from searchers.common.history import History, objective_factors
from searchers.team.agents import Agents, Considered, Judge
from searchers.team.calibration import Prediction
from searchers.team.critic import Critic
from searchers.team.descent import Descent
from searchers.team.features import features_of
from searchers.team.spatial import SpatialMappings, spatial_genes
from searchers.team.training import diverse, ranked, training_figures, training_rows

if TYPE_CHECKING:
    from dse.problem.evaluations import Evaluations
    from dse.search.evaluator import Known
    from dse.space.protocol import Block, Space
    from searchers.team import Team


_PENALTY = 20.0
"""log2 of cost that counts for a need of twice a buffer, or a likely refusal, while agents respond."""
_KERNEL_GROWTH = 1.5
"""Growth of what a critic learns from after which the length scale and the noise are chosen anew."""
_SCALES_GROWTH = 1.4
"""Growth of all samples after which ARD length scales are chosen anew."""
_LEAST_SCALED = 20
"""Samples known to a critic, from which on it may choose ARD length scales."""
_UNRESTRICTED_FIRST = 3
"""Descents before the first restricted search."""
_OVERSAMPLING = 20
"""Random points drawn for each that a later descent begins with: it begins with those that seem to fit."""
_LIKELY = 0.25
"""Expected excess, in log2, with which a point may still fit."""
_LEAST_STATED = 1e-3
"""In log2: no critic is calibrated by errors of this size."""
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


class Search:
    """The state of a search by `settings`."""

    def __init__(self, settings: Team, space: Space, objective: str, rng: np.random.Generator) -> None:
        self._settings = settings
        self._space = space
        self._rng = rng
        self._choices = Choices(space)
        self._agents = Agents(self._choices, settings.values, rng)
        self._describe = features_of(space)
        self._history = History(space, self._describe, objective_factors(space, objective))
        self._spatial: SpatialMappings | None = None
        self._restricted_blocks: tuple[Block, ...] = ()
        if space.structure and (spatial := set(spatial_genes(space))):
            self._spatial = SpatialMappings(space, space.structure)
            self._restricted_blocks = tuple(
                block for block in self._choices.blocks if spatial.isdisjoint(block.genes)
            )
        self._descent: Descent | None = None
        self._critic: Critic | None = None
        """The one that was fitted last, of any descent."""
        self._choose_scales_at = 0.0
        self._unrestricted = 0
        """Descents so far that were not restricted."""
        self._restricted_from: int | None = None
        """How many samples there were when the first restricted search began."""
        self._restricted_samples = 0

    def begin(self, known: Known) -> None:
        """Remember what was evaluated before: the first descent begins with it."""
        if len(known.genes):
            self._history.add(known.genes, known.evaluations)

    def ask(self) -> Batch:
        """The next points to evaluate: what teams propose, or what another descent begins with."""
        settings, history = self._settings, self._history
        while self._descent and self._goes_on(self._descent):
            descent = self._descent
            best_first = ranked(history, descent.samples.rows)
            if settings.policy == "critic":
                self._fit_critic(descent, best_first)
            starts = self._start_teams(descent, best_first)
            considered = self._agents.respond(starts, settings.moves, self._judge(descent), descent.blocks)
            batch = self._select(descent, considered, len(starts))
            known = history.find(batch.genes)
            # What earlier descents have evaluated is free: with it the descent knows better what to ask.
            descent.samples.join(known[known >= 0], history.scores)
            if (known < 0).any():
                return batch.take(np.flatnonzero(known < 0))
            if not len(known):
                break
        self._descent, beginning = self._restrict() if self._restriction_is_due() else self._open()
        return Batch(beginning)

    def tell(self, batch: Batch, evaluations: Evaluations) -> None:
        """Remember what the batch asked for last has cost, and calibrate the critic that predicted it."""
        assert self._descent is not None, "tell follows ask"
        descent, history = self._descent, self._history
        rows = history.add(batch.genes, evaluations)
        descent.samples.join(rows, history.scores)
        if descent.restricted:
            self._restricted_samples += len(rows)
        if batch.predicted:
            figures = np.column_stack([history.figures[rows], history.needs[rows]])
            descent.calibration.observe(batch.predicted, figures)

    def _goes_on(self, descent: Descent) -> bool:
        """Whether a descent is still worth evaluating for."""
        settings, samples, best = self._settings, descent.samples, float(self._history.scores.min())
        patience = settings.patience
        if descent.restricted:
            # An infeasible descent lags behind a feasible one, whatever the scores.
            lag = float(numerics.log2(samples.best / best)) if np.isfinite(samples.best) else np.inf
            beyond_grace = len(samples) - settings.grace
            if beyond_grace > 0 and lag * beyond_grace > settings.lag:
                return False
            patience = settings.survey_patience
        return bool(samples.idle < max(patience, settings.share * len(samples)))

    # How a descent begins.

    def _restriction_is_due(self) -> bool:
        """Whether restricted searches have had less than their part of the samples since the first began."""
        if not self._restricted_blocks or self._unrestricted < _UNRESTRICTED_FIRST:
            return False
        since = 0 if self._restricted_from is None else len(self._history) - self._restricted_from
        return bool(self._restricted_samples < self._settings.surveys * (since + 1))

    def _restrict(self) -> tuple[Descent, IntArray]:
        """A restricted search, which keeps a spatial mapping, and the points that it begins with."""
        assert self._spatial is not None, "only where there are spatial mappings"
        history = self._history
        if self._restricted_from is None:
            self._restricted_from = len(history)
        chosen = self._spatial.begin(self._rng, history if self._settings.policy == "critic" else None)
        descent = self._new_descent(self._restricted_blocks, restricted=True)
        return descent, self._beginning(self._spatial.genes, chosen, self._settings.survey_start)

    def _open(self) -> tuple[Descent, IntArray]:
        """A descent that may go anywhere, and the points that it begins with."""
        self._unrestricted += 1
        descent = self._new_descent(self._choices.blocks, restricted=False)
        if self._unrestricted == 1:
            known = len(self._history)
            descent.samples.join(np.arange(known), self._history.scores)
            return descent, self._choices.sample(self._rng, max(self._settings.start - known, 1))
        genes: tuple[int, ...] = ()
        values = np.empty(0, np.int64)
        if self._spatial:
            genes, values = self._spatial.parallel_genes, self._spatial.begin_pair(self._rng)
        return descent, self._beginning(genes, values, self._settings.later_start)

    def _new_descent(self, blocks: tuple[Block, ...], restricted: bool) -> Descent:
        """A descent without samples; its critic has the last one's scales, and borrows samples of others."""
        history, critic = self._history, Critic(self._describe, self._history.factors)
        borrowed = np.empty(0, np.int64)
        if self._critic is not None:
            critic.log2_scales = self._critic.log2_scales.copy()
            kinds = np.zeros(len(history), np.int64)
            if self._spatial:
                kinds = self._spatial.numbers(history.genes)
            borrowed = diverse(history, kinds, self._settings.lent)
        return Descent(blocks, restricted, critic, borrowed)

    def _beginning(self, genes: tuple[int, ...], values: IntArray, count: int) -> IntArray:
        """Random points whose `genes` have the `values`: at least one, (n, genes), n at most `count`.

        First those that seem to fit. Descents that begin all over the space end in the widest valleys.
        """
        points = self._choices.sample(self._rng, count * _OVERSAMPLING)
        points[:, genes] = values
        points = self._space.canonical(points)
        new = np.unique(points[self._history.find(points) < 0], axis=0)
        if not len(new):
            return points[:1]
        new = self._rng.permutation(new)
        if self._critic is None:
            return new[:count]
        likely = self._excess(self._critic.predict(self._describe(new))) < _LIKELY
        return new[np.argsort(~likely, kind="stable")[:count]]

    # How a descent goes on.

    def _fit_critic(self, descent: Descent, best_first: IntArray) -> None:
        """Have the critic learn from the descent's samples, or some of them, and from those borrowed."""
        history, memory = self._history, self._settings.memory
        own = training_rows(best_first, max(memory - len(descent.borrowed), memory // 2), self._rng)
        rows = np.concatenate([own, descent.borrowed])
        choose = len(rows) >= descent.choose_kernel_at
        choose_scales = choose and not descent.restricted and len(rows) >= _LEAST_SCALED
        choose_scales = choose_scales and len(history) >= self._choose_scales_at
        figures = training_figures(history, rows)
        descent.critic.fit(history.features[rows], figures, choose, choose_scales)
        self._critic = descent.critic
        if choose:
            descent.choose_kernel_at = len(rows) * _KERNEL_GROWTH
        if choose_scales:
            self._choose_scales_at = len(history) * _SCALES_GROWTH

    def _start_teams(self, descent: Descent, best_first: IntArray) -> IntArray:
        """Where teams begin, (teams, genes): the best sample, and good ones with some blocks perturbed."""
        settings, genes = self._settings, self._history.genes
        starts = [genes[best_first[0]]]
        for _ in range(1, settings.survey_teams if descent.restricted else settings.teams):
            rank = min(int(self._rng.exponential(settings.ranks)), len(best_first) - 1)
            starts.append(self._agents.perturbed(genes[best_first[rank]], settings.kick, descent.blocks))
        return np.array(starts)

    def _judge(self, descent: Descent) -> Judge:
        """By what agents go: the predicted cost, and a penalty for what is not likely to be feasible."""
        if self._settings.policy == "uniform":
            return lambda genes: self._rng.random(len(genes))

        def predicted(genes: IntArray) -> FloatArray:
            means = descent.critic.predict(self._describe(genes))
            costs: FloatArray = means[:, : self._history.factors].sum(axis=1)
            return costs + _PENALTY * self._excess(means)

        return predicted

    def _select(self, descent: Descent, considered: Considered, teams: int) -> Batch:
        """Of each team's best points those to have next, some of which may be known to earlier descents."""
        size = self._size(descent)
        best = [considered.best(team, 4 * (size + _SPARE)) for team in range(teams)]
        candidates = self._unseen(descent, best, size + _SPARE)
        if self._settings.policy == "uniform" or not len(candidates):
            return Batch(candidates[:size])
        return self._of_greatest_merit(descent, candidates, size)

    def _size(self, descent: Descent) -> int:
        """How many points a descent has evaluated next."""
        settings, samples = self._settings, len(descent.samples)
        if descent.restricted:
            least, part = settings.survey_batch, settings.batch * samples
        else:
            least, part = 1, max(settings.batch * samples, settings.late_batch * len(self._history))
        return min(max(round(part), least), settings.most)

    def _unseen(self, descent: Descent, best: list[IntArray], count: int) -> IntArray:
        """Of each team's best candidates the first `count` that the descent does not have, each once."""
        seen: set[bytes] = set()
        kept: list[IntArray] = []
        for candidates in best:
            left = count
            for vector, row in zip(candidates, self._history.find(candidates).tolist(), strict=True):
                key = vector.tobytes()
                if left and key not in seen and row not in descent.samples:
                    seen.add(key)
                    kept.append(vector)
                    left -= 1
        return np.array(kept, np.int64).reshape(len(kept), len(self._space.sizes))

    def _of_greatest_merit(self, descent: Descent, candidates: IntArray, size: int) -> Batch:
        """Of the candidates (n, genes) a batch by expected improvement times the chance to be feasible."""
        history, factors = self._history, self._history.factors
        means, covariance, scales = descent.critic.posterior(self._describe(candidates))
        variance = covariance.diagonal().copy()
        stated = np.sqrt(variance[:, np.newaxis] * scales[:-1])
        calibration = np.broadcast_to(descent.calibration.variance, len(scales) - 1)
        deviations = (stated * np.sqrt(calibration))[:, factors:] + LEAST_DEVIATION
        log_chance = log_chance_to_fit(means[:, factors:-1], deviations).sum(axis=1)
        log_chance -= _PENALTY * np.maximum(means[:, -1], 0)
        rows = descent.samples.rows
        losses, best = history.losses[rows], np.inf
        if np.isfinite(losses).any():
            best = float(history.figures[rows[int(np.argmin(losses))]].sum())
        scale = float((scales[:factors] * calibration[:factors]).sum()) * self._settings.curiosity**2
        cost, counts = means[:, :factors].sum(axis=1), history.find(candidates) < 0
        chosen = believer_batch(cost, covariance, variance, log_chance, best, counts, size, scale=scale)
        predicted = Prediction(means[chosen, :-1], stated[chosen] + _LEAST_STATED)
        return Batch(candidates[chosen], predicted)

    def _excess(self, means: FloatArray) -> FloatArray:
        """log2 by which predicted needs exceed the buffers, and by which a refusal is likely: (n,)."""
        excess: FloatArray = np.maximum(means[:, self._history.factors :], 0).sum(axis=1)
        return excess
