"""The mapping space of a layer on an accelerator: integer gene vectors that stand for mappings."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping as MappingOf
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.space.blocks import make_blocks
from dse.space.chains import TILES, Chain, listed
from dse.space.equation1 import equation1, equation1_of
from dse.space.features import feature_names, mapping_features
from dse.space.genes import (
    GENE_NAMES,
    LEVELS,
    MAPPED_DIMS,
    ORDERS,
    FixedValue,
    make_gene,
    parse_fixed,
    read_fixed,
)
from dse.space.protocol import Block, Gene, MappingStructure
from dse.spec.accelerator import Accelerator
from dse.spec.layer import Layer
from dse.spec.mapping import COLUMNS, INNER_TILE, OUTER_TILE, Mapping, MappingBatch
from dse.support.arrays import BoolArray, FloatArray, IntArray
from dse.support.errors import InputError, unknown

__all__ = ["Block", "Gene", "MappingSpace", "equation1", "parse_fixed"]

NUM_GENES = len(GENE_NAMES)
INT64 = np.dtype(np.int64)


@dataclass(frozen=True)
class MappingSpace:
    """The mappings of `layer` (lowered) onto `accelerator` that a searcher may choose from.

    A point is a vector of 13 integers, in the order of `genes`; each is 0 to its gene's size minus 1.
    `tiles` is `factors` (an outer tile divides its dim, an inner one the outer) or `any` (no larger than it).
    `fixed` gives genes one value each, by name: {"outer.parallel": "K", "inner.order": "KCYX",
    "outer.tile.C": 16, "cluster": 8}; such a gene stays in the vector with size 1.
    """

    layer: Layer
    accelerator: Accelerator
    tiles: str = "factors"
    fixed: MappingOf[str, FixedValue] = field(default_factory=dict, hash=False)
    hierarchy = None
    _chains: tuple[Chain, ...] = field(init=False, repr=False, compare=False)
    _choices: MappingOf[str, Sequence[Any]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.tiles not in TILES:
            raise unknown("tiles", self.tiles, TILES)
        object.__setattr__(self, "layer", self.layer.lowered())
        object.__setattr__(self, "fixed", read_fixed(self.fixed))
        object.__setattr__(self, "_chains", _tile_chains(self.layer, self.tiles, self.fixed))
        object.__setattr__(self, "_choices", _other_choices(self.accelerator, self.fixed))

    def __reduce__(self) -> tuple[Any, ...]:
        # What is derived is left behind: it is rebuilt faster than it travels to another process.
        return MappingSpace, (self.layer, self.accelerator, self.tiles, dict(self.fixed))

    @cached_property
    def genes(self) -> tuple[Gene, ...]:
        """The 13 genes, in the order of a vector."""
        sizes = {name: len(choices) for name, choices in self._choices.items()}
        for chain in self._chains:
            sizes[f"outer.tile.{chain.dim}"] = len(chain.outer_choices)
            sizes[f"inner.tile.{chain.dim}"] = chain.inner_genes
        return tuple(make_gene(name, sizes[name]) for name in GENE_NAMES)

    @cached_property
    def sizes(self) -> IntArray:
        """How many values each gene has: (13,), read-only."""
        sizes = np.array([gene.size for gene in self.genes], dtype=np.int64)
        sizes.flags.writeable = False
        return sizes

    @property
    def vectors(self) -> int:
        """How many gene vectors there are, exactly."""
        return math.prod(gene.size for gene in self.genes)

    @property
    def mappings(self) -> int:
        """How many distinct mappings the vectors decode to, exactly."""
        chains = math.prod(chain.count for chain in self._chains)
        return chains * math.prod(len(choices) for choices in self._choices.values())

    @property
    def designs(self) -> int:
        """The `mappings`, as spaces of other designs say it too."""
        return self.mappings

    @property
    def equation1(self) -> int:
        """The size by Equation 1 of arXiv:2507.16249: an estimate to set beside this space's own."""
        return equation1_of(self.layer)

    @property
    def identity(self) -> dict[str, Any]:
        """All that defines the space, as plain JSON data."""
        return {
            "layer": self.layer.to_dict(),
            "accelerator": self.accelerator.to_dict(),
            "tiles": self.tiles,
            "fixed": copy.deepcopy(self.fixed),
        }

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """The genes grouped by meaning, with their neighbourhood moves."""
        return make_blocks(self)

    def sample(self, rng: np.random.Generator, n: int) -> IntArray:
        """`n` gene vectors drawn uniformly, but the sizes of `any` tiles log-uniformly: (n, 13)."""
        genes = rng.integers(0, self.sizes, size=(n, NUM_GENES), dtype=np.int64)
        if self.tiles == "factors":
            return genes
        batch = self.decode(genes)
        for dim, chain in enumerate(self._chains):
            batch.rows[:, [OUTER_TILE + dim, INNER_TILE + dim]] = np.stack(chain.draw(rng, n), axis=1)
        return self.encode(batch)

    def contains(self, genes: IntArray) -> BoolArray:
        """Which of the vectors (n, 13) lie in the space: (n,)."""
        vectors = _as_vectors(genes)
        within = (vectors >= 0) & (vectors < self.sizes)
        inside: BoolArray = np.logical_and.reduce(within, axis=1)
        return inside

    def decode(self, genes: IntArray) -> MappingBatch:
        """The mappings of the vectors (n, 13), of any integer type. ValueError if one is not in the space."""
        vectors = _as_vectors(genes)
        rows = np.empty((len(vectors), COLUMNS), dtype=np.int64)
        self._decode(vectors, rows)
        return MappingBatch(rows)

    def decode_into(self, genes: IntArray, rows: IntArray) -> None:
        """`decode` that writes MappingBatch rows into `rows`: int64, (n, 27), contiguous.

        After a ValueError the contents of `rows` are undefined.
        """
        vectors = _as_vectors(genes)
        if rows.shape != (len(vectors), COLUMNS) or rows.dtype != INT64 or not rows.flags.carray:
            raise ValueError(
                f"rows must be a contiguous, writable int64 array of shape ({len(vectors)}, {COLUMNS}), "
                f"got {rows.dtype} {rows.shape}"
            )
        self._decode(vectors, rows)

    def encode(self, batch: MappingBatch) -> IntArray:
        """The smallest vectors that decode to the mappings: (n, 13). InputError for one not in the space."""
        genes = np.empty((len(batch), NUM_GENES), dtype=np.int64)
        bad = _kernel().encode(_plain(batch.rows), self._packed, genes)
        if bad >= 0:
            raise InputError(f"mapping {bad}: {self._why_not(batch[bad])}")
        return genes

    def canonical(self, genes: IntArray) -> IntArray:
        """The smallest vectors of the mappings that the vectors (n, 13) stand for: (n, 13)."""
        return self.encode(self.decode(genes))

    def neighbour(self, rng: np.random.Generator, genes: IntArray) -> IntArray:
        """One neighbour of each vector (n, 13), drawn uniformly from those of all blocks: (n, 13).

        A vector that has no neighbour (in a space of one mapping) is its own.
        """
        vectors = _as_vectors(genes)
        out = np.empty((len(vectors), NUM_GENES), dtype=np.int64)
        bad = _kernel().random_neighbours(vectors, self._packed, rng.random(len(vectors)), out)
        if bad >= 0:
            raise self._outside(vectors, bad)
        return out

    def neighbours(self, genes: IntArray, block: Block) -> IntArray:
        """All neighbours of one vector (13,) by the moves of a block, as `Block.neighbours` says."""
        vectors = _as_vectors(np.asarray(genes)[np.newaxis])
        kernel = _kernel()
        out = np.empty((kernel.MAX_MOVES, NUM_GENES), dtype=np.int64)
        count = kernel.block_neighbours(vectors, block.index, self._packed, out)
        if count < 0:
            raise self._outside(vectors, 0)
        return out[:count].copy()

    @property
    def feature_names(self) -> tuple[str, ...]:
        """What each feature is."""
        return feature_names()

    def features(self, genes: IntArray) -> FloatArray:
        """The mappings of the vectors (n, 13) as numbers for surrogates: (n, 33), see `mapping_features`."""
        return mapping_features(self.layer, self.accelerator, self.decode(genes))

    @property
    def structure(self) -> MappingStructure:
        """The mappings behind the vectors: the space itself decodes and encodes them."""
        return self

    @cached_property
    def _packed(self) -> IntArray:
        """The space as the kernels read it."""
        first = [0] * NUM_GENES
        for index, gene in enumerate(self.genes):
            if gene.kind != "ordinal":
                every: Sequence[Any] = ORDERS if gene.kind == "permutation" else MAPPED_DIMS
                first[index] = every.index(self._choices[gene.name][0])
        filters, clusters = (self.layer.R, self.layer.S), self._choices["cluster"]
        packed: IntArray = _kernel().pack(self._chains, self.sizes, first, clusters, filters)
        return packed

    def _decode(self, vectors: IntArray, rows: IntArray) -> None:
        bad = _kernel().decode(vectors, self._packed, rows)
        if bad >= 0:
            raise self._outside(vectors, bad)

    def _outside(self, vectors: IntArray, row: int) -> ValueError:
        """The error for a vector with a gene out of range."""
        vector = vectors[row]
        bad = int(np.argmax((vector < 0) | (vector >= self.sizes)))
        gene = self.genes[bad]
        return ValueError(
            f"vector {row}: gene {gene.name} must be within 0 and {gene.size - 1}, got {vector[bad]}"
        )

    def _why_not(self, mapping: Mapping) -> str:
        """The first thing in a mapping that the space has no choice for, in words."""
        for name, level in (("outer", mapping.outer), ("inner", mapping.inner)):
            parallels, orders = self._choices[f"{name}.parallel"], self._choices[f"{name}.order"]
            if level.parallel not in parallels:
                return f"{name}.parallel = {level.parallel}; expected {_one_of(parallels)}"
            if level.order not in [(*order, "R", "S") for order in orders]:
                right = " ".join(orders[0]) if len(orders) == 1 else f"{' '.join(MAPPED_DIMS)} in any order"
                return f"{name}.order = {' '.join(level.order)}; expected {right}, then R S"
            for dim, size in (("R", self.layer.R), ("S", self.layer.S)):
                if level[dim] != size:
                    return f"{name}.tile.{dim} = {level[dim]}; expected {size}, the whole filter"
        for chain in self._chains:
            reason = chain.why_not(mapping.outer[chain.dim], mapping.inner[chain.dim])
            if reason is not None:
                return reason
        return f"cluster = {mapping.cluster_size}; expected {_one_of(self._choices['cluster'])}"


def _tile_chains(layer: Layer, tiles: str, fixed: MappingOf[str, Any]) -> tuple[Chain, ...]:
    return tuple(
        Chain(dim, layer.loops[dim], tiles, fixed.get(f"outer.tile.{dim}"), fixed.get(f"inner.tile.{dim}"))
        for dim in MAPPED_DIMS
    )


def _other_choices(accelerator: Accelerator, fixed: MappingOf[str, Any]) -> dict[str, Sequence[Any]]:
    """What the genes that are no tiles index, by name."""
    choices: dict[str, Sequence[Any]] = {"cluster": accelerator.cluster_sizes}
    for level in LEVELS:
        choices |= {f"{level}.order": ORDERS, f"{level}.parallel": MAPPED_DIMS}
    for name in choices.keys() & fixed.keys():
        value = tuple(fixed[name]) if isinstance(fixed[name], list) else fixed[name]
        if value not in choices[name]:
            raise InputError(
                f"fixed {name} = {value} does not divide the {accelerator.num_pes} PEs; "
                f"expected {_one_of(choices[name])}"
            )
        choices[name] = (value,)
    return choices


def _one_of(values: Sequence[Any]) -> str:
    return str(values[0]) if len(values) == 1 else f"one of {listed(values)}"


@cache
def _kernel() -> ModuleType:
    """The compiled kernels, imported when first needed: numba is slow to import."""
    from dse.space import kernel as space_kernel

    return space_kernel


def _as_vectors(genes: Any) -> IntArray:
    """Gene vectors (n, 13) of any integer type as the kernels take them."""
    vectors = np.asarray(genes)
    if vectors.ndim != 2 or vectors.shape[1] != NUM_GENES or vectors.dtype.kind not in "iu":
        raise ValueError(
            f"gene vectors must be integers of shape (n, {NUM_GENES}), got {vectors.dtype} {vectors.shape}"
        )
    return _plain(vectors)


def _plain(array: NDArray[Any]) -> IntArray:
    """The array, or a copy that is int64, contiguous and writable: for others numba would compile again."""
    if array.dtype == INT64 and array.flags.carray:
        return array
    return np.array(array, dtype=np.int64, order="C")
