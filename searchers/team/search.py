"""One search by teams of agents, as ask and tell: local searches, each with a critic of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dse.domains.clustered.structure import mappings_of
from dse.support import numerics
from dse.support.arrays import FloatArray, IntArray
from searchers.common.choices import Choices
from searchers.common.history import History, objective_factors
from searchers.team.agents import Agents, Judge
from searchers.team.critic import Critic
from searchers.team.initial_points import promising_points, template_vectors
from searchers.team.local_search import LocalSearch
from searchers.team.selection import PENALTY, Batch, Selection, predicted_excess
from searchers.team.spatial import SpatialMappings, spatial_genes
from searchers.team.training import TrainingSet, diverse_rows, ranked_rows, training_rows, training_set

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
"""Local searches before the first restricted search."""
_OVERSAMPLING = 20
"""Random points drawn for each that a later local search begins with: it begins with those that seem to
fit."""
_LIKELY = 0.25
"""Expected excess, in log2, with which a point may still fit."""
_FORESEEN = 16
"""Teams that look for what is expected to be best before the first sample, and the moves that they have."""
_ALIKE, _SURE = 20, 0.5
"""Of each of them, how many proposals are compared, and the deviations by which the first sample must fit."""
_EARLY = 60
"""Samples of a local search, up to which each is worth a thorough search."""


class Search:
    """The state of a search by `settings`."""

    def __init__(self, settings: Team, space: Space, objective: str, rng: np.random.Generator) -> None:
        self._settings = settings
        self._space = space
        self._rng = rng
        self._choices = Choices(space)
        self._agents = Agents(self._choices, settings.max_candidates, rng)
        self._describe = settings.features(space)
        factors = objective_factors(space, objective)
        self._history = History(space, self._describe, factors)
        self._expected = self._describe.expected(factors) if settings.expert_prior else None
        self._source = settings.source_training_set(space, self._describe, factors)
        self._selection = Selection(settings, space, self._history, informed=self._expected is not None)
        self._spatial: SpatialMappings | None = None
        self._restricted_blocks: tuple[Block, ...] = ()
        mappings = mappings_of(space)
        if mappings and (spatial := set(spatial_genes(space))):
            self._spatial = SpatialMappings(space, mappings)
            self._restricted_blocks = tuple(
                block for block in self._choices.blocks if spatial.isdisjoint(block.genes)
            )
        self._local_search: LocalSearch | None = None
        self._critic: Critic | None = None
        """The one that was fitted last, of any local search."""
        self._choose_scales_at = 0.0
        self._unrestricted = 0
        """Local searches so far that were not restricted."""
        self._restricted_from: int | None = None
        """How many samples there were when the first restricted search began."""
        self._restricted_samples = 0

    def add_known(self, known: Known) -> None:
        """Remember what was evaluated before, or for others: the local search that is on learns from it."""
        if len(known.genes):
            rows = self._history.add(known.genes, known.evaluations)
            if self._local_search and not self._local_search.restricted:
                self._local_search.samples.join(rows, self._history.scores)

    def ask(self) -> Batch:
        """The next points to evaluate: what teams propose, or what another local search begins with."""
        settings, history = self._settings, self._history
        while self._local_search and self._continues(self._local_search):
            local_search = self._local_search
            best_first = ranked_rows(history, local_search.samples.rows)
            if settings.policy == "critic":
                self._fit_critic(local_search, best_first)
            judge, early = self._judge(local_search), self._is_early(local_search)
            starts = self._start_teams(local_search, best_first, judge)
            moves = settings.early_moves if early else settings.moves
            candidates = self._agents.respond(starts, moves, judge, local_search.blocks)
            batch = self._selection.choose(local_search, candidates, len(starts))
            known = history.find(batch.genes)
            # What earlier local searches have evaluated is free: with it the local search knows better what
            # to ask.
            local_search.samples.join(known[known >= 0], history.scores)
            if (known < 0).any():
                return batch.take(np.flatnonzero(known < 0))
            if not len(known):
                break
        self._local_search, beginning = (
            self._start_restricted() if self._restriction_is_due() else self._start_unrestricted()
        )
        return Batch(beginning) if len(beginning) else self.ask()

    def tell(self, batch: Batch, evaluations: Evaluations) -> None:
        """Remember what the batch asked for last has cost, and calibrate the critic that predicted it."""
        assert self._local_search is not None, "tell follows ask"
        local_search, history = self._local_search, self._history
        rows = history.add(batch.genes, evaluations)
        local_search.samples.join(rows, history.scores)
        if local_search.restricted:
            self._restricted_samples += len(rows)
        if batch.predicted:
            figures = np.column_stack([history.figures[rows], history.needs[rows]])
            local_search.calibration.observe(batch.predicted, figures)

    def _continues(self, local_search: LocalSearch) -> bool:
        """Whether a local search is still worth evaluating for."""
        settings, samples, best = self._settings, local_search.samples, float(self._history.scores.min())
        patience = settings.patience
        if local_search.restricted:
            # An infeasible local search lags behind a feasible one, whatever the scores.
            lag = float(numerics.log2(samples.best / best)) if np.isfinite(samples.best) else np.inf
            beyond_grace = len(samples) - settings.restricted_grace_period
            if beyond_grace > 0 and lag * beyond_grace > settings.restricted_max_lag:
                return False
            patience = settings.restricted_patience
        return bool(samples.idle < max(patience, settings.patience_fraction * len(samples)))

    def _is_early(self, local_search: LocalSearch) -> bool:
        """Whether samples are so few that each is worth a thorough search of what the critic predicts."""
        return (
            self._expected is not None and not local_search.restricted and len(local_search.samples) < _EARLY
        )

    # How a local search begins.

    def _restriction_is_due(self) -> bool:
        """Whether restricted searches have had less than their part of the samples since the first began."""
        if not self._restricted_blocks or self._unrestricted < _UNRESTRICTED_FIRST:
            return False
        since = 0 if self._restricted_from is None else len(self._history) - self._restricted_from
        return bool(self._restricted_samples < self._settings.restricted_fraction * (since + 1))

    def _start_restricted(self) -> tuple[LocalSearch, IntArray]:
        """A restricted search, which keeps a spatial mapping, and the points that it begins with."""
        assert self._spatial is not None, "only where there are spatial mappings"
        history = self._history
        if self._restricted_from is None:
            self._restricted_from = len(history)
        chosen = self._spatial.choose(self._rng, history if self._settings.policy == "critic" else None)
        local_search = self._new_local_search(self._restricted_blocks, restricted=True)
        return local_search, self._startup_points(
            self._spatial.genes, chosen, self._settings.n_restricted_startup_trials
        )

    def _start_unrestricted(self) -> tuple[LocalSearch, IntArray]:
        """A local search that may go anywhere, and the points that it begins with."""
        self._unrestricted += 1
        local_search = self._new_local_search(self._choices.blocks, restricted=False)
        if self._unrestricted == 1:
            local_search.samples.join(np.arange(len(self._history)), self._history.scores)
            return local_search, self._initial_points()
        genes: tuple[int, ...] = ()
        values = np.empty(0, np.int64)
        if self._spatial:
            genes, values = self._spatial.parallel_genes, self._spatial.choose_parallel_dims(self._rng)
        return local_search, self._startup_points(genes, values, self._settings.n_restart_trials)

    def _initial_points(self) -> IntArray:
        """What is evaluated before the critic has its say, beside what is known: (n, genes)."""
        settings, structure = self._settings, mappings_of(self._space)
        count = settings.n_startup_trials if self._expected is None else settings.n_informed_startup_trials
        points = np.empty((0, len(self._space.sizes)), np.int64)
        if self._source is not None:
            points = self._predicted_best(self._source, count)
        elif self._expected is not None and structure and settings.initial_design == "templates":
            points = template_vectors(structure, points.shape[1])
            points = points[self._history.find(points) < 0]
        missing = max(count - len(points) - len(self._history), 0)
        return np.concatenate([points, self._choices.sample(self._rng, missing)])

    def _predicted_best(self, source: TrainingSet, count: int) -> IntArray:
        """The points that what was learned from other searches makes the best, not two alike: (n, genes)."""
        critic = Critic(self._describe, self._history.factors, self._expected)
        critic.fit(source, choose=True, choose_scales=True)
        self._critic = critic
        judge = self._judged_by(critic)
        kinds = self._spatial.parallel_genes if self._spatial else ()
        starts = promising_points(self._choices, judge, kinds, _FORESEEN, self._rng)
        if mappings := mappings_of(self._space):
            starts += list(template_vectors(mappings, len(starts[0])))
        candidates = self._agents.respond(np.array(starts), _FORESEEN, judge, self._choices.blocks)
        best = np.concatenate([candidates.best(team, _ALIKE) for team in range(len(starts))])
        best = best[np.sort(np.unique(self._space.canonical(best), axis=0, return_index=True)[1])]
        best = best[self._history.find(best) < 0]
        means, covariance, scales = critic.posterior(self._describe(best))
        means += _SURE * np.sqrt(covariance.diagonal()[:, np.newaxis] * scales)
        return best[np.argsort(_costs(means, self._history.factors), kind="stable")][:count]

    def _new_local_search(self, blocks: tuple[Block, ...], restricted: bool) -> LocalSearch:
        """A local search without samples; its critic has the last one's scales, and borrows samples of
        others."""
        history = self._history
        critic = Critic(self._describe, history.factors, self._expected)
        borrowed = np.empty(0, np.int64)
        if self._critic is not None:
            critic.log2_scales = self._critic.log2_scales.copy()
            kinds = np.zeros(len(history), np.int64)
            if self._spatial:
                kinds = self._spatial.numbers(history.genes)
            borrowed = diverse_rows(history, kinds, self._settings.borrowed_samples)
        return LocalSearch(blocks, restricted, critic, borrowed)

    def _startup_points(self, genes: tuple[int, ...], values: IntArray, count: int) -> IntArray:
        """Random points whose `genes` have the `values`: at least one, (n, genes), n at most `count`.

        First those that seem to fit. Local searches that begin all over the space end in the widest valleys.
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
        likely = predicted_excess(self._critic.predict(self._describe(new)), self._history.factors) < _LIKELY
        return new[np.argsort(~likely, kind="stable")[:count]]

    # How a local search goes on.

    def _fit_critic(self, local_search: LocalSearch, best_first: IntArray) -> None:
        """Have the critic learn from the local search's samples, or some of them, and from those borrowed."""
        history, memory = self._history, self._settings.max_training_samples
        own = training_rows(best_first, max(memory - len(local_search.borrowed), memory // 2), self._rng)
        rows = np.concatenate([own, local_search.borrowed])
        choose = len(rows) >= local_search.choose_kernel_at
        choose_scales = choose and not local_search.restricted and len(rows) >= _LEAST_SCALED
        choose_scales = choose_scales and len(history) >= self._choose_scales_at
        local_search.critic.fit(self._with_source(training_set(history, rows)), choose, choose_scales)
        self._critic = local_search.critic
        if choose:
            local_search.choose_kernel_at = len(rows) * _KERNEL_GROWTH
        if choose_scales:
            self._choose_scales_at = len(history) * _SCALES_GROWTH

    def _with_source(self, own: TrainingSet) -> TrainingSet:
        """What the search has learned by its own samples, and what others have."""
        return own if self._source is None else own.joined(self._source)

    def _start_teams(self, local_search: LocalSearch, best_first: IntArray, judge: Judge) -> IntArray:
        """Where teams begin, (teams, genes): the best sample, and good ones with some blocks perturbed.

        Early on, extra teams too: where the critic likes it best, wherever that is.
        """
        settings, genes = self._settings, self._history.genes
        starts = [genes[best_first[0]]]
        for _ in range(1, settings.restricted_teams if local_search.restricted else settings.n_teams):
            rank = min(int(self._rng.exponential(settings.mean_start_rank)), len(best_first) - 1)
            starts.append(
                self._agents.perturbed(genes[best_first[rank]], settings.perturbation, local_search.blocks)
            )
        if self._is_early(local_search):
            kinds = self._spatial.parallel_genes if self._spatial else ()
            starts += promising_points(self._choices, judge, kinds, settings.extra_teams, self._rng)
        return np.array(starts)

    def _judge(self, local_search: LocalSearch) -> Judge:
        """By what agents go: the predicted cost, and a penalty for what is not likely to be feasible."""
        if self._settings.policy == "uniform":
            return lambda genes: self._rng.random(len(genes))
        return self._judged_by(local_search.critic)

    def _judged_by(self, critic: Critic) -> Judge:
        return lambda genes: _costs(critic.predict(self._describe(genes)), self._history.factors)


def _costs(means: FloatArray, factors: int) -> FloatArray:
    """What agents go by, of predicted figures (n, m): costs, and penalties for what is not likely to fit."""
    costs: FloatArray = means[:, :factors].sum(axis=1)
    return costs + PENALTY * predicted_excess(means, factors)
