"""What the space of mappings onto machines of levels has beyond genes, for the searchers that look at it."""

from __future__ import annotations

from typing import Protocol, cast

from dse.core.layer import Layer
from dse.core.space import Space, Structure
from dse.domains.levels.machine import Machine
from dse.domains.levels.space.batch import HierarchyBatch
from dse.support.arrays import FloatArray, IntArray


class HierarchyStructure(Structure, Protocol):
    """The mappings onto any number of levels behind the vectors, for the searchers that look at them."""

    @property
    def layer(self) -> Layer:
        """The layer that is mapped."""

    @property
    def machine(self) -> Machine:
        """What it is mapped onto."""

    def decode(self, genes: IntArray, /) -> HierarchyBatch:
        """The mappings of the vectors (n, genes). ValueError if one is not in the space."""

    @property
    def feature_groups(self) -> tuple[int, ...]:
        """A number for each of the space's features, the same for those of one kind and level."""

    def counts(self, genes: IntArray, /) -> FloatArray:
        """log2 of words held and moved at every level, and of steps: (n, counts).

        Figures of a mapping are near sums of them. What a word or a step costs is not among them.
        """

    def keep_inside(self, genes: IntArray, before: IntArray, changed: IntArray, /) -> IntArray:
        """The vectors (n, genes), the tiles inside of what has changed as they were where that is possible.

        `before` are the vectors before the gene `changed` (n,) of each took another value.
        """


def machine_mappings_of(space: Space) -> HierarchyStructure | None:
    """The mappings onto a machine behind the vectors of a space; None if its designs are others."""
    found = space.structure
    return cast("HierarchyStructure", found) if found is not None and found.domain == "levels" else None
