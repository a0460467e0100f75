"""The mapping space of a layer on an accelerator: integer gene vectors that stand for mappings."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping as MappingOf
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import ModuleType
from typing import Any, Protocol, overload

import numpy as np

from dse.core.chains import TILES, Chain
from dse.core.equation1 import equation1_of
from dse.core.layer import DIMS, Layer
from dse.core.space import Block, Gene, GeneVectors
from dse.domains.clustered.accelerator import MACHINE_FIGURES, Accelerator, figure_column
from dse.domains.clustered.mapping import CLUSTER, COLUMNS, INNER_TILE, OUTER_TILE, Mapping, MappingBatch
from dse.domains.clustered.space.features import feature_names, mapping_features
from dse.domains.clustered.space.genes import FixedValue, make_gene, read_fixed
from dse.domains.clustered.space.kernels.layout import pack_space
from dse.domains.clustered.space.parts import (
    FIT,
    SPACES,
    Parts,
    figure_gene,
    make_blocks,
    one_of,
    other_choices,
    read_parts,
    singles_of,
    tile_chains,
)
from dse.support.arrays import FloatArray, IntArray, plain_array
from dse.support.errors import InputError, unknown_name
from dse.support.jit import load_kernels

_NO_MACHINES = np.empty((0, len(MACHINE_FIGURES)), dtype=np.int64)


@dataclass(frozen=True)
class MappingSpace(GeneVectors):
    """The mappings of `layer` (lowered) onto `accelerator` that a searcher may choose from.

    A point is a vector of integers, in the order of `genes`; each is 0 to its gene's size minus 1.
    `parts` says which dims are cut and what of the hardware is open: a name, a table, or Parts. `tiles` is
    `factors` (an outer tile divides its dim, an inner one the outer) or `any` (no larger than it).
    `fixed` gives genes one value each, by name: {"outer.parallel": "K", "inner.order": "KCYX",
    "outer.tile.C": 16, "cluster": 8}; such a gene stays in the vector with size 1. A list leaves it several:
    {"inner.parallel": ["Y", "X"], "outer.tile.K": [16, 32]}.
    """

    layer: Layer
    accelerator: Accelerator
    tiles: str = "factors"
    fixed: MappingOf[str, FixedValue] = field(default_factory=dict, hash=False)
    parts: Parts = SPACES["default"]
    domain = "clustered"
    priced: Layer = field(init=False, repr=False, compare=False)
    """The layer as it was given: with the strides that its cost model prices, if it prices any."""
    _chains: tuple[Chain, ...] = field(init=False, repr=False, compare=False)
    _choices: MappingOf[str, Sequence[Any]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.tiles not in TILES:
            raise unknown_name("tiles", self.tiles, TILES)
        object.__setattr__(self, "priced", self.layer)
        object.__setattr__(self, "layer", self.layer.lowered())
        object.__setattr__(self, "parts", read_parts(self.parts))
        object.__setattr__(self, "fixed", read_fixed(self.fixed, self.parts))
        object.__setattr__(self, "_chains", tile_chains(self.layer, self.tiles, self.fixed, self.parts))
        object.__setattr__(self, "_choices", other_choices(self.accelerator, self.fixed, self.parts))

    def __reduce__(self) -> tuple[Any, ...]:
        # What is derived is left behind: it is rebuilt faster than it travels to another process.
        return MappingSpace, (self.priced, self.accelerator, self.tiles, dict(self.fixed), self.parts)

    @cached_property
    def genes(self) -> tuple[Gene, ...]:
        """The genes, in the order of a vector."""
        sizes = {name: len(choices) for name, choices in self._choices.items()}
        for chain in self._chains:
            sizes[f"outer.tile.{chain.dim}"] = len(chain.outer_choices)
            sizes[f"inner.tile.{chain.dim}"] = chain.inner_genes
        return tuple(make_gene(name, sizes[name]) for name in self.parts.gene_names)

    @property
    def mappings(self) -> int:
        """How many distinct mappings the vectors decode to, exactly."""
        chains = math.prod(chain.count for chain in self._chains)
        return chains * math.prod(len(choices) for choices in self._choices.values())

    @property
    def estimates(self) -> dict[str, int]:
        """`eq1`, a published estimate to set beside the space's own size (see `equation1`)."""
        return {"eq1": equation1_of(self.layer)}

    @property
    def identity(self) -> dict[str, Any]:
        """All that defines the space, as plain JSON data; parts that are the default's go without saying."""
        parts = {} if self.parts == SPACES["default"] else {"parts": self.parts.to_dict()}
        return {
            "layer": self.layer.to_dict(),
            "accelerator": self.accelerator.figures,
            "tiles": self.tiles,
            "fixed": copy.deepcopy(self.fixed),
            **parts,
        }

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """The genes grouped by meaning, with their neighbourhood moves."""
        return make_blocks(self, self.parts)

    def sample(self, rng: np.random.Generator, n: int) -> IntArray:
        """`n` gene vectors drawn uniformly, but the sizes of `any` tiles log-uniformly: (n, genes)."""
        genes = self.uniform(rng, n)
        if self.tiles == "factors":
            return genes
        batch = self.decode(genes)
        for chain in self._chains:
            dim = DIMS.index(chain.dim)
            batch.rows[:, [OUTER_TILE + dim, INNER_TILE + dim]] = np.stack(chain.draw(rng, n), axis=1)
        return self.encode(self.refit(batch))

    def decode(self, genes: IntArray) -> MappingBatch:
        """The mappings of the vectors (n, genes), of any integer type, with their machines where genes say
        them. ValueError if one is not in the space.
        """
        vectors = self.as_vectors(genes)
        rows = np.empty((len(vectors), COLUMNS), dtype=np.int64)
        machines = np.repeat(self._machine, len(vectors), axis=0) if self.has_machines else None
        bad = _points().decode(vectors, self._packed, rows, _NO_MACHINES if machines is None else machines)
        if bad >= 0:
            raise self.outside(vectors, bad)
        return MappingBatch(rows, machines, self.parts.whole)

    def encode(self, batch: MappingBatch) -> IntArray:
        """The smallest vectors that decode to the mappings: (n, genes). InputError for one not in the space.

        Mappings without machines are for the space's own accelerator.
        """
        genes = np.empty((len(batch), len(self.sizes)), dtype=np.int64)
        machines = batch.machines
        if machines is None:
            machines = np.repeat(self._machine, len(batch) if self.has_machines else 0, axis=0)
        bad = _points().encode(plain_array(batch.rows), plain_array(machines), self._packed, genes)
        if bad >= 0:
            raise InputError(f"mapping {bad}: {self._why_not(batch[bad], machines, bad)}")
        return genes

    def refit(self, batch: MappingBatch) -> MappingBatch:
        """The mappings with the cluster sizes that follow from their tiles, where no gene says them."""
        rows = batch.rows.copy()
        _points().fit_clusters(rows, self._packed)
        return MappingBatch(rows, batch.machines, self.parts.whole)

    @property
    def dims(self) -> tuple[str, ...]:
        """The dims that are tiled and ordered and may be parallel; the others stay whole and innermost."""
        return self.parts.dims

    @property
    def has_machines(self) -> bool:
        """Whether genes say onto which hardware a design is mapped: `decode` then gives its machines."""
        return bool(self.parts.hardware)

    def machine(self, genes: IntArray) -> Accelerator:
        """The accelerator that the design of one vector (genes,) is mapped onto."""
        machines = self.decode(np.asarray(genes)[np.newaxis]).machines
        return self.accelerator if machines is None else self.accelerator.with_machine(machines[0])

    @property
    def nearest(self) -> Accelerator:
        """The accelerator, its open figures at the choices nearest to its own."""
        return self.parts.nearest(self.accelerator)

    def canonical(self, genes: IntArray) -> IntArray:
        """The smallest vectors of the mappings that the vectors (n, genes) stand for: (n, genes)."""
        return self.encode(self.decode(genes))

    def neighbour(self, rng: np.random.Generator, genes: IntArray) -> IntArray:
        """One neighbour of each vector (n, genes), drawn uniformly from those of all blocks: (n, genes).

        A vector that has no neighbour (in a space of one mapping) is its own.
        """
        vectors = self.as_vectors(genes)
        out = np.empty((len(vectors), len(self.sizes)), dtype=np.int64)
        bad = _moves().random_neighbours(vectors, self._packed, rng.random(len(vectors)), out)
        if bad >= 0:
            raise self.outside(vectors, bad)
        return out

    def neighbours(self, genes: IntArray, block: Block) -> IntArray:
        """All neighbours of one vector (genes,) by the moves of a block, as `Block.neighbours` says."""
        vectors = self.as_vectors(np.asarray(genes)[np.newaxis])
        kernel = _moves()
        out = np.empty((kernel.MAX_MOVES, len(self.sizes)), dtype=np.int64)
        count = kernel.block_neighbours(vectors, block.index, self._packed, out)
        if count < 0:
            raise self.outside(vectors, 0)
        return out[:count].copy()

    @property
    def feature_names(self) -> tuple[str, ...]:
        """What each feature is."""
        return feature_names(self.parts)

    def features(self, genes: IntArray) -> FloatArray:
        """The mappings of the vectors (n, genes) as numbers for surrogates: see `mapping_features`."""
        return mapping_features(self.layer, self.accelerator, self.decode(genes), self.parts)

    def show(self, genes: IntArray) -> str:
        """The mapping of one vector (genes,) as a nest of loops."""
        from dse.domains.clustered.nest import loop_nest

        mapping = self.decode(genes[np.newaxis])[0]
        return loop_nest(self.layer, mapping, self.machine(genes))

    @property
    def structure(self) -> MappingSpace:
        """The mappings behind the vectors: the space itself decodes and encodes them."""
        return self

    @cached_property
    def _machine(self) -> IntArray:
        """The accelerator's figures: (1, figures)."""
        return np.array([self.accelerator.machine_row], dtype=np.int64)

    @cached_property
    def _packed(self) -> IntArray:
        """The space as the kernels read it."""
        places: list[list[int]] = []
        for gene in self.genes:
            is_order = gene.kind == "permutation"
            every: Sequence[Any] = self.parts.orders if is_order else self.parts.dims
            chosen = [] if gene.kind == "ordinal" else self._choices[gene.name]
            numbers = {value: number for number, value in enumerate(every)}
            places.append([numbers[value] for value in chosen])
        singles = {name: self._choices[name] for name in singles_of(self._choices)}
        sizes = self.sizes.tolist()
        packed: IntArray = pack_space(self.parts, self.layer, self._chains, sizes, places, singles)
        return packed

    def _why_not(self, mapping: Mapping, machines: IntArray, row: int) -> str:
        """The first thing in a mapping that the space has no choice for, in words."""
        whole = self.parts.whole
        for name, level in (("outer", mapping.outer), ("inner", mapping.inner)):
            parallels, orders = self._choices[f"{name}.parallel"], self._choices[f"{name}.order"]
            if level.parallel not in parallels:
                return f"{name}.parallel = {level.parallel}; expected {one_of(parallels)}"
            if level.order not in {(*order, *whole) for order in orders}:
                right = " or ".join(" ".join(order) for order in orders)
                if len(orders) == len(self.parts.orders):
                    right = f"{' '.join(self.dims)} in any order"
                then = f", then {' '.join(whole)}" if whole else ""
                return f"{name}.order = {' '.join(level.order)}; expected {right}{then}"
            for dim in whole:
                size = self.layer.loops[dim]
                if level[dim] != size:
                    meant = "the whole filter" if dim in "RS" else f"the layer's {dim}"
                    return f"{name}.tile.{dim} = {level[dim]}; expected {size}, {meant}"
        for chain in self._chains:
            reason = chain.why_not(mapping.outer[chain.dim], mapping.inner[chain.dim])
            if reason is not None:
                return reason
        for figure in self.parts.figures:
            value, choices = figure_column(machines, figure)[row], self._choices[figure_gene(figure)]
            if value not in choices:
                return f"{figure_gene(figure)} = {value}; expected {one_of(choices)}"
        if self.parts.cluster == FIT:
            (right,) = self.refit(MappingBatch.of([mapping])).rows[:, CLUSTER].tolist()
            along = f"the inner tiles along {mapping.inner.parallel}"
            return f"cluster = {mapping.cluster_size}; expected {right}, {along}"
        return f"cluster = {mapping.cluster_size}; expected {one_of(self._choices['cluster'])}"


class HasSpace(Protocol):
    """What makes its space when that is first read."""

    def make_space(self) -> MappingSpace: ...


class SpaceField:
    """The field `space` of a Problem: takes the parts of a space (or a space, for them), gives the space."""

    def __set__(self, problem: HasSpace, given: str | MappingOf[str, Any] | Parts | MappingSpace) -> None:
        parts = read_parts(getattr(given, "parts", given))
        problem.__dict__["_parts"] = parts

    @overload
    def __get__(self, problem: None, owner: type[HasSpace]) -> str: ...
    @overload
    def __get__(self, problem: HasSpace, owner: type[HasSpace]) -> MappingSpace: ...
    def __get__(self, problem: HasSpace | None, owner: type[HasSpace]) -> MappingSpace | str:
        if problem is None:
            return "default"
        made: MappingSpace | None = problem.__dict__.get("_space")
        if made is None:
            made = problem.make_space()
            problem.__dict__["_space"] = made
        return made


SPACE = SpaceField()
"""The field; what it holds is in the problem that has it."""


def _points() -> ModuleType:
    """The compiled functions between genes and mappings."""
    return load_kernels("dse.domains.clustered.space.kernels.points")


def _moves() -> ModuleType:
    """The compiled moves."""
    return load_kernels("dse.domains.clustered.space.kernels.moves")
