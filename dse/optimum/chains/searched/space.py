"""What of a chain stays on chip whole, what is handed on in shared tiles, and a mapping of each part.

A layer's genes are those of its mappings where the level for what stays has no limit; parts read them as
`members` says, and parts that go on with sums have genes of their own. What a layer's genes stand for hangs
on how tiles are shared: genes that are canonical under one choice need not be under another.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from math import prod
from typing import Any, ClassVar

import numpy as np

from dse.core.edges import WholeNetwork
from dse.core.layer import Layer
from dse.core.problem import AnyProblem
from dse.core.space import Block, Gene, GeneVectors
from dse.optimum.chains.program import Program
from dse.optimum.chains.searched.designs import ChainDesigns
from dse.optimum.chains.searched.members import Member, Reading, members_of
from dse.optimum.chains.searched.shares import Plan, Shares, choices_of
from dse.optimum.chains.tilings import part_of, size_of
from dse.optimum.chains.whole import Step, all_subsets
from dse.support.arrays import FloatArray, IntArray

MANY = 4096
"""Plans that are kept ready."""


@dataclass(frozen=True)
class ChainSpace(GeneVectors):
    """`roomy` gives a layer's problem with no limit of the level for what stays."""

    layer: WholeNetwork
    accelerator: Any
    program: Program
    roomy: Callable[[Layer], AnyProblem]

    structure: ClassVar[None] = None
    fixed: ClassVar[dict[str, Any]] = {}

    @cached_property
    def shares(self) -> Shares:
        """The first genes: where tensors are."""
        return Shares(self.program)

    @cached_property
    def members(self) -> tuple[Member, ...]:
        """The others: mappings of layers and their parts."""
        layers, links = self.layer.layers, self.shares.links
        problems = tuple(map(self.roomy, layers))
        parts = sorted({at for one in links for at in (one, one + 1)})
        products = {at: self.roomy(part_of(size_of(layers[at]))) for at in parts}
        second = {one + 1 for one in links if ("columns", one) in self.shares.place}
        return members_of(layers, problems, products, second, len(self.shares.genes))

    @cached_property
    def genes(self) -> tuple[Gene, ...]:
        own = (
            Gene(f"{one.name}.{gene.name}", gene.size, gene.kind, f"{one.name}.{gene.level}", gene.dim)
            for one in self.members
            for gene in one.whole.space.genes
        )
        return (*self.shares.genes, *own)

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        count = len(self.shares.genes)
        found = [Block("stays", tuple(range(count)), 0, self)] if count else []
        for member, block in self._inner:
            genes = tuple(member.start + one for one in block.genes)
            found.append(Block(f"{member.name}.{block.name}", genes, len(found), self))
        return tuple(found)

    @cached_property
    def _inner(self) -> tuple[tuple[Member, Block], ...]:
        return tuple((member, block) for member in self.members for block in member.whole.space.blocks)

    @cached_property
    def mappings(self) -> int:
        """How many distinct designs: of every choice of what stays and every tiling, those of all parts."""
        states: list[dict[frozenset[int], int]] = [{} for _ in range(len(self.layer.layers) + 1)]
        states[0][frozenset()] = 1
        for place in range(len(self.layer.layers)):
            steps = [(place, place), *(one for one in self.program.groups if one[0] == place)]
            for staying, count in states[place].items():
                for step in steps:
                    if staying & set(range(*step)):
                        continue
                    for more in all_subsets(self.program.begins(*step)):
                        now = staying | more
                        after = frozenset(one for one in now if self.program.tensors[one].last > step[1])
                        total = states[step[1] + 1].get(after, 0) + count * self._designs(step, now)
                        states[step[1] + 1][after] = total
        return sum(states[-1].values())

    def _designs(self, step: Step, staying: frozenset[int]) -> int:
        """How many designs a step has."""
        if step[0] == step[1]:
            return int(self.roomy(self.layer.layers[step[0]]).space.designs)
        group = self.shares.group(step, staying)
        return sum(
            prod(self.roomy(part.phase.layer).space.designs for part in tiling.parts)
            for tiling in choices_of(group).values()
        )

    @property
    def identity(self) -> dict[str, Any]:
        machine = {"accelerator": self.accelerator.to_dict(), "tiles": "factors", "fixed": {}}
        shared = {"most": self.program.most} if self.program.most > 1 else {}
        return {"layer": self.layer.to_dict(), **machine, **shared}

    def plan(self, row: IntArray) -> Plan:
        """What stays and is shared in one vector (genes,)."""
        known: dict[bytes, Plan] = self.__dict__.setdefault("_plans", {})
        own = np.ascontiguousarray(row[: len(self.shares.genes)])
        key = own.tobytes()
        if key not in known:
            if len(known) >= MANY:
                known.clear()
            known[key] = self.shares.plan(own)
        return known[key]

    def readings(self, plan: Plan) -> tuple[Reading | None, ...]:
        """How each member's genes are read; None where they are not."""
        layers = {}
        for step in plan.steps:
            if step[0] == step[1]:
                layers[step[0], False] = self.layer.layers[step[0]]
                continue
            for part in self.shares.tiling(step, plan)[1].parts:
                layers[step[0] + part.place, part.phase.returned] = part.phase.layer
        grouped = {at for start, end in plan.steps if start < end for at in range(start, end + 1)}
        return tuple(self._reading(one, layers.get((one.place, one.again)), grouped) for one in self.members)

    def _reading(self, member: Member, layer: Layer | None, grouped: set[int]) -> Reading | None:
        used = member.again or (member.shared if member.place in grouped else member.alone)
        if layer is None or not used:
            return None
        known: dict[tuple[str, Layer], Reading] = self.__dict__.setdefault("_readings", {})
        key = member.name, layer
        if key not in known:
            known[key] = member.reading(self.roomy(layer))
        return known[key]

    def alike(self, genes: IntArray) -> list[tuple[Plan, IntArray]]:
        """The rows of vectors of which the same stays and is shared, with the plan of each."""
        own = genes[:, : len(self.shares.genes)]
        _, first, which = np.unique(own, axis=0, return_index=True, return_inverse=True)
        order = np.argsort(which.ravel(), kind="stable")
        found = groupby(order.tolist(), key=lambda row: int(which.ravel()[row]))
        return [(self.plan(genes[first[kind]]), np.array(list(rows))) for kind, rows in found]

    def sample(self, rng: np.random.Generator, n: int, /) -> IntArray:
        """`n` vectors: what stays and is shared drawn uniformly, each part's mapping as in its own space."""
        found = np.zeros((n, len(self.sizes)), dtype=np.int64)
        count = len(self.shares.genes)
        found[:, :count] = rng.integers(0, self.sizes[:count], size=(n, count), dtype=np.int64)
        for plan, rows in self.alike(found):
            for member, reading in zip(self.members, self.readings(plan), strict=True):
                if reading is not None:
                    drawn = reading.space.sample(rng, len(rows))
                    found[rows, member.slice] = reading.member_genes(drawn)
        return found

    def canonical(self, genes: IntArray, /) -> IntArray:
        found = np.zeros(genes.shape, dtype=np.int64)
        for plan, rows in self.alike(genes):
            found[rows, : len(self.shares.genes)] = self.shares.vector(plan)
            for member, reading in zip(self.members, self.readings(plan), strict=True):
                if reading is not None:
                    found[rows, member.slice] = reading.canonical(genes[rows, member.slice])
        return found

    def neighbour(self, rng: np.random.Generator, genes: IntArray, /) -> IntArray:
        """One neighbour of each vector, of a block that is drawn first, among those that have any."""
        found = self.canonical(genes)
        for row in range(len(found)):
            for block in rng.permutation(len(self.blocks)).tolist():
                near = self.neighbours(found[row], self.blocks[block])
                if len(near):
                    found[row] = near[rng.integers(len(near))]
                    break
        return found

    def neighbours(self, genes: IntArray, block: Block, /) -> IntArray:
        """Something else stays or is shared; or the moves of a block of a part's own space."""
        own = block.index - bool(self.shares.genes)
        if own < 0:
            return self._shared_otherwise(genes)
        member, inner = self._inner[own]
        reading = self.readings(self.plan(genes))[self.members.index(member)]
        blocks = {} if reading is None else {one.name: one for one in reading.space.blocks}
        if reading is None or inner.name not in blocks:
            return np.zeros((0, len(genes)), dtype=np.int64)
        here = reading.own(genes[np.newaxis, member.slice])[0]
        near = reading.space.neighbours(here, blocks[inner.name])
        moved = reading.member_genes(near)
        found = np.tile(genes, (len(near), 1))
        columns = [member.start + one for one in inner.genes]
        found[:, columns] = moved[:, list(inner.genes)]
        return found

    def _shared_otherwise(self, genes: IntArray) -> IntArray:
        count = len(self.shares.genes)
        here, seen = self.plan(genes), {}
        for one in self.shares.neighbours(self.shares.vector(here)):
            plan = self.shares.plan(one)
            if plan != here:
                own = self.shares.vector(plan)
                seen[own.tobytes()] = own
        found = np.tile(genes, (len(seen), 1))
        for row, own in enumerate(seen.values()):
            found[row, :count] = own
        return found

    @cached_property
    def feature_names(self) -> tuple[str, ...]:
        own = (f"{one.name}.{name}" for one in self.members for name in one.whole.space.feature_names)
        return (*(gene.name for gene in self.shares.genes), *own)

    def features(self, genes: IntArray, /) -> FloatArray:
        """What stays and is shared, and the features of what each member's genes are of a whole product."""
        found = self.canonical(genes)
        first = found[:, : len(self.shares.genes)].astype(np.float64)
        own = (one.whole.space.features(found[:, one.slice]) for one in self.members)
        return np.hstack([first, *own])

    def decode(self, genes: IntArray, /) -> ChainDesigns:
        return ChainDesigns(self, self.canonical(self.checked(genes)))
