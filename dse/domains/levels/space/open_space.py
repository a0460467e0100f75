"""Mappings onto a machine some of whose figures are open: vectors of both, each for hardware of its own."""

from __future__ import annotations

import math
from collections.abc import Mapping as MappingOf
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from dse.core.hardware import FIGURE_PREFIX
from dse.core.layer import Layer
from dse.core.space import Block, Gene, GeneVectors
from dse.domains.levels.layout import Layout, RowArray
from dse.domains.levels.machine import Machine
from dse.domains.levels.mapping import HierarchyMapping
from dse.domains.levels.space.batch import HierarchyBatch, Limits
from dse.domains.levels.space.chains import FACTORS
from dse.domains.levels.space.opened import FAN_OUT, NOTHING, SIZE, Opened
from dse.domains.levels.space.space import ROUNDS, HierarchySpace
from dse.domains.levels.workload import Workload
from dse.support.arrays import BoolArray, FloatArray, IntArray


@dataclass(frozen=True)
class OpenSpace(GeneVectors):
    """The mappings of `layer` onto `machine`, and a gene for each figure that is `parts`.

    The genes of the mapping come first, those of a HierarchySpace on the most capable machine: a mapping that
    is too much for the hardware of its vector is infeasible. `fixed` is as there.
    """

    layer: Layer
    machine: Machine
    fixed: MappingOf[str, Any] = field(default_factory=dict, hash=False)
    parts: Opened = NOTHING
    tiles: str = FACTORS

    domain = "levels"

    def __post_init__(self) -> None:
        object.__setattr__(self, "machine", self.machine.of_widths(self.layer.bits))
        # Made now, so that what is wrong with the constraints is said now.
        _ = self.widest

    def __reduce__(self) -> tuple[Any, ...]:
        return OpenSpace, (self.layer, self.machine, dict(self.fixed), self.parts, self.tiles)

    @cached_property
    def widest(self) -> HierarchySpace:
        """The mappings onto the most capable machine, which are all that there are."""
        return HierarchySpace(self.layer, self.parts.most_capable(self.machine), self.fixed, self.tiles)

    @property
    def workload(self) -> Workload:
        """What is computed."""
        return self.widest.workload

    @property
    def layout(self) -> Layout:
        """How mappings are written as rows."""
        return self.widest.layout

    @cached_property
    def genes(self) -> tuple[Gene, ...]:
        figures = (Gene(FIGURE_PREFIX + name, len(values), "ordinal") for name, values in self.parts.hardware)
        return (*self.widest.genes, *figures)

    @property
    def _mapped(self) -> int:
        """How many genes are of the mapping."""
        return len(self.widest.genes)

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """Those of the mapping, and one for each figure, whose neighbours are the next values."""
        mapped = self.widest.blocks
        figures = enumerate(self.genes[self._mapped :])
        return (
            *(replace(block, _space=self) for block in mapped),
            *(
                Block(gene.name, (self._mapped + place,), len(mapped) + place, self)
                for place, gene in figures
            ),
        )

    @property
    def mappings(self) -> int:
        """How many distinct mappings on distinct hardware there are; those that do not fit count too."""
        return self.widest.mappings * math.prod(len(values) for _, values in self.parts.hardware)

    @property
    def identity(self) -> dict[str, Any]:
        return {
            "layer": self.layer.to_dict(),
            "accelerator": self.machine.to_dict(),
            "tiles": self.tiles,
            "fixed": self.widest.said,
            "parts": self.parts.to_dict(),
        }

    def sample(self, rng: np.random.Generator, n: int) -> IntArray:
        """`n` vectors (n, genes), drawn uniformly from those that fit their hardware; see HierarchySpace."""
        genes = self.uniform(rng, n)
        for _ in range(ROUNDS):
            misfits = np.flatnonzero(~self._fits(genes))
            if not len(misfits):
                break
            genes[misfits] = self.uniform(rng, len(misfits))
        return genes

    def _fits(self, genes: IntArray) -> BoolArray:
        batch = self.decode(genes)
        return self.limits(batch.choices).fit(*self.measure(batch.rows))

    def measure(self, rows: RowArray) -> tuple[IntArray, IntArray]:
        """As HierarchySpace."""
        return self.widest.measure(rows)

    def limits(self, choices: IntArray | None = None) -> Limits:
        """What levels hold, fan out to and must spread over, on the hardware of `choices` (n, figures).

        Without them, on the nearest.
        """
        picked = self.nearest if choices is None else choices
        least = self.widest.limits()
        words, widest = (np.repeat(column, len(picked), axis=0) for column in (least.words, least.widest))
        places = [level.name for level in self.machine.levels]
        for figure, (level, kind, values) in enumerate(self.parts.choices):
            if kind in (SIZE, FAN_OUT):
                place, column = places.index(level), words if kind == SIZE else widest
                if kind == SIZE:
                    values = tuple(self.machine.room(place, int(value)) for value in values)
                column[:, place] = np.array(values, dtype=np.int64)[picked[:, figure]]
        return Limits(words, widest, self.widest.least_children(widest))

    @cached_property
    def nearest(self) -> IntArray:
        """The choices (1, figures) that are nearest to the machine's own figures."""
        return np.array([self.parts.nearest(self.machine)], dtype=np.int64)

    def machine_of(self, choices: Sequence[int] | IntArray) -> Machine:
        """The machine of the choices (figures,)."""
        hardware = zip(self.parts.hardware, choices, strict=True)
        return self.parts.machine(self.machine, tuple(values[int(pick)] for (_, values), pick in hardware))

    def _parted(self, genes: Any) -> tuple[IntArray, IntArray]:
        """The genes of the mapping and those of the hardware; ValueError for no vectors of the space."""
        vectors = self.checked(genes)
        return np.ascontiguousarray(vectors[:, : self._mapped]), vectors[:, self._mapped :]

    def decode(self, genes: IntArray) -> HierarchyBatch:
        mapped, choices = self._parted(genes)
        return replace(self.widest.decode(mapped), machine=self.machine, choices=choices, opened=self.parts)

    def encode(self, mappings: list[HierarchyMapping] | HierarchyBatch) -> IntArray:
        """The canonical vectors of mappings: (n, genes). Those without hardware are for the nearest."""
        choices = mappings.choices if isinstance(mappings, HierarchyBatch) else None
        mapped = self.widest.encode(mappings)
        if choices is None:
            choices = np.repeat(self.nearest, len(mapped), axis=0)
        return np.hstack([mapped, choices])

    def canonical(self, genes: IntArray) -> IntArray:
        mapped, choices = self._parted(genes)
        return np.hstack([self.widest.canonical(mapped), choices])

    def neighbour(self, rng: np.random.Generator, genes: IntArray) -> IntArray:
        found = self.canonical(genes)
        for row, vector in enumerate(found):
            near = np.concatenate([self.neighbours(vector, block) for block in self.blocks])
            if len(near):
                found[row] = near[rng.integers(len(near))]
        return found

    def neighbours(self, genes: IntArray, block: Block) -> IntArray:
        mapped, choices = self._parted(np.asarray(genes)[np.newaxis])
        if block.index < len(self.widest.blocks):
            near = self.widest.neighbours(mapped[0], self.widest.blocks[block.index])
            return np.hstack([near, np.repeat(choices, len(near), axis=0)])
        (gene,) = block.genes
        vector = np.asarray(genes, dtype=np.int64)
        values = [value for value in (vector[gene] - 1, vector[gene] + 1) if 0 <= value < self.sizes[gene]]
        near = np.repeat(vector[np.newaxis], len(values), axis=0)
        near[:, gene] = values
        return near

    @property
    def feature_names(self) -> tuple[str, ...]:
        return (*self.widest.feature_names, *(f"log2 {name}" for name in self.parts.figures))

    def features(self, genes: IntArray) -> FloatArray:
        """Those of the mappings, and log2 of the figures of the hardware: (n, features)."""
        mapped, choices = self._parted(genes)
        figures = [
            np.log2(np.array(values, dtype=np.float64))[choices[:, place]]
            for place, (_, values) in enumerate(self.parts.hardware)
        ]
        return np.column_stack([self.widest.features(mapped), *figures])

    @property
    def feature_groups(self) -> tuple[int, ...]:
        groups = self.widest.feature_groups
        return (*groups, *(max(groups) + 1 for _ in self.parts.choices))

    @property
    def structure(self) -> OpenSpace:
        return self

    def show(self, genes: IntArray) -> str:
        """One point (genes,) as text: the mapping, then the figures that its genes say."""
        batch = self.decode(np.asarray(genes, np.int64)[np.newaxis])
        named = batch.named()
        figures = (f"{name} {named[FIGURE_PREFIX + name][0]}" for name in self.parts.figures)
        return f"{batch[0].text()}\n{', '.join(figures)}\n"

    def counts(self, genes: IntArray) -> FloatArray:
        return self.widest.counts(self._parted(genes)[0])

    def keep_inside(self, genes: IntArray, before: IntArray, changed: IntArray) -> IntArray:
        """As HierarchySpace; where a figure of the hardware has changed, the mapping stays as it is."""
        mapped, choices = self._parted(genes)
        return np.hstack([self.widest.keep_inside(mapped, self._parted(before)[0], changed), choices])
