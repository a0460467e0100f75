"""The search as ask and tell: local searches, and what they propose."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dse.support.arrays import FloatArray, IntArray
from searchers.bayesian.models import Models
from searchers.common.history import History
from searchers.common.local_search import LocalSearchSamples

if TYPE_CHECKING:
    from dse.core.evaluations import Evaluations
    from dse.core.space import Space
    from searchers.bayesian import Bayesian


_PROGRESS = 0.002
"""Part of the best loss by which a sample must be better to count as an improvement."""
_ELITES, _CENTRES = 10, 5
"""The best of a local search, from which candidates come, and those of them all of whose neighbours are."""
_RANDOMS, _WALKS = 300, 20
"""Random candidates, and random walks from each elite."""
_CLIMBS, _CLIMBERS = 3, 10
"""Times that the neighbours of the best candidates are added, and of how many."""
_SPARE = 50
"""Candidates that a batch chooses from beyond twice its size."""
_NEAR = 0.75
"""Part of the samples to learn from that are those nearest to the best; the others are any."""
_RECALLS = 3
"""Proposals in a row that may be remembered in full before new points are drawn."""
_STRAYS, _FEW = 1024, 64
"""Random points drawn where nothing else is left to propose, and how many of them are asked for at least."""


class LocalSearch:
    """Samples that led to one another, and the `keys` of their designs."""

    def __init__(self) -> None:
        self.samples = LocalSearchSamples(_PROGRESS)
        self.keys: set[bytes] = set()
        self.refit_at = 0.0
        """Samples from which on the hyperparameters are fitted again."""

    def join(self, rows: IntArray, history: History) -> None:
        """Samples of the history are now of this local search."""
        self.keys.update(history.keys(history.genes[rows]))
        self.samples.join(rows, history.losses)

    def elites(self, history: History) -> IntArray:
        """Its best samples, best first, one of each loss: equal ones differ in trifles.

        They are feasible ones; where there are none, those that come nearest to fit in the buffers.
        """
        rows = self.samples.rows
        losses: FloatArray = history.losses[rows]
        if np.isinf(losses).all():
            losses = np.where(history.refused[rows], np.nan, np.maximum(history.needs[rows], 0).sum(axis=1))
        finite = np.isfinite(losses)
        _, first = np.unique(losses[finite], return_index=True)
        elites: IntArray = rows[finite][first[:_ELITES]]
        return elites


class Strategy:
    """The state of one search by `settings`."""

    def __init__(self, settings: Bayesian, space: Space, rng: np.random.Generator) -> None:
        self._settings = settings
        self._space = space
        self._rng = rng
        self._history = History(space, settings.features(space))
        self._models = Models(self._history, int(rng.integers(2**31)), settings.surrogate)
        self._local_search = LocalSearch()

    def ask(self) -> IntArray:
        """The next batch. What is already known joins the local search without being asked for."""
        settings, history = self._settings, self._history
        samples = self._local_search.samples
        if samples.idle >= max(settings.patience, len(samples) / 2):
            self._local_search = LocalSearch()
        complete = history.designs >= self._space.designs
        for _ in range(_RECALLS if not complete else 0):
            missing = settings.n_startup_trials - len(self._local_search.samples)
            size = missing if missing > 0 else self._size
            genes = self._beginning(size) if missing > 0 else self._proposal(size)
            seen = history.find(genes)
            if (seen[:size] < 0).any():
                self._local_search.join(seen[seen >= 0], history)
                return genes[seen < 0]
            # Free to look up: with these the local search knows better what to ask for.
            self._local_search.join(seen[:size], history)
        strays = self._space.sample(self._rng, _STRAYS)
        unseen = strays[history.find(strays) < 0]
        return unseen[: max(_FEW, self._size)] if len(unseen) else strays[:_FEW]

    def tell(self, genes: IntArray, evaluations: Evaluations) -> None:
        """Learn what the batch costs."""
        self._local_search.join(self._history.add(genes, evaluations), self._history)

    @property
    def _size(self) -> int:
        """Of a batch."""
        shares = (
            len(self._local_search.samples) * self._settings.batch_fraction,
            len(self._history) * self._settings.late_batch_fraction,
        )
        return max(1, round(max(shares)))

    def _beginning(self, count: int) -> IntArray:
        """Random points that are likely to be feasible, by what earlier local searches have learned."""
        genes = self._distinct(self._space.sample(self._rng, 20 * count), set(self._local_search.keys))
        log_chance = self._models.log_chance(self._history.describe(genes))
        return genes[np.argsort(log_chance < np.log(0.5), kind="stable")[:count]]

    def _proposal(self, size: int) -> IntArray:
        """The points of greatest expected improvement that the local search does not have, `size` of them
        unseen.

        Those that other local searches have seen come on top; of either there may be fewer.
        """
        settings, history, models, local_search = (
            self._settings,
            self._history,
            self._models,
            self._local_search,
        )
        elites = local_search.elites(history)
        rows = local_search.samples.rows
        refit = len(rows) >= local_search.refit_at
        own = self._relevant(rows, elites)
        if not models.learn(own, self._relevant(np.arange(len(history)), elites), refit):
            return self._distinct(self._space.sample(self._rng, size), set(local_search.keys))
        if refit:
            local_search.refit_at = len(rows) * settings.refit_growth
        # `inf` where nothing is feasible.
        best = float(np.log2(history.losses[rows].min()))
        taken = set(local_search.keys)
        genes = self._distinct(self._candidates(history.genes[elites]), taken)
        predicted = models.predict(history.describe(genes))
        for _ in range(_CLIMBS):
            top = np.argsort(-predicted.merit(best), kind="stable")[:_CLIMBERS]
            higher = self._distinct(self._neighbours(genes[top]), taken)
            genes = np.concatenate([genes, higher])
            predicted = predicted.joined(models.predict(history.describe(higher)))
        top = np.argsort(-predicted.merit(best), kind="stable")[: 2 * size + _SPARE]
        genes, log_chance = genes[top], predicted.log_chance[top]
        unseen = history.find(genes) < 0
        return genes[models.batch(history.describe(genes), log_chance, best, unseen, size)]

    def _candidates(self, elites: IntArray) -> IntArray:
        """Random points, and what is up to three steps from vectors (n, genes), the best first."""
        space, rng = self._space, self._rng
        near = self._neighbours(elites[:_CENTRES])
        twice = space.neighbour(rng, space.neighbour(rng, np.repeat(elites, _WALKS, axis=0)))
        thrice = space.neighbour(rng, twice)
        return np.concatenate([space.sample(rng, _RANDOMS), near, twice, thrice])

    def _neighbours(self, genes: IntArray) -> IntArray:
        """All neighbours of the vectors (n, genes)."""
        near = [block.neighbours(vector) for vector in genes for block in self._space.blocks]
        return np.concatenate([genes[:0], *near])

    def _distinct(self, genes: IntArray, taken: set[bytes]) -> IntArray:
        """One vector for each design that is not `taken`; these are, from now on."""
        chosen = []
        for row, key in enumerate(self._history.keys(genes)):
            if key not in taken:
                taken.add(key)
                chosen.append(row)
        return genes[chosen]

    def _relevant(self, rows: IntArray, elites: IntArray) -> IntArray:
        """The samples to learn from, of `rows`: those nearest to the best of the local search, and some
        others."""
        points = self._settings.max_training_samples
        if not len(elites):
            return self._rng.permutation(rows)[:points]
        features = self._history.features / self._models.lengths
        there, centres = features[rows], features[elites[:_CENTRES]]
        products = there @ centres.T
        squares = np.square(there).sum(axis=1)[:, np.newaxis] - 2 * products + np.square(centres).sum(axis=1)
        near = rows[np.argsort(squares.min(axis=1), kind="stable")]
        count = int(points * _NEAR)
        return np.concatenate([near[:count], self._rng.permutation(near[count:])[: points - count]])
