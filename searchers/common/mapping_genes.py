"""From tiles of any size to genes: which vector's tiles and cluster are nearest."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dse.core.layer import DIMS
from dse.domains.clustered.mapping import CLUSTER, INNER_TILE, OUTER_TILE
from dse.support.arrays import FloatArray, IntArray

if TYPE_CHECKING:
    from dse.core.space import Space
    from dse.domains.clustered.structure import MappingStructure

_WINDOW = 16
"""Values of a tile's gene, to both sides of the one expected, that are looked at where there are many."""


class NearestGenes:
    """Sets tiles and clusters of vectors of a space of mappings, as near in log2 as its genes come."""

    def __init__(self, space: Space, structure: MappingStructure) -> None:
        self._space, self._structure = space, structure
        self._names = [gene.name for gene in space.genes]

    def __call__(
        self, genes: IntArray, outer: FloatArray, inner: FloatArray, cluster: FloatArray
    ) -> IntArray:
        """The vectors (n, genes) with tiles, log2 (n, dims of the structure), and clusters, log2 (n,)."""
        genes = self._nearest(genes, "cluster", CLUSTER, cluster)
        for level, start, tiles in (("outer", OUTER_TILE, outer), ("inner", INNER_TILE, inner)):
            for place, dim in enumerate(self._structure.dims):
                column = start + DIMS.index(dim)
                genes = self._nearest(genes, f"{level}.tile.{dim}", column, tiles[:, place])
        return genes

    def _nearest(self, genes: IntArray, name: str, column: int, wanted: FloatArray) -> IntArray:
        """The vectors with the gene `name` set so that the mapping's `column` is nearest to `wanted` (n,)."""
        if name not in self._names:
            return genes
        place = self._names.index(name)
        size = int(self._space.sizes[place])
        tried = np.tile(np.arange(size), (len(genes), 1))
        if size > 4 * _WINDOW:
            # Sizes rise evenly with the gene, up to what the whole range stands for.
            ends = self._values(genes, place, np.full((len(genes), 1), size - 1), column)
            middle = np.rint(2.0**wanted / 2.0 ** ends[:, 0] * size).astype(np.int64) - 1
            tried = np.clip(middle[:, np.newaxis] + np.arange(-_WINDOW, _WINDOW + 1), 0, size - 1)
        values = self._values(genes, place, tried, column)
        nearest = np.abs(values - wanted[:, np.newaxis]).argmin(axis=1)
        chosen = genes.copy()
        chosen[:, place] = tried[np.arange(len(genes)), nearest]
        return chosen

    def _values(self, genes: IntArray, place: int, tried: IntArray, column: int) -> FloatArray:
        """log2 of a column of the mappings with a gene set to each of the values `tried` (n, m): (n, m)."""
        rows = np.repeat(genes, tried.shape[1], axis=0)
        rows[:, place] = tried.ravel()
        sizes = self._structure.decode(rows).rows[:, column]
        logs: FloatArray = np.log2(sizes.astype(np.float64)).reshape(tried.shape)
        return logs
