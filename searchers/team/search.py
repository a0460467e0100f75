"""One search by teams of agents, as ask and tell: descents, each with a critic of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dse.support import numerics
from dse.support.arrays import FloatArray, IntArray
from searchers.common.choices import Choices
from searchers.common.history import History, objective_factors
from searchers.team.agents import Agents, Judge
from searchers.team.critic import Critic
from searchers.team.descent import Descent
from searchers.team.selection import PENALTY, Batch, Selection, excess
from searchers.team.spatial import SpatialMappings, spatial_genes
from searchers.team.starts import scouts, template_vectors
from searchers.team.training import Lessons, diverse, lessons, ranked, training_rows

if TYPE_CHECKING:
    from dse.core.evaluations import Evaluations
    from dse.core.space import Block, Space
    from dse.search.evaluator import Known
    from searchers.team import Team


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
_FORESEEN = 16
"""Teams that look for what is expected to be best before the first sample, and the moves that they have."""
_ALIKE, _SURE = 20, 0.5
"""Of each of them, how many proposals are compared, and the deviations by which the first sample must fit."""
_EARLY = 60
"""Samples of a descent, up to which each is worth a thorough search."""


class Search:
    """The state of a search by `settings`."""

    def __init__(self, settings: Team, space: Space, objective: str, rng: np.random.Generator) -> None:
        self._settings = settings
        self._space = space
        self._rng = rng
        self._choices = Choices(space)
        self._agents = Agents(self._choices, settings.values, rng)
        self._describe = settings.features(space)
        factors = objective_factors(space, objective)
        self._history = History(space, self._describe, factors)
        self._expected = self._describe.expected(factors) if settings.expects else None
        self._elsewhere = settings.elsewhere(space, self._describe, factors)
        self._selection = Selection(settings, space, self._history, informed=self._expected is not None)
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
            judge, early = self._judge(descent), self._is_early(descent)
            starts = self._start_teams(descent, best_first, judge)
            moves = settings.early_moves if early else settings.moves
            considered = self._agents.respond(starts, moves, judge, descent.blocks)
            batch = self._selection.choose(descent, considered, len(starts))
            known = history.find(batch.genes)
            # What earlier descents have evaluated is free: with it the descent knows better what to ask.
            descent.samples.join(known[known >= 0], history.scores)
            if (known < 0).any():
                return batch.take(np.flatnonzero(known < 0))
            if not len(known):
                break
        self._descent, beginning = self._restrict() if self._restriction_is_due() else self._open()
        return Batch(beginning) if len(beginning) else self.ask()

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

    def _is_early(self, descent: Descent) -> bool:
        """Whether samples are so few that each is worth a thorough search of what the critic predicts."""
        return self._expected is not None and not descent.restricted and len(descent.samples) < _EARLY

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
            descent.samples.join(np.arange(len(self._history)), self._history.scores)
            return descent, self._first_points()
        genes: tuple[int, ...] = ()
        values = np.empty(0, np.int64)
        if self._spatial:
            genes, values = self._spatial.parallel_genes, self._spatial.begin_pair(self._rng)
        return descent, self._beginning(genes, values, self._settings.later_start)

    def _first_points(self) -> IntArray:
        """What is evaluated before the critic has its say, beside what is known: (n, genes)."""
        settings, structure = self._settings, self._space.structure
        count = settings.start if self._expected is None else settings.informed_start
        points = np.empty((0, len(self._space.sizes)), np.int64)
        if self._elsewhere is not None:
            points = self._foreseen(self._elsewhere, count)
        elif self._expected is not None and structure and settings.begin == "templates":
            points = template_vectors(structure, points.shape[1])
            points = points[self._history.find(points) < 0]
        missing = max(count - len(points) - len(self._history), 0)
        return np.concatenate([points, self._choices.sample(self._rng, missing)])

    def _foreseen(self, elsewhere: Lessons, count: int) -> IntArray:
        """The points that what was learned elsewhere makes the best, not two alike: (n, genes)."""
        critic = Critic(self._describe, self._history.factors, self._expected)
        critic.fit(elsewhere, choose=True, choose_scales=True)
        self._critic = critic
        judge = self._judged_by(critic)
        kinds = self._spatial.parallel_genes if self._spatial else ()
        starts = scouts(self._choices, judge, kinds, _FORESEEN, self._rng)
        if self._space.structure:
            starts += list(template_vectors(self._space.structure, len(starts[0])))
        considered = self._agents.respond(np.array(starts), _FORESEEN, judge, self._choices.blocks)
        best = np.concatenate([considered.best(team, _ALIKE) for team in range(len(starts))])
        best = best[np.sort(np.unique(self._space.canonical(best), axis=0, return_index=True)[1])]
        best = best[self._history.find(best) < 0]
        means, covariance, scales = critic.posterior(self._describe(best))
        means += _SURE * np.sqrt(covariance.diagonal()[:, np.newaxis] * scales)
        return best[np.argsort(_costs(means, self._history.factors), kind="stable")][:count]

    def _new_descent(self, blocks: tuple[Block, ...], restricted: bool) -> Descent:
        """A descent without samples; its critic has the last one's scales, and borrows samples of others."""
        history = self._history
        critic = Critic(self._describe, history.factors, self._expected)
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
        likely = excess(self._critic.predict(self._describe(new)), self._history.factors) < _LIKELY
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
        descent.critic.fit(self._with_elsewhere(lessons(history, rows)), choose, choose_scales)
        self._critic = descent.critic
        if choose:
            descent.choose_kernel_at = len(rows) * _KERNEL_GROWTH
        if choose_scales:
            self._choose_scales_at = len(history) * _SCALES_GROWTH

    def _with_elsewhere(self, own: Lessons) -> Lessons:
        """What the search has learned by its own samples, and what others have."""
        return own if self._elsewhere is None else own.joined(self._elsewhere)

    def _start_teams(self, descent: Descent, best_first: IntArray, judge: Judge) -> IntArray:
        """Where teams begin, (teams, genes): the best sample, and good ones with some blocks perturbed.

        Early on, scouts too: where the critic likes it best, wherever that is.
        """
        settings, genes = self._settings, self._history.genes
        starts = [genes[best_first[0]]]
        for _ in range(1, settings.survey_teams if descent.restricted else settings.teams):
            rank = min(int(self._rng.exponential(settings.ranks)), len(best_first) - 1)
            starts.append(self._agents.perturbed(genes[best_first[rank]], settings.kick, descent.blocks))
        if self._is_early(descent):
            kinds = self._spatial.parallel_genes if self._spatial else ()
            starts += scouts(self._choices, judge, kinds, settings.scouts, self._rng)
        return np.array(starts)

    def _judge(self, descent: Descent) -> Judge:
        """By what agents go: the predicted cost, and a penalty for what is not likely to be feasible."""
        if self._settings.policy == "uniform":
            return lambda genes: self._rng.random(len(genes))
        return self._judged_by(descent.critic)

    def _judged_by(self, critic: Critic) -> Judge:
        return lambda genes: _costs(critic.predict(self._describe(genes)), self._history.factors)


def _costs(means: FloatArray, factors: int) -> FloatArray:
    """What agents go by, of predicted figures (n, m): costs, and penalties for what is not likely to fit."""
    costs: FloatArray = means[:, :factors].sum(axis=1)
    return costs + PENALTY * excess(means, factors)
