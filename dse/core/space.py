"""What a search sees of a space: integer vectors of genes, their moves, and what a surrogate may look at.

Searchers depend on `Space` alone, so that they serve any space: one of mappings, of hardware, of anything
that has loss and can be written as integers. What mappings alone have is declared apart, as MappingStructure.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np

from dse.support.arrays import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from dse.core.layer import Layer
    from dse.domains.clustered.accelerator import Accelerator
    from dse.domains.clustered.mapping import MappingBatch
    from dse.domains.levels.machine import Machine
    from dse.domains.levels.space.batch import HierarchyBatch


Kind = Literal["ordinal", "categorical", "permutation"]


@dataclass(frozen=True)
class Gene:
    """One position of a gene vector: an integer of 0 to `size - 1`.

    `kind` says what the integers mean: `ordinal` ascending sizes; `categorical` names without an order;
    `permutation` the orders of k things, in the order of itertools.permutations, so that `size` is k!, or 1
    where the order is fixed. `level` (outer, inner) and `dim` say where the gene belongs, if anywhere.
    """

    name: str
    size: int
    kind: Kind
    level: str | None = None
    dim: str | None = None


@dataclass(frozen=True)
class Block:
    """Genes that act together, and their moves. `genes` are positions in a gene vector.

    Which moves there are is the space's to say; the blocks share out the genes. `index` is the place among
    the blocks of the space.
    """

    name: str
    genes: tuple[int, ...]
    index: int
    _space: Space = field(repr=False)

    def neighbours(self, genes: IntArray) -> IntArray:
        """All distinct designs one move from the vector (genes,): an array (m, genes), m = 0 if none.

        They lie in the space and differ from the start as designs. Genes outside the block stay as they are;
        those of the block are canonical. ValueError if `genes` is not a vector of the space.
        """
        return self._space.neighbours(genes, self)


class Space(Protocol):
    """Designs written as vectors of integers. Several vectors may stand for one design."""

    @property
    def genes(self) -> tuple[Gene, ...]:
        """The genes, in the order of a vector."""

    @property
    def sizes(self) -> IntArray:
        """How many values each gene has: (genes,), read-only."""

    @property
    def blocks(self) -> tuple[Block, ...]:
        """The genes grouped by meaning, with their moves; each gene is in one block."""

    @property
    def vectors(self) -> int:
        """How many gene vectors there are, exactly."""

    @property
    def designs(self) -> int:
        """How many distinct designs the vectors stand for, exactly."""

    @property
    def identity(self) -> dict[str, Any]:
        """All that defines the space, as plain JSON data."""

    def sample(self, rng: np.random.Generator, n: int, /) -> IntArray:
        """`n` gene vectors drawn independently: (n, genes).

        Uniformly, unless a gene's values are sizes that reach over orders of magnitude.
        """

    def contains(self, genes: IntArray, /) -> BoolArray:
        """Which of the vectors (n, genes) lie in the space: (n,)."""

    def canonical(self, genes: IntArray, /) -> IntArray:
        """The smallest vectors that stand for the same designs: (n, genes).

        Two vectors stand for one design if and only if their canonical vectors are equal. Setting a block of
        a canonical vector to canonical values leaves it canonical.
        """

    def neighbour(self, rng: np.random.Generator, genes: IntArray, /) -> IntArray:
        """One neighbour of each vector (n, genes), drawn uniformly from those of all blocks: (n, genes).

        A vector without neighbours (in a space of one design) is its own.
        """

    def neighbours(self, genes: IntArray, block: Block, /) -> IntArray:
        """All neighbours of one vector (genes,) by the moves of a block, as `Block.neighbours` says."""

    @property
    def feature_names(self) -> tuple[str, ...]:
        """What each feature is."""

    def features(self, genes: IntArray, /) -> FloatArray:
        """The designs of the vectors (n, genes) as numbers between which distances mean something.

        An array (n, features). Sizes are log2, choices 0/1: in every feature a difference of 1 is about as
        much. Vectors of one design have the same features.
        """

    @property
    def structure(self) -> MappingStructure | None:
        """What the designs are beyond their genes, if they are mappings; None of any other space."""

    @property
    def hierarchy(self) -> HierarchyStructure | None:
        """Likewise, if they are mappings onto a machine of any number of levels."""


class MappingStructure(Protocol):
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


class HierarchyStructure(Protocol):
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
