"""What surrogates look at: the features of a space that say something."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING

import numpy as np

from dse.support import numerics
from dse.support.arrays import FloatArray, IntArray

if TYPE_CHECKING:
    from dse.core.space import Space
    from dse.domains.clustered.structure import MappingStructure

_PROBES = 1024


def probes(space: Space) -> IntArray:
    """Random vectors (n, genes) by which features are chosen and scaled: for a space always the same."""
    # None is drawn from a search's own generator.
    return space.sample(np.random.default_rng(0), _PROBES)


def layer_and_accelerator(structure: MappingStructure) -> FloatArray:
    """A layer and an accelerator as numbers: log2 of their figures, and whether it is depthwise."""
    layer, machine = structure.layer, structure.accelerator
    sizes = (machine.num_pes, machine.l1_size, machine.l2_size)
    figures = [*layer.loops.values(), *sizes, machine.noc_bandwidth, machine.offchip_bandwidth]
    return np.append(numerics.log2(np.array(figures, np.float64)), layer.type == "DSCONV")


class VaryingFeatures:
    """The features of a space but for those that are the same everywhere."""

    def __init__(self, space: Space) -> None:
        self._space = space
        self._varying = np.flatnonzero(np.ptp(space.features(probes(space)), axis=0))

    def of(self, space: Space) -> VaryingFeatures:
        """The same features of another space that has as many."""
        other = copy(self)
        other._space = space
        return other

    @property
    def places(self) -> IntArray:
        """Where among the space's features those that vary are: (width,)."""
        return self._varying

    def __call__(self, genes: IntArray) -> FloatArray:
        """The features of the vectors (n, genes): (n, width)."""
        return self._space.features(genes)[:, self._varying]
