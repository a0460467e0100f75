"""The mappings of a layer onto a machine of any number of levels: integer vectors and their moves."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping as MappingOf
from dataclasses import dataclass, field
from functools import cached_property
from types import ModuleType
from typing import Any

import numpy as np

from dse.core.chains import TILES
from dse.core.layer import Layer
from dse.core.space import Block, Gene, GeneVectors
from dse.domains.levels.layout import Layout, RowArray
from dse.domains.levels.machine import Machine
from dse.domains.levels.mapping import HierarchyMapping
from dse.domains.levels.space.batch import UNLIMITED, HierarchyBatch, Limits
from dse.domains.levels.space.chains import FACTORS, SPATIAL, FactorChain, factor_chains
from dse.domains.levels.space.constraints import ALL, ORDERS, Constraints, read_constraints
from dse.domains.levels.space.features import Features
from dse.domains.levels.space.layers import LevelChoices, level_choices
from dse.domains.levels.space.opened import NOTHING
from dse.domains.levels.space.packing import Packed, pack_space
from dse.domains.levels.space.tables import ShapeTables, shape_tables
from dse.domains.levels.uneven import straightened_nest
from dse.domains.levels.workload import Workload, workload_of
from dse.support.arrays import BoolArray, FloatArray, IntArray
from dse.support.errors import InputError, unknown_name
from dse.support.jit import load_kernels

ROUNDS = 64
"""How often a drawn vector that does not fit is drawn again at most."""


@dataclass(frozen=True)
class HierarchySpace(GeneVectors):
    """The mappings of `layer` onto `machine`: loops with their tiles, orders, and what levels keep.

    A vector has a gene for every factor that has a choice (`DRAM.temporal.K`, `DRAM.spatial.K`), which picks
    among the factors that are left; for every level's order of loops (`DRAM.order`); and for every tensor
    that a level may keep or not (`Buffer.keep.W`). `fixed` holds constraints: see `constraints`. Of `tiles`
    "factors" a tile divides what it is cut from; of "any" the gene of a factor picks among lengths of tiles.
    """

    layer: Layer
    machine: Machine
    fixed: MappingOf[str, Any] = field(default_factory=dict, hash=False)
    tiles: str = FACTORS

    domain = "levels"
    parts = NOTHING

    def __post_init__(self) -> None:
        if self.tiles not in TILES:
            raise unknown_name("tiles", self.tiles, TILES)
        object.__setattr__(self, "fixed", dict(self.fixed))
        object.__setattr__(self, "machine", self.machine.of_widths(self.layer.bits))
        # Made now, so that what is wrong with the constraints is said now.
        _ = self.chains, self.levels

    def __reduce__(self) -> tuple[Any, ...]:
        return HierarchySpace, (self.layer, self.machine, dict(self.fixed), self.tiles)

    @cached_property
    def workload(self) -> Workload:
        """What is computed."""
        return workload_of(self.layer, self.machine.bits)

    @cached_property
    def layout(self) -> Layout:
        """How mappings are written as rows."""
        sizes = () if self.tiles == FACTORS else tuple(self.workload.sizes.values())
        return Layout(self.workload.names, self.workload.tensor_names, len(self.machine.levels), sizes)

    @cached_property
    def constraints(self) -> Constraints:
        """What is fixed."""
        return read_constraints(self.fixed, self.workload, self.machine)

    @cached_property
    def chains(self) -> tuple[FactorChain, ...]:
        """The factors of every dim."""
        return factor_chains(self.workload, self.machine, self.constraints.factors, self.tiles)

    @cached_property
    def levels(self) -> tuple[LevelChoices, ...]:
        """The orders and what is kept, level by level."""
        return level_choices(self.workload, self.machine, self.chains, self.constraints)

    @cached_property
    def _packed(self) -> Packed:
        return pack_space(self.machine, self.layout, self.chains, self.levels)

    @cached_property
    def shapes(self) -> ShapeTables:
        """What tiles are made of, for kernels."""
        return shape_tables(self.workload, self.machine)

    @property
    def genes(self) -> tuple[Gene, ...]:
        return self._packed.genes

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """A block for the factors of each dim, the order of each level, and where each tensor is kept."""
        named = enumerate(self._packed.blocks)
        return tuple(Block(name, genes, index, self) for index, (name, genes) in named)

    @property
    def mappings(self) -> int:
        """How many distinct mappings the vectors decode to, exactly; those that do not fit count too."""
        chains: int = math.prod(chain.count for chain in self.chains)
        others = math.prod(
            (len(level.orders) << len(level.open)) * max(1, len(level.stacks)) for level in self.levels
        )
        return chains * others

    def show(self, genes: IntArray) -> str:
        """The mapping of one vector (genes,) in a line."""
        return self.decode(genes[np.newaxis])[0].text() + "\n"

    @property
    def said(self) -> dict[str, Any]:
        """What is fixed, and which orders there are unless these are the innermost loops alone, which is what
        was there before any were named.
        """
        fixed, orders = copy.deepcopy(dict(self.fixed)), self.constraints.orders
        fixed.pop(ORDERS, None)
        if orders == ALL or any(len(level.orders) > level.plain for level in self.levels):
            fixed[ORDERS] = orders
        return fixed

    @property
    def identity(self) -> dict[str, Any]:
        return {
            "layer": self.layer.to_dict(),
            "accelerator": self.machine.to_dict(),
            "tiles": self.tiles,
            "fixed": self.said,
        }

    def sample(self, rng: np.random.Generator, n: int) -> IntArray:
        """`n` vectors (n, genes), drawn uniformly from those that fit.

        One that does not fit is drawn again, `ROUNDS` times at most: where nearly nothing fits, some may not.
        """
        genes = self.uniform(rng, n)
        drawn = np.arange(n)
        for _ in range(ROUNDS):
            drawn = drawn[~self.fits(self._rows(genes[drawn]))]
            if not len(drawn):
                break
            genes[drawn] = self.uniform(rng, len(drawn))
        return genes

    def measure(self, rows: RowArray) -> tuple[IntArray, IntArray]:
        """Of rows (n, columns): what each level has to hold, in its unit, and the children it spreads over.

        Both are (n, levels), with the figures of a level side by side in memory.
        """
        words, wide = np.empty((2, len(self.machine.levels), len(rows)), dtype=np.int64)
        load_kernels("dse.domains.levels.space.kernels.shapes").measure(rows, self.shapes, words, wide)
        for place, first in enumerate(self.machine.storages):
            if first != place:
                words[first] += words[place]
                words[place] = 0
        return words.T, wide.T

    def fits(self, rows: RowArray) -> BoolArray:
        """Which mappings (n, columns) fit in all levels and fan-outs, and use as much of them as is asked."""
        return self.limits().fit(*self.measure(rows))

    def limits(self, choices: IntArray | None = None) -> Limits:
        """What each level holds, fans out to and must spread over, the same for all mappings."""
        return self._limits

    @cached_property
    def _limits(self) -> Limits:
        levels = self.machine.levels
        words = [UNLIMITED if level.room is None else level.room for level in levels]
        widest = np.array([[level.fan_out for level in levels]], dtype=np.int64)
        return Limits(np.array([words], dtype=np.int64), widest, self.least_children(widest))

    def least_children(self, widest: IntArray) -> IntArray:
        """The children to spread over at least, (n, levels), where there are so many at most."""
        floors = self.constraints.utilization
        shares = np.array([floors.get(place, 0) for place in range(len(self.machine.levels))])
        least: IntArray = np.ceil(shares * widest).astype(np.int64)
        return least

    @property
    def least_spread(self) -> IntArray:
        """Children that each level has to spread over at least: (levels,)."""
        least: IntArray = self._limits.least[0]
        return least

    def decode(self, genes: IntArray) -> HierarchyBatch:
        return HierarchyBatch(self._rows(self.checked(genes)), self.layout, self.machine)

    def encode(self, mappings: list[HierarchyMapping] | HierarchyBatch) -> IntArray:
        """The canonical vectors of mappings: (n, genes). InputError for one that is not in the space."""
        if not isinstance(mappings, HierarchyBatch):
            mappings = [straightened_nest(self.machine, mapping) for mapping in mappings]
        rows = mappings.rows if isinstance(mappings, HierarchyBatch) else self.layout.encode(mappings)
        genes = np.zeros((len(rows), len(self.sizes)), dtype=np.int64)
        for place, row in enumerate(rows):
            why = self._encode_row(row, genes[place])
            if why:
                raise InputError(f"mapping {place} is not in the space: {why}")
        return genes

    def _encode_row(self, row: RowArray, vector: IntArray) -> str:
        """Write one row's vector; what is wrong with it, or nothing."""
        tables, row = self._packed.tables, np.ascontiguousarray(row)
        for dim, chain in enumerate(self.chains):
            columns = self._packed.columns[dim]
            factors = tuple(int(row[column]) for column in columns)
            if self.layout.sizes:
                slots = self.layout.lengths(row[np.newaxis])[0, :, dim]
                factors = tuple(int(slots[2 * slot.level + (slot.kind == SPATIAL)]) for slot in chain.slots)
            elsewhere = [
                column
                for level in range(self.layout.levels)
                for part in (self.layout.temporal, self.layout.spatial)
                if (column := part(level).start + dim) not in columns and row[column] != 1
            ]
            if elsewhere:
                level = self.machine.levels[elsewhere[0] // self.layout.width].name
                return f"{level} has no loops over {chain.dim} here"
            if not _kernels().encode_factors(row, dim, tables, vector):
                return chain.why_not(factors, self.machine) or f"{chain.dim} is not factored"
        for level in self.levels:
            why = level.encode(row, self.layout, self._packed.places, vector)
            if why:
                return why
        return ""

    def canonical(self, genes: IntArray) -> IntArray:
        vectors = self.checked(genes)
        found = np.empty_like(vectors)
        _kernels().canonical(vectors, self._packed.tables, found)
        return found

    def neighbour(self, rng: np.random.Generator, genes: IntArray) -> IntArray:
        found = self.canonical(genes)
        _kernels().random_neighbours(found, self._rows(found), self._packed.tables, rng.random(len(found)))
        return found

    def neighbours(self, genes: IntArray, block: Block) -> IntArray:
        vectors = self.checked(np.asarray(genes)[np.newaxis])
        rows, tables, index = self._rows(vectors), self._packed.tables, block.index
        out = np.empty((256, vectors.shape[1]), dtype=np.int64)
        count = _kernels().block_neighbours(vectors, index, rows, tables, out)
        if count > len(out):
            out = np.empty((count, vectors.shape[1]), dtype=np.int64)
            _kernels().block_neighbours(vectors, index, rows, tables, out)
        return out[:count].copy()

    @cached_property
    def _features(self) -> Features:
        return Features(self.machine, self.workload, self.levels, self.shapes)

    @property
    def feature_names(self) -> tuple[str, ...]:
        return self._features.names

    def features(self, genes: IntArray) -> FloatArray:
        vectors = self.canonical(genes)
        return self._features(vectors, self._rows(vectors), self._packed.places)

    @property
    def feature_groups(self) -> tuple[int, ...]:
        return self._features.groups

    @property
    def structure(self) -> HierarchySpace:
        return self

    def counts(self, genes: IntArray) -> FloatArray:
        return self._features.counts(self._rows(self.checked(genes)))

    def keep_inside(self, genes: IntArray, before: IntArray, changed: IntArray) -> IntArray:
        """The vectors (n, genes) with the tiles inside of what has changed as they were, if possible.

        `before` are the vectors before the gene `changed` (n,) of each took another value: a gene picks among
        what those outside of it leave, and would pick something else.
        """
        kept = self.checked(genes).copy()
        rows = self._rows(self.checked(before))
        _kernels().keep_inside(kept, rows, self._packed.tables, np.asarray(changed, dtype=np.int64))
        return kept

    def _rows(self, vectors: IntArray) -> RowArray:
        rows = np.empty((len(vectors), self.layout.columns), dtype=np.int32)
        _kernels().decode(vectors, self._packed.tables, rows)
        return rows


def _kernels() -> ModuleType:
    return load_kernels("dse.domains.levels.space.kernels.moves")
