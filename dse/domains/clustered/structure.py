"""What the space of mappings of two levels has beyond genes, for the searchers that look at it."""

from __future__ import annotations

from typing import Protocol, cast

from dse.core.layer import Layer
from dse.core.space import Space, Structure
from dse.domains.clustered.accelerator import Accelerator
from dse.domains.clustered.mapping import MappingBatch
from dse.support.arrays import IntArray


class MappingStructure(Structure, Protocol):
    """The mappings behind the vectors, for the searchers that say that they look at them."""

    @property
    def layer(self) -> Layer:
        """The layer that is mapped, lowered."""

    @property
    def priced(self) -> Layer:
        """The same layer, with its strides where the cost model prices them."""

    @property
    def accelerator(self) -> Accelerator:
        """What it is mapped onto; where `has_machines`, all but the figures that genes say."""

    @property
    def has_machines(self) -> bool:
        """Whether genes say onto which hardware a design is mapped: `decode` then gives its machines."""

    @property
    def dims(self) -> tuple[str, ...]:
        """The dims that are tiled and ordered and may be parallel; the others stay whole and innermost."""

    def machine(self, genes: IntArray, /) -> Accelerator:
        """The accelerator that the design of one vector (genes,) is mapped onto."""

    @property
    def nearest(self) -> Accelerator:
        """The accelerator, with the figures that genes say at the choices nearest to its own."""

    @property
    def tiles(self) -> str:
        """`factors` if a tile divides what it is cut from, `any` if it is no larger."""

    def decode(self, genes: IntArray, /) -> MappingBatch:
        """The mappings of the vectors (n, genes). ValueError if one is not in the space."""

    def encode(self, batch: MappingBatch, /) -> IntArray:
        """The canonical vectors of the mappings: (n, genes). InputError for one not in the space."""

    def refit(self, batch: MappingBatch, /) -> MappingBatch:
        """The mappings with the cluster sizes that follow from their tiles, where no gene says them."""


def mappings_of(space: Space) -> MappingStructure | None:
    """The mappings behind the vectors of a space; None if its designs are others."""
    found = space.structure
    return cast("MappingStructure", found) if found is not None and found.domain == "clustered" else None
