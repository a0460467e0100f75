"""The buffers that a mapping needs under MAESTRO, tensor by tensor.

MAESTRO sizes both buffers by the first step of the run and doubles every figure, so that the next step's
data can arrive meanwhile. L1 holds a PE's inner tile, and charges the output tile with the input's halo. L2
holds what the first step brings to all clusters together and takes from them; data that several clusters
share is there once. Where fewer clusters than there are share out output channels, the last one's outputs
are left out, as MAESTRO leaves them out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dse.core.layer import COUPLED, DIMS, Layer
from dse.domains.clustered.mapping import CLUSTER, INNER_TILE, OUTER_PARALLEL, OUTER_TILE, MappingBatch
from dse.support.arrays import IntArray

K, C, Y, X, R, S = range(len(DIMS))
_FILTER = {Y: R, X: S}


@dataclass(frozen=True)
class Buffers:
    """Needed elements of n mappings, double buffering included: arrays (n, 3), a column for each of TENSORS.

    `l1` is one PE's buffer, `l2` the shared one.
    """

    l1: IntArray
    l2: IntArray


def needed_buffers(layer: Layer, num_pes: int, mappings: MappingBatch) -> Buffers:
    """What `mappings` of `layer.lowered()` need: the `l1_size` and `l2_size` of MAESTRO, split by tensor.

    Exact for mappings with tiles of at least 1 and clusters within the array, whose first step does work:
    all those with perfect-factor tiles. For others MAESTRO's figures follow from its edge rules.
    """
    rows = mappings.rows
    inputs, weights, outputs = ([DIMS.index(dim) for dim in dims] for dims in COUPLED[layer.type])
    inner = _with_halo(rows[:, INNER_TILE : INNER_TILE + 6])
    l1 = [inner[:, dims].prod(axis=1) for dims in (inputs, weights, outputs)]
    first = _FirstStep(layer, num_pes, rows)
    l2 = [first.inputs(inputs), first.inputs(weights), first.outputs(outputs)]
    return Buffers(2 * np.stack(l1, axis=1), 2 * np.stack(l2, axis=1))


class _FirstStep:
    """The first step of the outer level: tile sizes at its edges, and who works."""

    def __init__(self, layer: Layer, num_pes: int, rows: IntArray) -> None:
        lowered = layer.lowered()
        self.total = np.array([getattr(lowered, dim) for dim in DIMS], dtype=np.int64)
        self.offset = np.maximum(rows[:, OUTER_TILE : OUTER_TILE + 6], 1)
        self.whole = _with_halo(self.offset)
        parallel = rows[:, OUTER_PARALLEL]
        self.spatial = np.where((parallel == K) & (layer.type == "DSCONV"), C, parallel)
        self._edges()
        self._units(num_pes // np.maximum(rows[:, CLUSTER], 1))

    def _edges(self) -> None:
        """What is left for the last tile along every dim, and how much of it is new."""
        steps = np.maximum((self.total - self.whole) // self.offset, 0)
        left = self.total - (steps + 1) * self.offset
        # A tile beyond the dim has all of it.
        left = np.where(left < 0, self.total, left)
        uneven = (steps * self.offset + self.whole < self.total) | (self.whole > self.total)
        self.edge = np.where(uneven, left, self.whole)
        self.edge_new = np.maximum(self.offset - (self.whole - left), 0)

    def _units(self, clusters: IntArray) -> None:
        """Clusters at work, and whether they are fewer than there are."""
        pick = np.arange(len(self.spatial)), self.spatial
        total, whole, offset = self.total[self.spatial], self.whole[pick], self.offset[pick]
        self.clusters = clusters
        self.short = total < whole + offset * (clusters - 1)
        units = np.maximum(total - whole, 0) // offset + 1
        units += offset * (units - 1) + whole < total
        self.units = np.where(total <= whole, 1, units)

    def inputs(self, dims: list[int]) -> IntArray:
        """Elements of an input tensor that enter the array."""
        return self._across(dims, self.whole, self.edge, self.whole, self.edge)

    def outputs(self, dims: list[int]) -> IntArray:
        """Outputs that leave the array; Y and X count outputs."""
        whole, edge, edge_new = self.whole.copy(), self.edge.copy(), self.edge_new.copy()
        for dim, window in _FILTER.items():
            whole[:, dim] -= self.whole[:, window] - 1
            edge[:, dim] -= self.edge[:, window] - 1
            edge_new[:, dim] = np.minimum(self.offset[:, dim], edge[:, dim])
        new = np.minimum(self.offset, self.whole)
        # Nothing new counts as 1 in MAESTRO's product.
        return self._across(dims, whole, edge, np.where(new == 0, 1, new), edge_new)

    def _across(
        self, dims: list[int], whole: IntArray, edge: IntArray, new: IntArray, edge_new: IntArray
    ) -> IntArray:
        """The product over `dims`, with the parallel dim's tiles of all clusters together."""
        volume = np.ones(len(self.spatial), dtype=np.int64)
        for dim in dims:
            # One tile of a temporal loop; of the parallel one those of all clusters or of the few at work.
            one = np.where(self.total[dim] < self.whole[:, dim], edge[:, dim], whole[:, dim])
            full = whole[:, dim] + (self.clusters - 1) * new[:, dim]
            several = whole[:, dim] + (self.units - 2) * new[:, dim] + edge_new[:, dim]
            few = np.where(self.units == 1, edge[:, dim], several)
            volume *= np.where(self.spatial == dim, np.where(self.short, few, full), one)
        return volume


def _with_halo(tiles: IntArray) -> IntArray:
    """Tiles with Y and X in input rows and columns instead of outputs."""
    sizes = tiles.copy()
    for dim, window in _FILTER.items():
        sizes[:, dim] += tiles[:, window] - 1
    return sizes
