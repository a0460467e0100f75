"""One search by teams of agents: descents, each with a critic that learns from the descent's own samples."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dse.genes import GENE_NAMES, LEVELS
from searchers.choices import Choices
from searchers.team.agents import Agents
from searchers.team.choosing import choose, log_chance_to_fit
from searchers.team.critic import Critic
from searchers.team.history import NEEDS, History

if TYPE_CHECKING:
    from dse.evaluator import Evaluator
    from searchers.team import Team

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]

_PARALLEL = [GENE_NAMES.index(f"{level}.parallel") for level in LEVELS]
_PROGRESS = 0.001
"""Part of the best score by which a sample must be better to count as an improvement."""
_PENALTY = 20.0
"""Octaves of cost that an octave beyond a buffer, or a likely refusal, counts for while agents respond."""
_GROWTH = 1.5
"""Growth of what the critic knows after which its kernel is chosen anew."""
_OVERSAMPLING = 20
"""Random points drawn for each that a later descent begins with: it begins with those that seem to fit."""
_LIKELY = 0.25
"""Octaves of expected excess with which a point may still fit."""
_TRUST = 3.0
"""Errors as small as foretold that are taken for granted at first."""
_LARGEST_ERROR = 30.0
"""Deviations that an error counts for at most."""
_LEAST_DEVIATION = 1e-3
"""Octaves: no critic is doubted for errors of this size."""
_MEMORY = 0.95
"""What an error counts for after one more."""
_SPARE = 6
"""Candidates beyond the size of a batch that a team puts forward."""


class Doubt:
    """How many times larger than it said a critic's errors are, by figure: seen where it was priced."""

    def __init__(self) -> None:
        self._squares: FloatArray | float = _TRUST
        self._count = _TRUST

    @property
    def variance(self) -> FloatArray | float:
        """What a variance is to be multiplied by: (m,), or 1 if nothing has been seen."""
        return np.maximum(self._squares / self._count, 1.0)

    def see(self, errors: FloatArray, deviations: FloatArray) -> None:
        """Learn from errors (n, m) and the deviations that were foretold; later ones count for more."""
        squares = np.minimum(np.square(errors / deviations), _LARGEST_ERROR**2)
        for square in squares:
            self._squares = self._squares * _MEMORY + square
            self._count = self._count * _MEMORY + 1


class Descent:
    """Samples that led to one another: `rows` of the history."""

    def __init__(self) -> None:
        self.rows: list[int] = []
        self.critic = Critic()
        self.best = np.inf
        self.idle = 0
        self.refit_at = 0.0
        self.doubt = Doubt()
        self.foretold: tuple[FloatArray, FloatArray] | None = None
        """Of the last proposals (n, 13): expected figures (n, m), and deviations as the critic said."""
        self._members: set[int] = set()

    def join(self, rows: list[int], history: History) -> None:
        """Samples of the history are now of this descent too."""
        for row in rows:
            if row in self._members:
                continue
            self._members.add(row)
            self.rows.append(row)
            score = float(history.scores[row])
            self.idle = 0 if score < (1 - _PROGRESS) * self.best else self.idle + 1
            self.best = min(self.best, score)

    def __contains__(self, row: int) -> bool:
        return row in self._members


class Search:
    """The state of a search by `settings`."""

    def __init__(self, settings: Team, evaluate: Evaluator, rng: np.random.Generator) -> None:
        self._settings = settings
        self._evaluate = evaluate
        self._rng = rng
        self._choices = Choices(evaluate.space)
        self._agents = Agents(self._choices, settings.values, rng)
        self._history = History(evaluate.space, evaluate.objective)
        self._descents = 0
        self._begun = np.zeros(int(np.prod(evaluate.space.sizes[_PARALLEL])), np.int64)
        self._last: Critic | None = None

    def descend(self) -> None:
        """From new random points, let teams propose and pay until it no longer helps."""
        settings, history = self._settings, self._history
        descent = Descent()
        self._descents += 1
        if settings.council and self._descents % settings.council == 0:
            ranked = np.argsort(history.scores, kind="stable")
            descent.join(ranked[: settings.memory].tolist(), history)
            descent.idle = 0
            self._pay(descent, self._choices.sample(self._rng, 1))
        else:
            self._pay(descent, self._beginning())
        while descent.idle < max(settings.patience, settings.share * len(descent.rows)):
            before = len(descent.rows)
            proposed = self._proposals(descent)
            rows = history.find(proposed)
            descent.join(rows[rows >= 0].tolist(), history)
            fresh = np.flatnonzero(rows < 0)
            if len(fresh):
                self._pay(descent, proposed[fresh])
                self._doubt(descent, fresh)
            if len(descent.rows) == before:
                break
        if settings.policy == "critic":
            self._last = descent.critic

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

    def _beginning(self) -> IntArray:
        """Random points; later ones of like parallel dims, those first that seem to fit. At least one.

        Descents that begin all over the space end in the widest valleys: so each of the later ones begins
        with a pair of parallel dims with which the fewest have begun.
        """
        count = self._settings.start
        if self._last is None:
            return self._choices.sample(self._rng, count)
        points = self._choices.sample(self._rng, count * _OVERSAMPLING)
        least = np.flatnonzero(self._begun == self._begun.min())
        pair = int(self._rng.choice(least))
        self._begun[pair] += 1
        points[:, _PARALLEL] = divmod(pair, int(self._evaluate.space.sizes[_PARALLEL[1]]))
        new = np.unique(points[self._history.find(points) < 0], axis=0)
        if not len(new):
            return points[:1]
        new = self._rng.permutation(new)
        likely = self._excess(self._last.means(self._history.describe(new))) < _LIKELY
        return new[np.argsort(~likely, kind="stable")[:count]]

    def _proposals(self, descent: Descent) -> IntArray:
        """What the descent's teams would have priced, (n, 13); some of it may be paid for already."""
        settings, history = self._settings, self._history
        rows = np.array(descent.rows)
        ranked = rows[np.argsort(history.scores[rows], kind="stable")]
        size = self._size(len(rows))
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

        considered = self._agents.respond(self._starts(ranked), settings.moves, judge)
        best = [considered.best(team, 4 * (size + _SPARE)) for team in range(settings.teams)]
        candidates = self._undescended(descent, best, size + _SPARE)
        if uniform or not len(candidates):
            return candidates[:size]
        return candidates[self._chosen(descent, candidates, size)]

    def _size(self, samples: int) -> int:
        """How many samples a descent that has so many pays for next."""
        settings = self._settings
        part = max(settings.batch * samples, settings.late_batch * len(self._history))
        return min(max(round(part), 1), settings.most)

    def _teach(self, descent: Descent, ranked: IntArray) -> None:
        """Have the critic learn from the descent's samples, or the best of them and some others."""
        history, most = self._history, self._settings.memory
        if len(ranked) > most:
            kept = most * 3 // 4
            ranked = np.concatenate([ranked[:kept], self._rng.permutation(ranked[kept:])[: most - kept]])
        figures, refused = history.figures[ranked].copy(), history.refused[ranked]
        # Refused points are taken for as costly as any, so that nobody is drawn to what has no figures.
        if refused.any():
            told = figures[~refused]
            worst = told.max(axis=0) if len(told) else np.zeros(figures.shape[1])
            figures[refused] = worst
            figures[refused, history.factors :] = told.mean(axis=0)[history.factors :] if len(told) else 0.0
        figures = np.column_stack([figures, np.where(refused, 0.5, -0.5)])
        refit = len(ranked) >= descent.refit_at
        descent.critic.learn(history.features[ranked], figures, figures.shape[1] - 1, refit)
        if refit:
            descent.refit_at = len(ranked) * _GROWTH

    def _starts(self, ranked: IntArray) -> IntArray:
        """Where teams begin: the best sample, and good ones with some blocks set at random."""
        settings, history = self._settings, self._history
        starts = [history.genes[ranked[0]]]
        for _ in range(1, settings.teams):
            rank = min(int(self._rng.exponential(settings.ranks)), len(ranked) - 1)
            starts.append(self._agents.kicked(history.genes[ranked[rank]], settings.kick))
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
