"""One search by a calibrated adviser, as ask and tell."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from dse.domains.clustered.advice import MISFITS
from dse.search.evaluator import Known
from dse.search.searcher import SearchNote
from dse.support.arrays import BoolArray, FloatArray, IntArray
from searchers.calibrated.ensemble import Ensemble, Usual
from searchers.calibrated.residual import Residual
from searchers.calibrated.rules import Rules
from searchers.calibrated.trend import Trend
from searchers.common.acquisition import log_chance_to_fit, log_improvement
from searchers.common.features import VaryingFeatures, probes
from searchers.common.history import objective_factors
from searchers.common.visited import Visited
from searchers.team import Team
from searchers.team.search import Search

if TYPE_CHECKING:
    from dse.core.evaluations import Evaluations
    from dse.core.space import Space
    from dse.domains.clustered.advice import Adviser
    from searchers.calibrated import Calibrated
    from searchers.team.selection import Batch

Merit = Callable[[IntArray, FloatArray], FloatArray]
"""Of points (n, genes) and their terms (n, terms)."""
LISTED = 40
"""Mappings near the adviser's optimum that are looked at."""
WISH = 2.0
"""How much more the adviser's own figure counts than what all its terms may cost, or than a chance to run."""
POOL, ELITES, ROUNDS = 1500, 24, 5
"""Random points that are weighed for a sample, those of which neighbours are, and how often."""
LOOKED_AT = 300
"""Of those, the best by merit, of which one is run that is new."""
ENOUGH = 10
"""Samples from which on an adviser may be found useless."""
PATIENCE, TRIFLE = 4, 0.003
"""Samples without an improvement, by more than a trifle, after which deviations count double."""
FAULT = 0.3
"""A deviation of what is predicted of refusals, -1 for none and 1 for one."""


def rank_correlation(one: FloatArray, other: FloatArray) -> float:
    """Spearman's, ties by their mean rank; scipy's takes seconds to be imported."""
    ranks = np.empty((2, len(one)))
    for row, each in zip(ranks, (one, other), strict=True):
        _, place, counts = np.unique(each, return_inverse=True, return_counts=True)
        row[:] = (np.cumsum(counts) - (counts - 1) / 2)[place]
    left, right = ranks - ranks.mean(axis=1, keepdims=True)
    return float(left @ right / np.sqrt((left @ left) * (right @ right)))


class UselessAdviser(SearchNote):
    """The adviser's terms say nothing of what the judge measures."""


class Strategy:
    """The state of a search: its samples, what was fitted to them, and the team that it falls back on."""

    def __init__(
        self, settings: Calibrated, adviser: Adviser, space: Space, objective: str, rng: np.random.Generator
    ) -> None:
        self._settings, self._space, self._objective, self._rng = settings, space, objective, rng
        self._adviser = adviser
        self._factors = objective_factors(space, objective)
        self._structure, self._visited = VaryingFeatures(space), Visited(space)
        self._genes = np.empty((0, len(space.sizes)), np.int64)
        self._figures = np.empty((0, max(len(self._factors), 1)))
        self._losses, self._refused = np.empty(0), np.empty(0, np.bool_)
        self._misfits_pass = False
        self._best = self._adviser.best(LISTED, rng)
        self._scale()
        self._elites = self._best
        self.agreement = np.nan
        self._all: Evaluations
        self._team: Search | None = None
        self._asked: Batch | None = None
        self._picked = self._genes
        self.useless = False

    def ask(self) -> IntArray:
        """The next points to evaluate: (n, genes)."""
        count = len(self._losses)
        self._asked = None
        if self._is_teams_turn(count):
            self._asked = self._team_search().ask()
            genes: IntArray = self._asked.genes
            return genes
        cautious = not self._usable_samples().any() or count < self._settings.n_startup_trials
        self._picked = self._genes[:0]
        for _ in range(self._settings.batch_size):
            point = self._pick(self._cautious() if cautious else self._fitted())
            self._picked = np.concatenate([self._picked, point])
        return self._picked

    def tell(self, genes: IntArray, evaluations: Evaluations) -> None:
        """Learn from what was asked for last, or known before."""
        names = self._factors
        columns = [getattr(evaluations, name) for name in names] or [evaluations.objective_value]
        feasible = np.isfinite(evaluations.loss)
        self._misfits_pass |= bool((feasible & ~self._adviser.usable(genes)).any())
        self._genes = np.concatenate([self._genes, genes])
        self._figures = np.concatenate([self._figures, np.stack(columns, axis=1).astype(np.float64)])
        self._losses = np.concatenate([self._losses, evaluations.loss])
        known = np.isin(evaluations.reason, MISFITS)
        self._refused = np.concatenate([self._refused, ~feasible & ~known])
        self._visited.add(genes)
        if self._asked is not None:
            self._team_search().tell(self._asked, evaluations)
        elif self._team is not None:
            self._team.add_known(Known(genes, evaluations))
        self._all = evaluations if len(self._genes) == len(genes) else self._all.joined(evaluations)

    # The team.

    def _is_teams_turn(self, count: int) -> bool:
        if self.useless:
            return True
        beyond = count - self._settings.n_alone
        return beyond >= 0 and beyond // self._settings.batch_size % 2 == 1

    def _team_search(self) -> Search:
        if self._team is None:
            team, size = Team(initial_design="random"), self._settings.batch_size
            if size > 1:
                team = replace(team, max_batch_size=size, batch_fraction=1.0)
            self._team = Search(team, self._space, self._objective, self._rng)
            self._team.add_known(Known(self._genes, self._all))
        return self._team

    # What is picked.

    def _usable_samples(self) -> BoolArray:
        found: BoolArray = np.isfinite(self._losses) & (self._figures > 0).all(axis=1)
        return found

    def _log_chance(self) -> Callable[[IntArray], FloatArray]:
        """The log of the chance that the judge runs points, by the rules that it may have."""
        shown, chances = self._adviser.traits(self._genes)
        rules = Rules(shown, self._refused, chances)
        return lambda points: rules.log_chance(self._adviser.traits(points)[0])

    def _cautious(self) -> Merit:
        """The merit of points while nothing is measured: likely to run, and low in all terms."""
        chance = self._log_chance()

        def merit(points: IntArray, terms: FloatArray) -> FloatArray:
            costs = [usual.expected(self._first(terms, each)) for each, usual in enumerate(self._usual)]
            said = WISH * np.log(self._adviser.losses(points)) + np.log(costs).sum(axis=0)
            found: FloatArray = chance(points) - said
            return found

        return merit

    def _pick(self, merit: Merit) -> IntArray:
        """The point of the greatest merit, of those that are new, that descents from many points find."""
        rows = np.argsort(self._losses, kind="stable")[:ELITES]
        pool = np.concatenate([self._elites, self._best, self._genes[rows]])
        pool = np.concatenate([pool, self._space.sample(self._rng, POOL)])
        best, value = pool[:1], -np.inf
        for _ in range(ROUNDS):
            pool = np.unique(self._space.canonical(pool), axis=0)
            pool = pool[self._allowed(pool)]
            terms = self._adviser.terms(pool)[1]
            merits = merit(pool, terms)
            order = np.argsort(-merits, kind="stable")
            first = order[:LOOKED_AT]
            new = first[self._unlike(pool[first], terms[first])]
            if len(new) and merits[new[0]] > value:
                best, value = pool[new[:1]], merits[new[0]]
            elites = pool[order[:ELITES]]
            near = [block.neighbours(point) for point in elites for block in self._space.blocks]
            pool = np.concatenate([elites, *near])
        self._elites = elites
        return best if value > -np.inf else self._space.sample(self._rng, 1)

    def _fitted(self) -> Merit:
        """Fit to the samples: the log of the expected improvement of points."""
        rows = self._usable_samples()
        genes, logs = self._genes[rows], np.log(self._figures[rows])
        _, terms = self._adviser.terms(genes)
        if len(genes) >= ENOUGH and not self.useless:
            self._doubt(terms, self._figures[rows])
        fits = [
            Ensemble(self._usual[factor], self._first(terms, factor), self._figures[rows, factor], self._rng)
            for factor in range(logs.shape[1])
        ]

        def trend(there: FloatArray) -> FloatArray:
            logs = [fit.logs(self._first(there, each)) for each, fit in enumerate(fits)]
            found: FloatArray = np.sum(logs, axis=0)
            return found

        left = logs.sum(axis=1)[:, np.newaxis] - trend(terms)
        residual = Residual(self._counts(terms), self._structure(genes), left)
        if len(self._picked):
            counts = self._counts(self._adviser.terms(self._picked)[1])
            residual = residual.believing(counts, self._structure(self._picked))
        best = float(logs.sum(axis=1)[np.argmin(self._losses[rows])])
        chance = self._log_chance()
        faults, wider = self._faults(), 1 + self._idle() / PATIENCE

        def merit(points: IntArray, there: FloatArray) -> FloatArray:
            counts, structure = self._counts(there), self._structure(points)
            means, deviation = residual.at(counts, structure)
            means, deviation = means + trend(there), deviation * wider
            each = log_improvement(means.ravel(), np.repeat(deviation, means.shape[1]), best)
            found: FloatArray = np.logaddexp.reduce(each.reshape(means.shape), axis=1)
            found = found + chance(points)
            if faults is not None:
                risk, doubt = faults.at(counts, structure)
                found = found + log_chance_to_fit(risk[:, 0] - 0.5, doubt + FAULT)
            return found

        return merit

    def _idle(self) -> int:
        """Samples since the best became better by more than a trifle."""
        lowest = np.minimum.accumulate(self._losses)
        better = np.flatnonzero(np.concatenate([[True], lowest[1:] < (1 - TRIFLE) * lowest[:-1]]))
        return int(len(lowest) - 1 - better[-1])

    def _faults(self) -> Residual | None:
        """What is known of refusals; None while there is none."""
        if not self._refused.any():
            return None
        _, terms = self._adviser.terms(self._genes)
        seen = np.where(self._refused, 1.0, -1.0)[:, np.newaxis]
        return Residual(self._counts(terms), self._structure(self._genes), seen)

    def _first(self, terms: FloatArray, factor: int) -> FloatArray:
        """The terms with the adviser's own figure of a factor before the others."""
        own = self._own[factor]
        return np.concatenate([terms[:, own : own + 1], terms[:, :own], terms[:, own + 1 :]], axis=1)

    def _doubt(self, terms: FloatArray, figures: FloatArray) -> None:
        """See by leaving samples out whether the adviser is of use."""
        said = np.zeros(len(terms))
        for factor in range(figures.shape[1]):
            own, measured = self._first(terms, factor), figures[:, factor]
            said += np.log(Trend(own, measured).left_out(own, measured))
        measured = figures.prod(axis=1)
        constant = not (np.ptp(said) and np.ptp(measured))
        self.agreement = 0.0 if constant else rank_correlation(said, measured)
        if not self.agreement > self._settings.least_agreement:
            self.useless = True
            warnings.warn(
                f"adviser {self._settings.adviser!r} says little of what is measured: rank correlation "
                f"{self.agreement:.2f} of {len(terms)} samples, each left out in turn; the search goes on as "
                "team",
                UselessAdviser,
                stacklevel=2,
            )

    # What is seen of mappings.

    def _unlike(self, points: IntArray, there: FloatArray) -> BoolArray:
        """Which points are new, and no term of the adviser's is the same as for one that was asked for."""
        asked = np.concatenate([self._genes, self._picked])
        terms = np.concatenate([self._adviser.terms(asked)[1], there])
        _, first, place = np.unique(terms, axis=0, return_index=True, return_inverse=True)
        new: BoolArray = (first[place.ravel()] >= len(asked))[len(asked) :]
        return new & (self._visited.find(points) < 0)

    def _scale(self) -> None:
        drawn = probes(self._space)
        self._names, terms = self._adviser.terms(drawn)
        energy = self._names.index("energy")
        self._own = [energy if name == "energy_nj" else 0 for name in self._factors or ("",)]
        usable = terms[self._adviser.usable(drawn)]
        usable = usable if len(usable) else terms
        self._usual = [Usual(self._first(usable, factor)) for factor in range(len(self._own))]
        logs = np.log2(1 + terms)
        self._mean, spread = logs.mean(axis=0), logs.std(axis=0)
        self._varying = np.flatnonzero(spread > 1e-9)
        self._spread = spread[self._varying]

    def _counts(self, terms: FloatArray) -> FloatArray:
        logs = np.log2(1 + terms) - self._mean
        found: FloatArray = logs[:, self._varying] / self._spread
        return found

    def _allowed(self, points: IntArray) -> BoolArray:
        if self._misfits_pass:
            return np.ones(len(points), np.bool_)
        found = self._adviser.usable(points)
        return found if found.any() else np.ones(len(points), np.bool_)
