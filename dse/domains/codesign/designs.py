"""A machine with a mapping of each layer, as the design that a vector of genes stands for."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.domains.codesign.space import HardwareSpace
from dse.support.arrays import IntArray
from dse.support.errors import InputError
from dse.support.validation import keys, table


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
        at, point = self.space.at(row), tuple(row[self.space.parts[0]].tolist())
        mappings = tuple(
            problem.space.decode(self.space.local(at, place, row[np.newaxis]))[0]
            for place, problem in enumerate(at.problems)
        )
        return NetworkDesign(self.space.hardware.values(point), mappings)

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
    given = table(machine, where)
    keys(given, where, required=hardware.parameters)
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
    entry = table(data, where)
    keys(entry, where, required=("machine", "mappings"))
    point = point_of(space.hardware, entry["machine"], f"{where}: machine")
    at = space.ready(point)
    mappings: Sequence[Any] = entry["mappings"]
    if not isinstance(mappings, list) or len(mappings) != len(at.problems):
        raise InputError(f"{where}: mappings must be one for each of {len(at.problems)} layers")
    read = (problem.read_mapping(one, where) for problem, one in zip(at.problems, mappings, strict=True))
    return NetworkDesign(space.hardware.values(point), tuple(read))
