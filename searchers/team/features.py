"""A mapping as the numbers that the critic learns from: what it holds where, and how often it comes again."""

from __future__ import annotations

import numpy as np

from dse.space.genes import MAPPED_DIMS
from dse.space.mapping_space import MappingSpace
from dse.support.arrays import IntArray, SingleArray
from searchers.team.feature_kernel import (
    CLUSTERS,
    HELD,
    LEVEL_WIDTH,
    MOVED,
    NESTING,
    RETURNS,
    SPREAD,
    STEPS,
    TENSORS,
    TOGETHER,
    TURNS,
    WIDTH,
    WORKING,
    describe,
)

_PROBES = 1024

_SUMMANDS = [
    level + first + tensor
    for level in (0, LEVEL_WIDTH)
    for first in (HELD, TOGETHER, MOVED)
    for tensor in range(TENSORS)
] + [STEPS]
SUMMANDS = len(_SUMMANDS)
"""Counts that figures may be sums of: elements held and moved, by level and tensor, and a PE's steps."""

_KINDS = (TURNS, WORKING, SPREAD, NESTING, RETURNS, HELD, TOGETHER, MOVED)
"""Where each kind of column of a level begins, but for the first, the tiles."""
_LEVEL_GROUPS = len(_KINDS) + 1


class Features:
    """What gene vectors decode to, as rows of numbers: sizes and counts in octaves (log2), standardised.

    For each level: the tiles; the turns of every loop, in which the units of the level share the parallel
    dim; how many units work and what share of them; how often each tensor (weights, inputs, outputs) comes
    again as the loops turn; the elements of each tensor, and of all, in a unit and in all units that work;
    and the product of the last two, how much of each tensor, and of all, goes by. Then the cluster and the
    steps of a PE. The parallel dims are 0/1 each, and a loop order is a 0/1 for every two dims: which is
    outside. These are counts that follow from the loops; bandwidths, energies and prices are not among them.
    What is the same all over the space is left out. The last SUMMANDS columns are octaves as they are.
    """

    def __init__(self, space: MappingSpace) -> None:
        layer = space.layer
        self._space = space
        self._facts = np.array(
            [
                space.accelerator.num_pes,
                layer.R,
                layer.S,
                layer.type == "DSCONV",
                *(layer.loops[dim] for dim in MAPPED_DIMS),
            ],
            np.int64,
        )
        self._columns = np.arange(WIDTH)
        self._mean, self._deviation = np.zeros(WIDTH), np.ones(WIDTH)
        # A generator of its own, always the same: no draw of the search's.
        probes = self(space.sample(np.random.default_rng(0), _PROBES)).astype(np.float64)
        varying = np.flatnonzero(np.ptp(probes, axis=0) > 0)
        plain = np.zeros(SUMMANDS)
        self._columns = np.concatenate([varying, _SUMMANDS])
        self._mean = np.concatenate([probes[:, varying].mean(axis=0), plain])
        self._deviation = np.concatenate([probes[:, varying].std(axis=0), plain + 1])

    @property
    def groups(self) -> IntArray:
        """Of each column but the summands, a number: nine for the kinds of each level, then one each."""
        columns = self._columns[:-SUMMANDS]
        level, place = np.divmod(columns, LEVEL_WIDTH)
        kinds = np.searchsorted(_KINDS, place, side="right") + _LEVEL_GROUPS * level
        groups: IntArray = np.where(columns < CLUSTERS, kinds, columns - CLUSTERS + 2 * _LEVEL_GROUPS)
        return groups

    @property
    def width(self) -> int:
        """How many there are."""
        return len(self._columns)

    def __call__(self, genes: IntArray) -> SingleArray:
        """The features of the vectors (n, 13): (n, width)."""
        found = np.empty((len(genes), self.width), np.float32)
        rows = self._space.decode(genes).rows
        describe(rows, self._facts, self._columns, self._mean, self._deviation, found)
        return found
