"""Which arrangement of the PEs to try next: the parallel dims, or those and the cluster size."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dse.space.genes import GENE_NAMES, LEVELS
from dse.spec.mapping import CLUSTER
from dse.support.arrays import FloatArray, IntArray
from searchers.common.improvement import log_improvement
from searchers.common.points import BEYOND_ANY_LOSS

if TYPE_CHECKING:
    from dse.space.mapping_space import MappingSpace
    from searchers.team.history import History


PARALLEL = tuple(GENE_NAMES.index(f"{level}.parallel") for level in LEVELS)
ARRANGEMENT = (*PARALLEL, GENE_NAMES.index("cluster"))
"""The genes that say how the PEs are arranged."""

_KNOWN = 6
"""Samples after which something is known of an arrangement."""
_LEAST_KNOWN = 3
"""Arrangements of which something is known, below which the next is any."""
_WEIGHED = 1024
"""Arrangements weighed at a time, at most."""
_WORST = 3.0
"""Octaves above the best that an arrangement counts for at most, or if nothing fits."""
_NOISE = 0.1
"""The variance of what a survey ends with: it may end too early."""
_VARIANCE = 2.0
"""That of the kernel."""


class Arrangements:
    """Remembers with which arrangements descents have begun, and foretells how good others may become.

    What is known of an arrangement is its best sample. Around these is a Gaussian process whose kernel adds
    up what two arrangements have in common: the outer dim, the inner dim, nearly the cluster size, two or all
    of them. Its parts were chosen on problems of results/campaigns/devhard.toml.
    """

    def __init__(self, space: MappingSpace) -> None:
        self._sizes = space.sizes[list(ARRANGEMENT)]
        self._begun_pairs = np.zeros(self._sizes[:-1], np.int64)
        self._begun = np.zeros(self._sizes, np.int64)
        vectors = np.zeros((self._sizes[-1], len(space.sizes)), np.int64)
        vectors[:, ARRANGEMENT[-1]] = np.arange(len(vectors))
        self._octaves = np.log2(space.decode(vectors).rows[:, CLUSTER])

    def next_pair(self, rng: np.random.Generator) -> IntArray:
        """Parallel dims (2,) with which the fewest descents have begun."""
        least = np.argwhere(self._begun_pairs == self._begun_pairs.min())
        pair: IntArray = least[int(rng.integers(len(least)))]
        self._begun_pairs[tuple(pair)] += 1
        return pair

    def next(self, rng: np.random.Generator, history: History | None) -> IntArray:
        """Of the arrangements with which the fewest surveys have begun that of the greatest promise: (3,).

        That is, of the greatest expected improvement of the best sample of all. Without a history, any.
        """
        least = rng.permutation(np.argwhere(self._begun == self._begun.min()))[:_WEIGHED]
        arrangement: IntArray = least[0]
        if history is not None:
            known, octaves = self._known(history)
            if len(known) >= _LEAST_KNOWN:
                arrangement = least[int(np.argmax(self._promise(least, known, octaves)))]
        self._begun[tuple(arrangement)] += 1
        return arrangement

    def _known(self, history: History) -> tuple[IntArray, FloatArray]:
        """Arrangements (n, 3) that have been tried, and the octaves of their best samples above the best."""
        numbers = np.ravel_multi_index(tuple(history.genes[:, ARRANGEMENT].T), self._sizes)
        found, which, counts = np.unique(numbers, return_inverse=True, return_counts=True)
        best = np.full(len(found), np.inf)
        np.minimum.at(best, which, history.scores)
        octaves = np.full(len(found), _WORST)
        fits = best < BEYOND_ANY_LOSS
        if fits.any():
            octaves[fits] = np.minimum(np.log2(best[fits] / best.min()), _WORST)
        known = counts >= _KNOWN
        return np.stack(np.unravel_index(found[known], self._sizes), axis=1), octaves[known]

    def _promise(self, others: IntArray, known: IntArray, octaves: FloatArray) -> FloatArray:
        """The log of the improvement that is expected of other arrangements (m, 3): (m,)."""
        targets = (octaves - octaves.mean()) / (octaves.std() + 1e-6)
        kernel = self._kernel(known, known) + _NOISE * np.eye(len(known))
        shared = self._kernel(others, known)
        solved = np.linalg.solve(kernel, np.column_stack([targets, shared.T]))
        variance = np.maximum(_VARIANCE - (shared * solved[:, 1:].T).sum(axis=1), 1e-6)
        return log_improvement(shared @ solved[:, 0], np.sqrt(variance), float(targets.min()))

    def _kernel(self, ones: IntArray, others: IntArray) -> FloatArray:
        """Between arrangements (n, 3) and others (m, 3): (n, m)."""
        outer, inner = (ones[:, np.newaxis, level] == others[:, level] for level in (0, 1))
        near = np.exp(-np.abs(self._octaves[ones[:, -1:]] - self._octaves[others[:, -1]]))
        either = outer + inner.astype(np.float64)
        kernel: FloatArray = (
            0.3 + 0.15 * near + either * (0.15 + 0.2 * near) + outer * inner * (0.3 + 0.6 * near)
        )
        return kernel
