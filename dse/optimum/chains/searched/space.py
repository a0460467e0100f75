"""What of a chain stays on chip, and a mapping of each layer, as one vector of genes.

A layer's genes are those of its mappings where the level for what stays has no limit: every mapping that it
can have beside anything that stays is among them, and what does not fit is not feasible.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import prod
from typing import Any, ClassVar

import numpy as np

from dse.core.edges import WholeNetwork
from dse.core.problem import AnyProblem
from dse.core.space import Block, Gene, GeneVectors
from dse.optimum.chains.program import Program
from dse.optimum.chains.searched.designs import ChainDesigns
from dse.support.arrays import FloatArray, IntArray


@dataclass(frozen=True)
class ChainSpace(GeneVectors):
    """`problems` are each layer's, with no limit of the level for what stays."""

    layer: WholeNetwork
    accelerator: Any
    program: Program
    problems: tuple[AnyProblem, ...]

    structure: ClassVar[None] = None
    fixed: ClassVar[dict[str, Any]] = {}

    @cached_property
    def tensors(self) -> tuple[int, ...]:
        """What can stay, by the layers that make it; so are the first genes."""
        return tuple(self.program.tensors)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The same by their names."""
        return tuple(self.layer.layers[one].name for one in self.tensors)

    @cached_property
    def parts(self) -> tuple[slice, ...]:
        """Where the genes of each layer are."""
        ends = np.cumsum([len(self.tensors), *(len(one.space.genes) for one in self.problems)]).tolist()
        return tuple(slice(begin, end) for begin, end in pairwise(ends))

    @cached_property
    def genes(self) -> tuple[Gene, ...]:
        """Whether each tensor stays, and then each layer's."""
        found = [Gene(f"stays.{name}", 2, "categorical", "chain") for name in self.names]
        for layer, problem in zip(self.layer.layers, self.problems, strict=True):
            found += [
                Gene(
                    f"{layer.name}.{gene.name}", gene.size, gene.kind, f"{layer.name}.{gene.level}", gene.dim
                )
                for gene in problem.space.genes
            ]
        return tuple(found)

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """What stays, and the blocks of each layer's own space."""
        found = [Block("stays", tuple(range(len(self.tensors))), 0, self)] if self.tensors else []
        for place, _, block in self._inner:
            genes = tuple(self.parts[place].start + one for one in block.genes)
            name = f"{self.layer.layers[place].name}.{block.name}"
            found.append(Block(name, genes, len(found), self))
        return tuple(found)

    @cached_property
    def _inner(self) -> tuple[tuple[int, AnyProblem, Block], ...]:
        """Each block of a layer's space, with the layer's place."""
        return tuple(
            (place, problem, block)
            for place, problem in enumerate(self.problems)
            for block in problem.space.blocks
        )

    @property
    def mappings(self) -> int:
        """How many distinct designs."""
        stays: int = 2 ** len(self.tensors)
        return stays * prod(one.space.designs for one in self.problems)

    @property
    def identity(self) -> dict[str, Any]:
        """All that defines the space."""
        machine = {"accelerator": self.accelerator.to_dict(), "tiles": "factors", "fixed": {}}
        return {"layer": self.layer.to_dict(), **machine}

    def sample(self, rng: np.random.Generator, n: int, /) -> IntArray:
        """`n` vectors: what stays drawn uniformly, each layer as in its own space."""
        stays = rng.integers(0, 2, size=(n, len(self.tensors)), dtype=np.int64)
        return np.hstack([stays, *(one.space.sample(rng, n) for one in self.problems)])

    def canonical(self, genes: IntArray, /) -> IntArray:
        """The smallest vectors of the same designs."""
        found = np.array(genes, dtype=np.int64)
        for part, problem in zip(self.parts, self.problems, strict=True):
            found[:, part] = problem.space.canonical(found[:, part])
        return found

    def neighbour(self, rng: np.random.Generator, genes: IntArray, /) -> IntArray:
        """One neighbour of each vector, of a layer or of what stays, which is drawn first."""
        found = self.canonical(genes)
        choices = rng.integers(0 if self.tensors else 1, len(self.problems) + 1, size=len(genes))
        rows = np.flatnonzero(choices == 0)
        if len(rows):
            flipped = rng.integers(0, len(self.tensors), size=len(rows))
            found[rows, flipped] = 1 - found[rows, flipped]
        for place, problem in enumerate(self.problems):
            rows = np.flatnonzero(choices == place + 1)
            if len(rows):
                found[rows, self.parts[place]] = problem.space.neighbour(rng, found[rows, self.parts[place]])
        return found

    def neighbours(self, genes: IntArray, block: Block, /) -> IntArray:
        """One tensor stays more or less; or the moves of a block of a layer's own space."""
        own = block.index - bool(self.tensors)
        if own < 0:
            found = np.tile(genes, (len(self.tensors), 1))
            index = np.arange(len(self.tensors))
            found[index, index] = 1 - found[index, index]
            return found
        place, problem, inner = self._inner[own]
        near = problem.space.neighbours(genes[self.parts[place]], inner)
        found = np.tile(genes, (len(near), 1))
        found[:, self.parts[place]] = near
        return found

    @cached_property
    def feature_names(self) -> tuple[str, ...]:
        """A name for each of `features`."""
        found = [f"stays.{name}" for name in self.names]
        for layer, problem in zip(self.layer.layers, self.problems, strict=True):
            found += [f"{layer.name}.{name}" for name in problem.space.feature_names]
        return tuple(found)

    def features(self, genes: IntArray, /) -> FloatArray:
        """Whether each tensor stays, and the features of each layer's own space."""
        stays = genes[:, : len(self.tensors)].astype(np.float64)
        own = zip(self.parts, self.problems, strict=True)
        return np.hstack([stays, *(problem.space.features(genes[:, part]) for part, problem in own)])

    def decode(self, genes: IntArray, /) -> ChainDesigns:
        """The designs of vectors. ValueError if one is not in the space."""
        return ChainDesigns(self, self.canonical(self.checked(genes)))
