"""What a critic learns from: which samples, and their figures."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dse.support.arrays import FloatArray, IntArray, SingleArray
from searchers.common.history import History


@dataclass(frozen=True)
class TrainingSet:
    """What a critic learns from: n points.

    Their `features` (n, width), their `figures` (n, m) in log2 (see `training_figures`), and their `constant`
    term, however their loops are (n,), relative to the designs of the search: 1 for these, and for those of
    another layer its MACs over theirs.
    """

    features: SingleArray
    figures: FloatArray
    constant: FloatArray

    def joined(self, other: TrainingSet) -> TrainingSet:
        """These points and others."""
        pairs = ((getattr(self, name), getattr(other, name)) for name in ("features", "figures", "constant"))
        return TrainingSet(*map(np.concatenate, pairs))


_BEST = 0.75
"""Of the samples that a critic learns from, how many are the best of its local search, where it has more."""


def ranked_rows(history: History, rows: IntArray) -> IntArray:
    """The rows of the history, (n,), ordered by score, the best first."""
    best_first: IntArray = rows[np.argsort(history.scores[rows], kind="stable")]
    return best_first


def training_rows(best_first: IntArray, most: int, rng: np.random.Generator) -> IntArray:
    """All rows of a local search, or so many: the best of them and some others."""
    if len(best_first) <= most:
        return best_first
    kept = int(most * _BEST)
    return np.concatenate([best_first[:kept], rng.permutation(best_first[kept:])[: most - kept]])


def training_set(history: History, rows: IntArray) -> TrainingSet:
    """What those samples teach."""
    return TrainingSet(history.features[rows], training_figures(history, rows), np.ones(len(rows)))


def training_figures(history: History, rows: IntArray) -> FloatArray:
    """The figures that a critic is to predict, (n, factors + buffers + 1), in log2.

    Those of the objective, then the needs over the capacities, then whether a point is refused: half or minus
    half. Refused points are taken for as costly as any, so that nobody is drawn to what has no figures.
    """
    refused = history.refused[rows]
    figures, needs = history.figures[rows], history.needs[rows]
    if refused.any():
        told = ~refused
        figures[refused] = figures[told].max(axis=0) if told.any() else 0.0
        needs[refused] = needs[told].mean(axis=0) if told.any() else 0.0
    return np.column_stack([figures, needs, np.where(refused, 0.5, -0.5)])


def diverse_rows(history: History, kinds: IntArray, count: int) -> IntArray:
    """So many rows of the history, the best of each kind before the second best; kinds (n,) are numbers."""
    best_first = np.argsort(history.scores, kind="stable")
    order = np.argsort(kinds[best_first], kind="stable")
    sorted_kinds = kinds[best_first][order]
    firsts = np.flatnonzero(np.diff(sorted_kinds, prepend=-1))
    places = np.empty(len(order), np.int64)
    places[order] = np.arange(len(order)) - np.repeat(firsts, np.diff(firsts, append=len(order)))
    return best_first[np.argsort(places, kind="stable")[:count]]
