"""What a search sees of a space: integer vectors of genes, their moves, and what a surrogate may look at.

Searchers depend on `Space` alone, so that they serve any space: one of mappings, of hardware, of anything
that has loss and can be written as integers. What only some designs have is in their `structure`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, Protocol

import numpy as np

from dse.support.arrays import BoolArray, FloatArray, IntArray, plain_array

Kind = Literal["ordinal", "categorical", "permutation"]


@dataclass(frozen=True)
class Gene:
    """One position of a gene vector: an integer of 0 to `size - 1`.

    `kind` says what the integers mean: `ordinal` ascending sizes; `categorical` names without an order;
    `permutation` the orders of k things, in the order of itertools.permutations, so that `size` is k!, or
    less where only some are allowed. `level` (outer, inner) and `dim` say where it belongs, if anywhere.
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
    def structure(self) -> Structure | None:
        """What the designs are beyond their genes, for the searchers that look at it; None if nothing."""


class GeneVectors(ABC):
    """What follows from a space's genes alone, the same for all kinds of designs."""

    @property
    @abstractmethod
    def genes(self) -> tuple[Gene, ...]:
        """See Space."""

    @property
    @abstractmethod
    def mappings(self) -> int:
        """How many distinct designs there are."""

    @cached_property
    def sizes(self) -> IntArray:
        """How many values each gene has: (genes,), read-only."""
        sizes = np.array([gene.size for gene in self.genes], dtype=np.int64)
        sizes.flags.writeable = False
        return sizes

    @property
    def vectors(self) -> int:
        """How many gene vectors there are, exactly."""
        return math.prod(gene.size for gene in self.genes)

    @property
    def designs(self) -> int:
        """The `mappings`, as spaces of other designs say it too."""
        return self.mappings

    @property
    def estimates(self) -> Mapping[str, int]:
        """None were made."""
        return {}

    def uniform(self, rng: np.random.Generator, n: int) -> IntArray:
        """`n` vectors (n, genes), each gene drawn uniformly."""
        return rng.integers(0, self.sizes, size=(n, len(self.sizes)), dtype=np.int64)

    def contains(self, genes: IntArray, /) -> BoolArray:
        """Which of the vectors (n, genes) lie in the space: (n,)."""
        vectors = self.as_vectors(genes)
        inside: BoolArray = np.logical_and.reduce((vectors >= 0) & (vectors < self.sizes), axis=1)
        return inside

    def as_vectors(self, genes: Any) -> IntArray:
        """Gene vectors (n, genes) of any integer type as kernels take them; ValueError for others."""
        vectors, count = np.asarray(genes), len(self.sizes)
        if vectors.ndim != 2 or vectors.shape[1] != count or vectors.dtype.kind not in "iu":
            raise ValueError(
                f"gene vectors must be integers of shape (n, {count}), got {vectors.dtype} {vectors.shape}"
            )
        return plain_array(vectors)

    def checked(self, genes: Any) -> IntArray:
        """The same; ValueError for one that is not in the space."""
        vectors = self.as_vectors(genes)
        inside = self.contains(vectors)
        if not inside.all():
            raise self.outside(vectors, int(np.argmin(inside)))
        return vectors

    def outside(self, vectors: IntArray, row: int) -> ValueError:
        """The error for a vector with a gene out of range."""
        vector = vectors[row]
        bad = int(np.argmax((vector < 0) | (vector >= self.sizes)))
        gene = self.genes[bad]
        return ValueError(
            f"vector {row}: gene {gene.name} must be within 0 and {gene.size - 1}, got {vector[bad]}"
        )


class Structure(Protocol):
    """The designs behind the vectors. A domain has more of them: see `structure` in its folder."""

    @property
    def domain(self) -> str:
        """The kind of designs."""

    def show(self, genes: IntArray, /) -> str:
        """The design of one vector (genes,) as people read it."""
