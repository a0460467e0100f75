"""One search by teams of agents: descents, each with a critic that learns from the descent's own samples."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dse.support.arrays import FloatArray, IntArray
from searchers.common.choices import Choices
from searchers.team.agents import Agents
from searchers.team.arrangements import ARRANGEMENT, PARALLEL, Arrangements
from searchers.team.choosing import choose, log_chance_to_fit
from searchers.team.critic import Critic
from searchers.team.descent import Descent
from searchers.team.history import NEEDS, History

if TYPE_CHECKING:
    from dse.search.evaluator import Evaluator
    from dse.space.blocks import Block
    from searchers.team import Team


_PENALTY = 20.0
"""Octaves of cost that an octave beyond a buffer, or a likely refusal, counts for while agents respond."""
_GROWTH = 1.5
"""Growth of what the critic knows after which the length and the noise of its kernel are chosen anew."""
_STRETCH_GROWTH = 1.4
"""Growth of all samples after which the kernel is stretched anew."""
_LEAST_STRETCHED = 20
"""Samples known to a critic, from which on it may choose how to stretch its kernel."""
_OPEN_DESCENTS = 3
"""Descents before the first survey."""
_OVERSAMPLING = 20
"""Random points drawn for each that a later descent begins with: it begins with those that seem to fit."""
_LIKELY = 0.25
"""Octaves of expected excess with which a point may still fit."""
_LEAST_DEVIATION = 1e-3
"""Octaves: no critic is doubted for errors of this size."""
_SPARE = 6
"""Candidates beyond the size of a batch that a team puts forward."""


class Search:
    """The state of a search by `settings`."""

    def __init__(self, settings: Team, evaluate: Evaluator, rng: np.random.Generator) -> None:
        self._settings = settings
        self._evaluate = evaluate
        self._rng = rng
        self._choices = Choices(evaluate.space)
        self._agents = Agents(self._choices, settings.values, rng)
        self._history = History(evaluate.space, evaluate.objective)
        self._arrangements = Arrangements(evaluate.space)
        self._inside = tuple(block for block in self._choices.blocks if block.kind in ("tiles", "order"))
        self._descents = 0
        self._last: Critic | None = None
        """The critic that was taught last."""
        self._stretch_at = 0.0
        self._surveyed = 0
        self._before_surveys = 0

    def descend(self) -> None:
        """Begin anew somewhere, and let teams propose and pay until it no longer helps."""
        history = self._history
        before = len(history)
        survey = self._is_time_to_survey()
        descent = self._survey() if survey else self._open()
        while self._goes_on(descent):
            samples = len(descent.rows)
            proposed = self._proposals(descent)
            rows = history.find(proposed)
            descent.join(rows[rows >= 0].tolist(), history)
            fresh = np.flatnonzero(rows < 0)
            if len(fresh):
                self._pay(descent, proposed[fresh])
                self._doubt(descent, fresh)
            if len(descent.rows) == samples:
                break
        if survey:
            self._surveyed += len(history) - before
        elif not self._surveyed:
            self._before_surveys = len(history)

    def _is_time_to_survey(self) -> bool:
        """Whether surveys have had less than their part of the samples since the first one could begin."""
        if not self._inside or self._descents < _OPEN_DESCENTS:
            return False
        samples = len(self._history) - self._before_surveys
        return bool(self._surveyed < self._settings.surveys * (samples + 1))

    def _survey(self) -> Descent:
        """A descent that keeps an arrangement of the PEs."""
        history = self._history if self._settings.policy == "critic" else None
        arrangement = self._arrangements.next(self._rng, history)
        descent = self._descent(self._inside, survey=True)
        self._pay(descent, self._beginning(ARRANGEMENT, arrangement, self._settings.survey_start))
        return descent

    def _open(self) -> Descent:
        """A descent that may go anywhere, from random points."""
        settings = self._settings
        descent = self._descent(self._choices.blocks, survey=False)
        self._descents += 1
        if self._descents == 1:
            self._pay(descent, self._choices.sample(self._rng, settings.start))
        else:
            pair = self._arrangements.next_pair(self._rng)
            self._pay(descent, self._beginning(PARALLEL, pair, settings.later_start))
        return descent

    def _descent(self, blocks: tuple[Block, ...], survey: bool) -> Descent:
        """A descent without samples; its critic is lent the best of others, and their stretches."""
        critic = Critic(self._history.describe.groups, self._history.factors)
        lent = np.empty(0, np.int64)
        if self._last is not None:
            critic.stretch = self._last.stretch.copy()
            lent = self._diverse(self._settings.lent)
        return Descent(blocks, critic, lent, survey)

    def _pay(self, descent: Descent, genes: IntArray) -> None:
        start = len(self._history)
        self._history.add(genes, self._evaluate(genes))
        descent.join(list(range(start, len(self._history))), self._history)

    def _doubt(self, descent: Descent, fresh: IntArray) -> None:
        """Compare what was foretold of the proposals that were paid for last with what came."""
        if descent.foretold is None:
            return
        came = self._history.figures[-len(fresh) :]
        told = np.isfinite(came).all(axis=1)
        means, deviations = (part[fresh][told] for part in descent.foretold)
        descent.doubt.see(came[told] - means, deviations)

    def _goes_on(self, descent: Descent) -> bool:
        """Whether a descent is still worth paying for."""
        settings, best = self._settings, float(self._history.scores.min())
        samples, patience = len(descent.rows), settings.patience
        if descent.survey:
            # An infeasible descent lags behind a feasible one, whatever the scores.
            lag = np.log2(descent.best / best) if np.isfinite(descent.best) else np.inf
            if samples > settings.grace and lag * (samples - settings.grace) > settings.lag:
                return False
            patience = settings.survey_patience
        return bool(descent.idle < max(patience, settings.share * samples))

    def _diverse(self, count: int) -> IntArray:
        """Rows of the history, the best with each arrangement of the PEs before the second best."""
        history = self._history
        ranked = np.argsort(history.scores, kind="stable")
        sizes = self._evaluate.space.sizes[list(ARRANGEMENT)]
        arrangement = np.asarray(np.ravel_multi_index(tuple(history.genes[ranked][:, ARRANGEMENT].T), sizes))
        order = np.argsort(arrangement, kind="stable")
        groups = arrangement[order]
        firsts = np.flatnonzero(np.diff(groups, prepend=-1))
        places = np.empty(len(order), np.int64)
        places[order] = np.arange(len(order)) - np.repeat(firsts, np.diff(firsts, append=len(order)))
        return ranked[np.argsort(places, kind="stable")[:count]]

    def _beginning(self, genes: tuple[int, ...], values: IntArray, count: int) -> IntArray:
        """Random points whose `genes` have the `values`: at least one, (n, 13), n at most `count`.

        First those that seem to fit. Descents that begin all over the space end in the widest valleys.
        """
        points = self._choices.sample(self._rng, count * _OVERSAMPLING)
        points[:, genes] = values
        points = self._choices.normal(points)
        new = np.unique(points[self._history.find(points) < 0], axis=0)
        if not len(new):
            return points[:1]
        new = self._rng.permutation(new)
        if self._last is None:
            return new[:count]
        likely = self._excess(self._last.means(self._history.describe(new))) < _LIKELY
        return new[np.argsort(~likely, kind="stable")[:count]]

    def _proposals(self, descent: Descent) -> IntArray:
        """What the descent's teams would have priced, (n, 13); some of it may be paid for already."""
        settings, history = self._settings, self._history
        rows = np.array(descent.rows)
        ranked = rows[np.argsort(history.scores[rows], kind="stable")]
        size = self._size(descent)
        uniform = settings.policy == "uniform"
        if not uniform:
            self._teach(descent, ranked)
        critic = descent.critic

        def judge(genes: IntArray) -> FloatArray:
            if uniform:
                return self._rng.random(len(genes))
            means = critic.means(history.describe(genes))
            costs: FloatArray = means[:, : history.factors].sum(axis=1)
            return costs + _PENALTY * self._excess(means)

        starts = self._starts(descent, ranked)
        considered = self._agents.respond(starts, settings.moves, judge, descent.blocks)
        best = [considered.best(team, 4 * (size + _SPARE)) for team in range(len(starts))]
        candidates = self._undescended(descent, best, size + _SPARE)
        if uniform or not len(candidates):
            return candidates[:size]
        return candidates[self._chosen(descent, candidates, size)]

    def _size(self, descent: Descent) -> int:
        """How many samples a descent pays for next."""
        settings, samples = self._settings, len(descent.rows)
        if descent.survey:
            least, part = settings.survey_batch, settings.batch * samples
        else:
            least, part = 1, max(settings.batch * samples, settings.late_batch * len(self._history))
        return min(max(round(part), least), settings.most)

    def _teach(self, descent: Descent, ranked: IntArray) -> None:
        """Have the critic learn from the descent's samples, or the best of them and some others."""
        history, memory = self._history, self._settings.memory
        most = max(memory - len(descent.lent), memory // 2)
        if len(ranked) > most:
            kept = most * 3 // 4
            ranked = np.concatenate([ranked[:kept], self._rng.permutation(ranked[kept:])[: most - kept]])
        ranked = np.concatenate([ranked, descent.lent])
        figures, refused = history.figures[ranked].copy(), history.refused[ranked]
        # Refused points are taken for as costly as any, so that nobody is drawn to what has no figures.
        if refused.any():
            told = figures[~refused]
            worst = told.max(axis=0) if len(told) else np.zeros(figures.shape[1])
            figures[refused] = worst
            figures[refused, history.factors :] = told.mean(axis=0)[history.factors :] if len(told) else 0.0
        figures = np.column_stack([figures, np.where(refused, 0.5, -0.5)])
        refit = len(ranked) >= descent.refit_at
        restretch = refit and not descent.survey and len(ranked) >= _LEAST_STRETCHED
        restretch = restretch and len(history) >= self._stretch_at
        descent.critic.learn(history.features[ranked], figures, refit, restretch)
        self._last = descent.critic
        if restretch:
            self._stretch_at = len(history) * _STRETCH_GROWTH
        if refit:
            descent.refit_at = len(ranked) * _GROWTH

    def _starts(self, descent: Descent, ranked: IntArray) -> IntArray:
        """Where teams begin: the best sample, and good ones with some blocks set at random."""
        settings, history = self._settings, self._history
        starts = [history.genes[ranked[0]]]
        for _ in range(1, settings.survey_teams if descent.survey else settings.teams):
            rank = min(int(self._rng.exponential(settings.ranks)), len(ranked) - 1)
            starts.append(self._agents.kicked(history.genes[ranked[rank]], settings.kick, descent.blocks))
        return np.array(starts)

    def _undescended(self, descent: Descent, best: list[IntArray], count: int) -> IntArray:
        """Of each team's best candidates the first `count` that the descent does not have, each once."""
        seen: set[bytes] = set()
        kept: list[IntArray] = []
        for candidates in best:
            left = count
            for vector, row in zip(candidates, self._history.find(candidates).tolist(), strict=True):
                key = vector.tobytes()
                if left and key not in seen and row not in descent:
                    seen.add(key)
                    kept.append(vector)
                    left -= 1
        return np.array(kept, np.int64).reshape(len(kept), self._history.genes.shape[1])

    def _chosen(self, descent: Descent, candidates: IntArray, size: int) -> list[int]:
        """Of the candidates (n, 13) those of the greatest merit, `size` of which are to be paid for."""
        history, factors = self._history, self._history.factors
        told = factors + NEEDS
        means, covariance, scales = descent.critic.posterior(history.describe(candidates))
        stated = np.sqrt(covariance.diagonal()[:, np.newaxis] * scales[:told])
        doubt = np.broadcast_to(descent.doubt.variance, told)
        deviations = stated * np.sqrt(doubt)
        log_chance = log_chance_to_fit(means[:, factors:told], deviations[:, factors:])
        log_chance -= _PENALTY * np.maximum(means[:, -1], 0)
        losses = history.losses[descent.rows]
        cost = means[:, :factors].sum(axis=1)
        best = np.inf
        if np.isfinite(losses).any():
            best = float(history.figures[descent.rows[int(np.argmin(losses))], :factors].sum())
        scale = float((scales[:factors] * doubt[:factors]).sum()) * self._settings.curiosity**2
        counts = history.find(candidates) < 0
        chosen = choose(cost, covariance, scale, log_chance, best, counts, size)
        descent.foretold = means[chosen, :told], stated[chosen] + _LEAST_DEVIATION
        return chosen

    def _excess(self, means: FloatArray) -> FloatArray:
        """Octaves by which expected needs exceed the buffers, and by which a refusal is likely: (n,)."""
        excess: FloatArray = np.maximum(means[:, self._history.factors :], 0).sum(axis=1)
        return excess
