"""A machine of a space of hardware and a mapping for each layer of a network, as one vector of genes.

So DiGamma searches both together (Kao et al., DATE 2022). A parameter of the hardware is an ordinal gene:
which of its values. A layer's genes are those of its mapping space, which may be another on each machine: a
gene b of S values picks value `b * s // S` of the s that there are, S being the most on any structure's
largest machine. A space without layers is one of machines alone.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dse.core.domains import make_problem
from dse.core.layer import Layer
from dse.core.problem import AnyProblem
from dse.core.reasons import Reason
from dse.core.space import Block, Gene, GeneVectors
from dse.domains.codesign.space import HardwareSpace, Point, Priced, box_of_point
from dse.support.arrays import FloatArray, IntArray
from dse.support.errors import InputError
from dse.support.validation import check_keys, check_table


@dataclass(frozen=True)
class NetworkDesign:
    """The parameters of a machine, and a mapping of each layer; none where it is no machine."""

    machine: Mapping[str, float]
    mappings: tuple[Any, ...]

    def to_dict(self) -> dict[str, Any]:
        """It as plain data."""
        return {"machine": dict(self.machine), "mappings": [one.to_dict() for one in self.mappings]}

    def to_json(self) -> str:
        """The same as a line of JSON."""
        return json.dumps(self.to_dict())


@dataclass(frozen=True)
class NetworkDesigns:
    """Many of them: `genes` are canonical, and `space` is the Joint that they are of."""

    space: Any
    genes: IntArray

    def __len__(self) -> int:
        return len(self.genes)

    def __getitem__(self, index: int, /) -> NetworkDesign:
        row = self.genes[index]
        point = tuple(row[self.space.parts[0]].tolist())
        return NetworkDesign(self.space.hardware.values(point), self.space.mappings_at(row))

    @property
    def designs(self) -> NDArray[Any]:
        """Each as a row of integers."""
        return self.genes

    def named(self) -> dict[str, NDArray[Any]]:
        """The parameters of the machines, by their names: a mapping's genes mean another thing on each."""
        values = self.space.hardware.parameters.items()
        return {name: np.array(given)[self.genes[:, place]] for place, (name, given) in enumerate(values)}


def point_of(hardware: HardwareSpace, machine: object, where: str) -> tuple[int, ...]:
    """Where a machine is in a space, by the values of its parameters."""
    given = check_table(machine, where)
    check_keys(given, where, required=hardware.parameters)
    for name, values in hardware.parameters.items():
        if given.get(name) not in values:
            raise InputError(f"{where}: {name} must be one of the space's values, got {given.get(name)!r}")
    return tuple(values.index(given[name]) for name, values in hardware.parameters.items())


def vector_of(space: Any, design: NetworkDesign) -> IntArray:
    """The smallest gene vector (genes,) of a design."""
    point = point_of(space.hardware, design.machine, "machine")
    found = np.zeros(len(space.sizes), np.int64)
    found[space.parts[0]] = point
    at = space.at(found)
    if len(design.mappings) != len(at.problems):
        raise InputError(f"a mapping for each of {len(at.problems)} layers, got {len(design.mappings)}")
    for place, (problem, mapping) in enumerate(zip(at.problems, design.mappings, strict=True)):
        found[space.parts[place + 1]] = space.joined(at, place, problem.vectors([mapping]))[0]
    return found


def read_design(space: Any, data: object, where: str) -> NetworkDesign:
    """The design in parsed JSON; InputError where it is none of the space."""
    entry = check_table(data, where)
    check_keys(entry, where, required=("machine", "mappings"))
    point = point_of(space.hardware, entry["machine"], f"{where}: machine")
    at = space.ready(point)
    mappings: Sequence[Any] = entry["mappings"]
    if not isinstance(mappings, list) or len(mappings) != len(at.problems):
        raise InputError(f"{where}: mappings must be one for each of {len(at.problems)} layers")
    read = (problem.read_mapping(one, where) for problem, one in zip(at.problems, mappings, strict=True))
    return NetworkDesign(space.hardware.values(point), tuple(read))


STRUCTURES, MACHINES = 64, 4096
"""Structures that are looked at for the sizes of genes, and machines that are kept ready."""


class Ready(NamedTuple):
    """A machine with the problems of the layers on it; or the reason why it is none, and in words."""

    priced: Priced | None
    problems: tuple[AnyProblem, ...]
    reason: Reason
    words: str


@dataclass(frozen=True)
class Joint(GeneVectors):
    """Machines of a space, with a mapping of each of some layers."""

    hardware: HardwareSpace
    layers: tuple[Layer, ...]
    objective: str

    @cached_property
    def ready(self) -> Any:
        """From a point of the hardware to what is Ready there."""
        return lru_cache(MACHINES)(self._ready)

    def _ready(self, point: Point) -> Ready:
        try:
            priced = self.hardware.machine(point)
        except InputError as error:
            return Ready(None, (), Reason.BAD_HARDWARE, str(error))
        if broken := self.hardware.broken(box_of_point(point)):
            reason = Reason.AREA_TOO_LARGE if broken.startswith("area") else Reason.OVER_CAP
            return Ready(priced, (), reason, broken)
        problems = tuple(
            make_problem(layer, priced.hardware, self.objective, priced.model) for layer in self.layers
        )
        return Ready(priced, problems, Reason.FEASIBLE, "")

    # A space

    @cached_property
    def _own(self) -> tuple[tuple[Gene, ...], ...]:
        """Of each layer its genes, by the structures' largest machines."""
        roots = list(self.hardware.roots())
        places = np.unique(np.linspace(0, len(roots) - 1, min(len(roots), STRUCTURES)).astype(int))
        found: list[dict[str, Gene]] = [{} for _ in self.layers]
        for place in places.tolist():
            priced = self.hardware.relaxed(roots[place])
            for layer, genes in zip(self.layers, found, strict=True):
                space = make_problem(layer, priced.hardware, self.objective, priced.model).space
                for gene in space.genes:
                    if gene.name not in genes or genes[gene.name].size < gene.size:
                        genes[gene.name] = gene
        return tuple(tuple(genes.values()) for genes in found)

    @cached_property
    def parts(self) -> tuple[slice, ...]:
        """Where the genes of the hardware are, and those of each layer."""
        ends = np.cumsum([len(self.hardware.names), *map(len, self._own)]).tolist()
        return tuple(slice(begin, end) for begin, end in zip([0, *ends], ends, strict=False))

    @cached_property
    def genes(self) -> tuple[Gene, ...]:
        found = [
            Gene(name, len(values), "ordinal", "hardware")
            for name, values in self.hardware.parameters.items()
        ]
        for place, genes in enumerate(self._own):
            found += [
                Gene(f"{place}.{gene.name}", gene.size, gene.kind, f"{place}.{gene.level}", gene.dim)
                for gene in genes
            ]
        return tuple(found)

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        names = ("hardware", *(f"layer {place}" for place in range(len(self.layers))))
        return tuple(
            Block(name, tuple(range(part.start, part.stop)), index, self)
            for index, (name, part) in enumerate(zip(names, self.parts, strict=True))
            if part.stop > part.start
        )

    @property
    def mappings(self) -> int:
        """As many as vectors, at most: what is one design depends on the machine."""
        return self.vectors

    @property
    def identity(self) -> dict[str, Any]:
        layers = [layer.to_dict() | {"repeats": layer.repeats} for layer in self.layers]
        return {
            "layer": {"layers": layers},
            "accelerator": self.hardware.to_dict(),
            "tiles": "factors",
            "fixed": {},
        }

    def sample(self, rng: np.random.Generator, n: int, /) -> IntArray:
        return self.uniform(rng, n)

    def canonical(self, genes: IntArray, /) -> IntArray:
        """The smallest vectors of the same designs; of a machine that is none, the machine alone counts."""
        found = np.array(genes, dtype=np.int64)
        for row, vector in enumerate(genes):
            at = self.at(vector)
            found[row, len(self.hardware.names) :] = 0
            for place, problem in enumerate(at.problems):
                own = problem.space.canonical(self.local(at, place, vector[np.newaxis]))
                found[row, self.parts[place + 1]] = self.joined(at, place, own)[0]
        return found

    def neighbour(self, rng: np.random.Generator, genes: IntArray, /) -> IntArray:
        """One neighbour of each vector: of a part, the hardware or a layer, that is drawn first."""
        found = self.canonical(genes)
        for row, vector in enumerate(found):
            at = self.at(vector)
            # On what is no machine, nothing of a layer is another design.
            block = self.blocks[int(rng.integers(len(self.blocks))) if at.problems else 0]
            place = block.index - 1
            if block.index:
                local = self.local(at, place, vector[np.newaxis])
                near = at.problems[place].space.neighbour(rng, local)
                found[row, self.parts[block.index]] = self.joined(at, place, near)[0]
            else:
                near = self.neighbours(vector, block)
                found[row] = near[rng.integers(len(near))] if len(near) else vector
        return found

    def neighbours(self, genes: IntArray, block: Block, /) -> IntArray:
        """A parameter one up or down; or the moves of a layer's own space."""
        at, part = self.at(genes), self.parts[block.index]
        if not block.index:
            steps = [
                (gene, int(genes[gene]) + step)
                for gene in block.genes
                for step in (-1, 1)
                if 0 <= genes[gene] + step < self.sizes[gene]
            ]
            found = np.tile(genes, (len(steps), 1))
            for row, (gene, value) in enumerate(steps):
                found[row, gene] = value
            return found
        if not at.problems:
            return np.empty((0, len(genes)), np.int64)
        place = block.index - 1
        local, space = self.local(at, place, genes[np.newaxis])[0], at.problems[place].space
        near = np.concatenate([one.neighbours(local) for one in space.blocks])
        found = np.tile(genes, (len(near), 1))
        found[:, part] = self.joined(at, place, space.canonical(near))
        distinct: IntArray = np.unique(found, axis=0)
        return distinct

    @cached_property
    def feature_names(self) -> tuple[str, ...]:
        names = []
        for gene in self.genes:
            names += [gene.name] if gene.kind == "ordinal" else [f"{gene.name} {i}" for i in range(gene.size)]
        return tuple(names)

    def features(self, genes: IntArray, /) -> FloatArray:
        """Values of parameters as log2, what is ordinal from 0 to 4, which choice is taken as 0 or 1."""
        canonical, columns = self.canonical(genes), []
        for place, (gene, column) in enumerate(zip(self.genes, canonical.T, strict=True)):
            if place < len(self.hardware.names):
                values = np.array(self.hardware.parameters[gene.name], dtype=np.float64)
                columns.append(np.log2(np.maximum(values, 1e-9))[column][:, np.newaxis])
            elif gene.kind == "ordinal":
                columns.append(4.0 * column[:, np.newaxis] / max(gene.size - 1, 1))
            else:
                columns.append(np.eye(gene.size)[column])
        return np.concatenate(columns, axis=1)

    def decode(self, genes: IntArray, /) -> NetworkDesigns:
        return NetworkDesigns(self, self.canonical(self.checked(genes)))

    @property
    def structure(self) -> None:
        return None

    @property
    def fixed(self) -> dict[str, Any]:
        return {}

    # Designs

    def at(self, genes: IntArray) -> Ready:
        """The machine of a vector."""
        found: Ready = self.ready(tuple(genes[self.parts[0]].tolist()))
        return found

    def mappings_at(self, genes: IntArray) -> tuple[Any, ...]:
        """The mappings that a vector stands for; none where it is no machine."""
        at = self.at(genes)
        return tuple(
            problem.space.decode(self.local(at, place, genes[np.newaxis]))[0]
            for place, problem in enumerate(at.problems)
        )

    def local(self, at: Ready, place: int, genes: IntArray) -> IntArray:
        """The genes (n, local) of a layer in its space on a machine."""
        space, columns = at.problems[place].space, self._columns(at, place)
        found: IntArray = genes[:, columns] * space.sizes // self.sizes[columns]
        return np.minimum(found, space.sizes - 1)

    def joined(self, at: Ready, place: int, local: IntArray) -> IntArray:
        """The smallest genes (n, genes of the layer) that stand for local ones."""
        space, columns = at.problems[place].space, self._columns(at, place)
        part = self.parts[place + 1]
        found = np.zeros((len(local), part.stop - part.start), np.int64)
        sizes = self.sizes[columns]
        up = np.where(space.sizes < sizes, -(-local * sizes // np.maximum(space.sizes, 1)), local)
        found[:, np.array(columns) - part.start] = np.minimum(up, sizes - 1)
        return found

    def _columns(self, at: Ready, place: int) -> list[int]:
        """Where the genes of a layer's space on a machine are."""
        named = self._named[place]
        return [named[gene.name] for gene in at.problems[place].space.genes]

    @cached_property
    def _named(self) -> tuple[dict[str, int], ...]:
        return tuple(
            {gene.name: part.start + index for index, gene in enumerate(genes)}
            for genes, part in zip(self._own, self.parts[1:], strict=True)
        )
