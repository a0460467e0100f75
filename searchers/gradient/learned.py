"""The search by a surrogate: learn from the samples, descend, round, evaluate what looks best."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dse.support.arrays import IntArray
from searchers.common.features import VaryingFeatures, probes
from searchers.common.history import History, objective_factors
from searchers.gradient.offline import taught_for
from searchers.gradient.relaxed import Relaxed
from searchers.gradient.surrogate import Scale, Surrogate

if TYPE_CHECKING:
    from dse.search.evaluator import Evaluator
    from searchers.gradient import Gradient

_EXPLORED = 0.25
"""The share of a batch that is one move from the best points, whatever the surrogate says."""
_FRESH = 50
"""A batch is at least one in so many samples: it bounds the time of a large budget."""
_FIRST = 10
"""How many times as many mini-batches are learned from at first."""


def search_learned(settings: Gradient, evaluate: Evaluator, rng: np.random.Generator) -> None:
    """Search until the budget is spent."""
    search = _Search(settings, evaluate, rng)
    search.begin()
    while True:
        search.round()


class _Search:
    """The state of one search."""

    def __init__(self, settings: Gradient, evaluate: Evaluator, rng: np.random.Generator) -> None:
        self._settings, self._evaluate, self._rng = settings, evaluate, rng
        space = evaluate.space
        self._space = space
        self._taught = taught_for(space, evaluate.objective) if settings.offline else None
        self._describe = self._taught.describe if self._taught else VaryingFeatures(space)
        factors = objective_factors(space, evaluate.objective)
        self._history = History(space, self._describe, factors)
        self._surrogate: Surrogate | None = self._taught.surrogate(rng) if self._taught else None

    def begin(self) -> None:
        """Draw the points that are learned from first."""
        known = self._evaluate.known
        if len(known.genes):
            self._history.add(known.genes, known.evaluations)
        if self._surrogate is None:
            self._draw(self._space.sample(self._rng, self._settings.n_startup_trials))
        self._learn(self._settings.gradient_steps * _FIRST)

    def round(self) -> None:
        """Descend from the best points and from random ones, evaluate, and learn."""
        count = max(self._settings.batch_size, len(self._history) // _FRESH)
        candidates = self._candidates()
        near = round(_EXPLORED * count) if len(self._history) else 0
        chosen = candidates[: count - near]
        best = self._best(max(near, 1))
        around = self._space.neighbour(self._rng, best[self._rng.integers(len(best), size=near)])
        points = np.concatenate([chosen, self._new(around)])
        self._draw(points if len(points) else self._space.sample(self._rng, count))
        self._learn(self._settings.gradient_steps)

    def _candidates(self) -> IntArray:
        """Designs that were not evaluated, those that the surrogate takes for the best first."""
        surrogate = self._surrogate
        random = self._space.sample(self._rng, self._settings.n_descents)
        if surrogate is None:
            return self._new(random)
        half = self._best(self._settings.n_descents // 2)
        starts = np.concatenate([half, random[len(half) :]])
        relaxed = Relaxed(self._space, self._rng)
        passed, merit = relaxed.descend(
            starts, self._describe, surrogate.slopes, self._settings.descent_steps
        )
        return self._new(passed[np.argsort(merit, kind="stable")])

    def _best(self, count: int) -> IntArray:
        """The best points so far, or random ones."""
        if not len(self._history):
            return self._space.sample(self._rng, count)
        rows = np.argsort(self._history.scores, kind="stable")[:count]
        return self._history.genes[rows]

    def _new(self, genes: IntArray) -> IntArray:
        """The rows that are designs not evaluated yet, each once."""
        keys = self._history.keys(genes)
        first = dict(zip(reversed(keys), reversed(range(len(keys))), strict=True))
        rows = np.sort(np.fromiter(first.values(), np.int64, len(first)))
        return genes[rows[self._history.find(genes[rows]) < 0]]

    def _draw(self, points: IntArray) -> None:
        self._history.add(points, self._evaluate(points))

    def _learn(self, batches: int) -> None:
        history = self._history
        if not history.features.size or history.refused.all():
            # In a space of one design, no feature varies.
            return
        targets = np.concatenate([history.figures, history.needs], axis=1)
        if self._taught:
            targets = targets - self._taught.offsets
        if self._surrogate is None:
            whole = targets[~history.refused]
            inputs = Scale.of(self._describe(probes(self._space)))
            self._surrogate = Surrogate(
                inputs, Scale.of(whole), history.factors, self._settings.hidden, self._rng
            )
        self._surrogate.learn(history.features, targets, batches)
