"""A design as the numbers that the critic learns from: for a mapping, what it holds where and how often."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Protocol

import numpy as np

from dse.domains.clustered.structure import mappings_of
from dse.domains.levels.structure import machine_mappings_of
from dse.support.arrays import FloatArray, IntArray, SingleArray
from searchers.common.features import VaryingFeatures, probes
from searchers.team.columns import (
    CLUSTERS,
    HELD,
    LEVEL_WIDTH,
    MOVED,
    NESTING,
    RETURNS,
    SPREAD,
    STEPS,
    TOGETHER,
    TURNS,
    WIDTH,
    WORKING,
)  # fmt: skip
from searchers.team.expectations import ADDENDS, PLAIN_ADDENDS, expected_weights
from searchers.team.feature_kernel import write_features

if TYPE_CHECKING:
    from dse.core.space import Space
    from dse.domains.clustered.structure import MappingStructure
    from dse.domains.levels.structure import HierarchyStructure

_DIMS = ("K", "C", "Y", "X")
_KINDS = (TURNS, WORKING, SPREAD, NESTING, RETURNS, HELD, TOGETHER, MOVED)
"""Where each kind of column of a level begins, but for the first, the tiles."""
_LEVEL_GROUPS = len(_KINDS) + 1
_LOG2_SCALES = -np.concatenate([
    # Outer level: tiles, turns, units at work, parallel dim, order, returns, held, held together, moved.
    [0.75, 1.0, 0.25, 0.0, -1.0, 0.75, 0.75, 1.0, 0.75],
    # Inner level.
    [-0.75, -0.75, 0.25, -0.5, -1.0, -0.5, -0.5, -0.5, -0.25],
    # Cluster, steps.
    [0.25, 0.75],
])  # fmt: skip
"""Half of what was the likeliest, on average, for 36 local searches on the problems of
results/campaigns/devhard.toml."""


class Features(Protocol):
    """What vectors (n, genes) stand for, as rows (n, width) of single precision.

    The last `addends` columns are log2 of counts that figures may be sums of; those before are standardised,
    for the kernel, and of the `groups` given by a number each (width - addends,).
    """

    @property
    def addends(self) -> int: ...
    @property
    def groups(self) -> IntArray: ...
    @property
    def log2_scales(self) -> FloatArray:
        """Each group's length scale at first, in log2 and relative to the common one: (groups,)."""
        ...

    def expected(self, factors: tuple[str, ...]) -> FloatArray | None:
        """The weights of addends, and of one, by which they nearly add up to figures, by each hypothesis:
        (hypotheses, addends + 1, figures).

        Of the objective's factors, then of the needs; None where nothing is known of any.
        """
        ...

    def of(self, space: Space) -> Features | None:
        """The same columns, in the same units, for the designs of another space; None where it has others."""
        ...

    def __call__(self, genes: IntArray, /) -> SingleArray: ...


def features_of(space: Space, informed: bool = True) -> Features:
    """Loop counts where designs are mappings of K, C, Y and X onto one machine, or onto any number of levels;
    else the plain features. `informed` says whether something may be expected of them.
    """
    onto_machine = machine_mappings_of(space)
    if onto_machine is not None:
        return LevelFeatures(space, onto_machine)
    structure = two_level_structure(space)
    return LoopFeatures(space, structure, informed) if structure else PlainFeatures(space)


def two_level_structure(space: Space) -> MappingStructure | None:
    """What mappings of K, C, Y and X onto one machine of two levels are made of; None in another space."""
    structure = mappings_of(space)
    usual = structure is not None and structure.dims == _DIMS and not structure.has_machines
    return structure if usual else None


class PlainFeatures:
    """The features that a space has for surrogates, standardised, each a group of its own; no addends."""

    addends = 0

    def __init__(self, space: Space) -> None:
        self._plain = VaryingFeatures(space)
        drawn = self._plain(probes(space))
        self._mean, self._deviation = drawn.mean(axis=0), drawn.std(axis=0)

    @property
    def groups(self) -> IntArray:
        """Each column is one."""
        return np.arange(len(self._mean))

    @property
    def log2_scales(self) -> FloatArray:
        """Nothing is known of any."""
        return np.zeros(len(self._mean))

    def of(self, space: Space) -> Features | None:
        """Nothing is known of what the columns of other spaces mean."""
        return None

    def __call__(self, genes: IntArray) -> SingleArray:
        """The features of the vectors (n, genes): (n, width)."""
        found: SingleArray = ((self._plain(genes) - self._mean) / self._deviation).astype(np.float32)
        return found

    def expected(self, factors: tuple[str, ...]) -> FloatArray | None:
        """Nothing is known of any."""
        return None


class LevelFeatures(PlainFeatures):
    """The features of mappings onto any number of levels, in groups by kind and level.

    Addends are the words held and moved at every level, by tensor, and the steps of the run. What a word
    costs anywhere is not among them.
    """

    def __init__(self, space: Space, hierarchy: HierarchyStructure) -> None:
        super().__init__(space)
        self._hierarchy = hierarchy
        self.addends = hierarchy.counts(probes(space)).shape[1]
        every = np.array(hierarchy.feature_groups)[self._plain.places]
        self._groups: IntArray = np.unique(every, return_inverse=True)[1].ravel()

    @property
    def groups(self) -> IntArray:
        """Of each column for the kernel: its kind and level."""
        return self._groups

    @property
    def log2_scales(self) -> FloatArray:
        """Nothing is known of any."""
        return np.zeros(int(self._groups.max(initial=-1)) + 1)

    def of(self, space: Space) -> Features | None:
        """Those of another layer on the same machine."""
        onto_machine = machine_mappings_of(space)
        if onto_machine is None or onto_machine.feature_groups != self._hierarchy.feature_groups:
            return None
        other = copy(self)
        other._hierarchy, other._plain = onto_machine, self._plain.of(space)
        return other

    def __call__(self, genes: IntArray) -> SingleArray:
        """The features of the vectors (n, genes), then the addends: (n, width)."""
        counts = self._hierarchy.counts(genes).astype(np.float32)
        found: SingleArray = np.column_stack([super().__call__(genes), counts])
        return found


class LoopFeatures:
    """What the loops of a mapping imply: sizes and counts in log2, standardised.

    For each level: the tiles; the turns of every loop, in which the units of the level share the parallel
    dim; how many units work and what share of them; how often each tensor (weights, inputs, outputs) comes
    again as the loops turn; the elements of each tensor, and of all, in a unit and in all units that work;
    and the product of the last two, how much of each tensor, and of all, is moved. Then the cluster and the
    steps of a PE. The parallel dims are 0/1 each, and a loop order is a 0/1 for every two dims: which is
    outside. These are counts that follow from the loops; bandwidths, energies and prices are not among them.
    What is the same all over the space is left out. Addends are the elements held and moved, by level and
    tensor, and a PE's steps.
    """

    def __init__(self, space: Space, structure: MappingStructure, informed: bool = True) -> None:
        layer = structure.layer
        self._structure, self._informed = structure, informed
        added = ADDENDS if informed else PLAIN_ADDENDS
        self.addends = len(added)
        sizes = [layer.loops[dim] for dim in _DIMS]
        depthwise = layer.type == "DSCONV"
        machine = structure.accelerator
        speeds = machine.simd_lanes, machine.noc_bandwidth, machine.offchip_bandwidth
        filters = layer.R, layer.S, depthwise
        reads = [count for axis in structure.priced.reads for count in (axis.pitch, axis.overlap)]
        self._constants = np.array([machine.num_pes, *filters, *sizes, *speeds, *reads], np.int64)
        self._columns = np.arange(WIDTH)
        self._mean, self._deviation = np.zeros(WIDTH), np.ones(WIDTH)
        drawn = self(probes(space)).astype(np.float64)
        varying = np.flatnonzero(np.ptp(drawn[:, : STEPS + 1], axis=0) > 0)
        plain = np.zeros(self.addends)
        self._columns = np.concatenate([varying, added])
        self._mean = np.concatenate([drawn[:, varying].mean(axis=0), plain])
        self._deviation = np.concatenate([drawn[:, varying].std(axis=0), plain + 1])

    @property
    def groups(self) -> IntArray:
        """Of each column for the kernel: nine kinds for each level, then the cluster and the steps."""
        columns = self._columns[: -self.addends]
        level, place = np.divmod(columns, LEVEL_WIDTH)
        kinds = np.searchsorted(_KINDS, place, side="right") + _LEVEL_GROUPS * level
        groups: IntArray = np.where(columns < CLUSTERS, kinds, columns - CLUSTERS + 2 * _LEVEL_GROUPS)
        return groups

    @property
    def log2_scales(self) -> FloatArray:
        """What has proved likely for each group."""
        return _LOG2_SCALES

    def of(self, space: Space) -> Features | None:
        """Those of mappings of another layer."""
        other = features_of(space, self._informed)
        if isinstance(other, LoopFeatures):
            other._columns, other._mean, other._deviation = self._columns, self._mean, self._deviation
            return other
        return None

    def __call__(self, genes: IntArray) -> SingleArray:
        """The features of the vectors (n, genes): (n, width)."""
        found = np.empty((len(genes), len(self._columns)), np.float32)
        rows = self._structure.decode(genes).rows
        write_features(rows, self._constants, self._columns, self._mean, self._deviation, found)
        return found

    def expected(self, factors: tuple[str, ...]) -> FloatArray | None:
        """What an architect expects before the first sample."""
        return expected_weights(factors, self._structure.layer, self._structure.accelerator)
