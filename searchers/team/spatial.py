"""Which spatial mapping to search next: the parallel dims, or those and the cluster size."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dse.domains.clustered.mapping import CLUSTER
from dse.domains.clustered.structure import mappings_of
from dse.support import numerics
from dse.support.arrays import FloatArray, IntArray
from searchers.common.acquisition import log_improvement
from searchers.common.scores import BEYOND_ANY_LOSS

if TYPE_CHECKING:
    from dse.core.space import Space
    from dse.domains.clustered.structure import MappingStructure
    from searchers.common.history import History


_GENES = ("outer.parallel", "inner.parallel", "cluster")
_KNOWN = 6
"""Samples after which something is known of a spatial mapping."""
_LEAST_KNOWN = 3
"""Spatial mappings of which something is known, below which the next is any."""
_WEIGHED = 1024
"""Spatial mappings weighed at a time, at most."""
_WORST = 3.0
"""Of a spatial mapping, log2 of its best loss over the best of all, at most, or if nothing fits."""
_NOISE = 0.1
"""The variance of what a restricted search ends with: it may end too early."""
_VARIANCE = 2.0
"""That of the kernel."""


def spatial_genes(space: Space) -> tuple[int, ...]:
    """Where in a vector the genes of the spatial mapping are; none where designs are not such mappings."""
    names = [gene.name for gene in space.genes]
    if mappings_of(space) is None or not set(_GENES) <= set(names):
        return ()
    return tuple(map(names.index, _GENES))


class SpatialMappings:
    """Counts with which spatial mappings searches have begun, and predicts how good others may become.

    What is known of a spatial mapping is its best sample. Around these is a Gaussian process whose kernel
    adds up what two of them have in common: the outer dim, the inner dim, nearly the cluster size, two or all
    of them. Its parts were chosen on problems of results/campaigns/devhard.toml.
    """

    def __init__(self, space: Space, structure: MappingStructure) -> None:
        """Of a space that has `spatial_genes`."""
        self.genes = spatial_genes(space)
        """Where in a vector the spatial mapping is: the two parallel dims and the cluster size."""
        self.parallel_genes = self.genes[:-1]
        self._sizes = space.sizes[list(self.genes)]
        self._parallel_uses = np.zeros(self._sizes[:-1], np.int64)
        self._uses = np.zeros(self._sizes, np.int64)
        vectors = np.zeros((self._sizes[-1], len(space.sizes)), np.int64)
        vectors[:, self.genes[-1]] = np.arange(len(vectors))
        self._log2_clusters = numerics.log2(structure.decode(vectors).rows[:, CLUSTER])

    def choose_parallel_dims(self, rng: np.random.Generator) -> IntArray:
        """Begin with parallel dims (2,) with which the fewest local searches have begun."""
        least = np.argwhere(self._parallel_uses == self._parallel_uses.min())
        pair: IntArray = least[int(rng.integers(len(least)))]
        self._parallel_uses[tuple(pair)] += 1
        return pair

    def choose(self, rng: np.random.Generator, history: History | None) -> IntArray:
        """Begin with the most promising spatial mapping (3,) of those with which the fewest searches have.

        That is the one of the greatest expected improvement upon the best sample of all. Without a history,
        any.
        """
        least = rng.permutation(np.argwhere(self._uses == self._uses.min()))[:_WEIGHED]
        chosen: IntArray = least[0]
        if history is not None:
            known, losses = self._known(history)
            if len(known) >= _LEAST_KNOWN:
                chosen = least[int(np.argmax(self._promise(least, known, losses)))]
        self._uses[tuple(chosen)] += 1
        return chosen

    def numbers(self, genes: IntArray) -> IntArray:
        """A number for the spatial mapping of each vector: (n, genes) to (n,)."""
        return np.asarray(np.ravel_multi_index(tuple(genes[:, self.genes].T), self._sizes))

    def _known(self, history: History) -> tuple[IntArray, FloatArray]:
        """Spatial mappings (n, 3) that are known, and log2 of their best losses over the best of all."""
        found, which, counts = np.unique(self.numbers(history.genes), return_inverse=True, return_counts=True)
        best = np.full(len(found), np.inf)
        np.minimum.at(best, which, history.scores)
        losses = np.full(len(found), _WORST)
        fits = best < BEYOND_ANY_LOSS
        if fits.any():
            losses[fits] = np.minimum(numerics.log2(best[fits] / best.min()), _WORST)
        known = counts >= _KNOWN
        return np.stack(np.unravel_index(found[known], self._sizes), axis=1), losses[known]

    def _promise(self, others: IntArray, known: IntArray, losses: FloatArray) -> FloatArray:
        """The log of the improvement that is expected of other spatial mappings (m, 3): (m,)."""
        targets = (losses - losses.mean()) / (losses.std() + 1e-6)
        kernel = self._kernel(known, known) + _NOISE * np.eye(len(known))
        shared = self._kernel(others, known)
        solved = numerics.solve(numerics.cholesky(kernel), np.column_stack([targets, shared.T]))
        variance = np.maximum(_VARIANCE - (shared * solved[:, 1:].T).sum(axis=1), 1e-6)
        return log_improvement(numerics.matmul(shared, solved[:, 0]), np.sqrt(variance), float(targets.min()))

    def _kernel(self, ones: IntArray, others: IntArray) -> FloatArray:
        """Between spatial mappings (n, 3) and others (m, 3): (n, m)."""
        outer, inner = (ones[:, np.newaxis, level] == others[:, level] for level in (0, 1))
        near = numerics.exp(-np.abs(self._log2_clusters[ones[:, -1:]] - self._log2_clusters[others[:, -1]]))
        either = outer + inner.astype(np.float64)
        kernel: FloatArray = (
            0.3 + 0.15 * near + either * (0.15 + 0.2 * near) + outer * inner * (0.3 + 0.6 * near)
        )
        return kernel
