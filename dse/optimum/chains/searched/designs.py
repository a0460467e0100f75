"""What stays on chip, with a mapping of each layer, as the design that a vector of genes stands for."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.support.arrays import IntArray
from dse.support.errors import InputError, unknown
from dse.support.validation import keys, table


@dataclass(frozen=True)
class ChainDesign:
    """The layers whose output stays on chip, by name, and a mapping of each layer."""

    stays: tuple[str, ...]
    mappings: tuple[Any, ...]

    def to_dict(self) -> dict[str, Any]:
        """It as plain data."""
        return {"stays": list(self.stays), "mappings": [one.to_dict() for one in self.mappings]}

    def to_json(self) -> str:
        """The same as a line of JSON."""
        return json.dumps(self.to_dict())


@dataclass(frozen=True)
class ChainDesigns:
    """Many of them: `genes` are canonical, and `space` is the ChainSpace that they are of."""

    space: Any
    genes: IntArray

    def __len__(self) -> int:
        return len(self.genes)

    def __getitem__(self, index: int, /) -> ChainDesign:
        row, space = self.genes[index], self.space
        stays = tuple(name for name, gene in zip(space.names, row.tolist(), strict=False) if gene)
        own = zip(space.parts, space.problems, strict=True)
        return ChainDesign(
            stays, tuple(problem.space.decode(row[part][np.newaxis])[0] for part, problem in own)
        )

    @property
    def designs(self) -> NDArray[Any]:
        """Each as a row of integers."""
        return self.genes

    def named(self) -> dict[str, NDArray[Any]]:
        """What stays, and what the genes of each layer stand for, by name."""
        found = {f"stays.{name}": self.genes[:, place] for place, name in enumerate(self.space.names)}
        for layer, part, problem in zip(
            self.space.layer.layers, self.space.parts, self.space.problems, strict=True
        ):
            own = problem.space.decode(self.genes[:, part]).named()
            found |= {f"{layer.name}.{name}": column for name, column in own.items()}
        return found


def vector_of(space: Any, design: ChainDesign) -> IntArray:
    """The smallest gene vector (genes,) of a design."""
    for name in design.stays:
        if name not in space.names:
            raise unknown("tensor", name, space.names, "what stays")
    if len(design.mappings) != len(space.problems):
        raise InputError(f"a mapping for each of {len(space.problems)} layers, got {len(design.mappings)}")
    stays = np.array([[name in design.stays for name in space.names]], dtype=np.int64)
    own = zip(space.problems, design.mappings, strict=True)
    parts = [problem.vectors([mapping]) for problem, mapping in own]
    found: IntArray = space.canonical(np.hstack([stays, *parts]))[0]
    return found


def read_design(space: Any, data: object, where: str) -> ChainDesign:
    """The design in parsed JSON; InputError where it is none."""
    entry = table(data, where)
    keys(entry, where, required=("stays", "mappings"))
    stays, mappings = entry["stays"], entry["mappings"]
    if not isinstance(stays, list) or not isinstance(mappings, list) or len(mappings) != len(space.problems):
        raise InputError(
            f"{where}: expected a list 'stays', and 'mappings', one for each of {len(space.problems)} layers"
        )
    own = zip(space.problems, mappings, strict=True)
    return ChainDesign(
        tuple(map(str, stays)), tuple(problem.read_mapping(one, where) for problem, one in own)
    )
