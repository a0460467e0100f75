"""What of a chain stays on chip and which layers share tiles, with a mapping of each part, as a design."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.optimum.chains.searched.shares import Choice, Plan, Shares, plain_shares
from dse.support.arrays import IntArray
from dse.support.errors import InputError, shorten, unknown_name
from dse.support.schema import Schema, read_schema
from dse.support.validation import check_keys


@dataclass(frozen=True)
class SharedGroup(Schema):
    """Layers that share tiles, as a file says it: see Tiling."""

    layers: list[str]
    rows: int
    columns: list[int]
    columns_outside: bool
    held: list[str]


@dataclass(frozen=True)
class ChainDesign:
    """What stays and is shared, and the mapping of each member of its space that is used; None of others."""

    plan: Plan
    shares: Shares
    members: tuple[str, ...]
    mappings: tuple[Any, ...]

    @property
    def stays(self) -> tuple[str, ...]:
        """The layers whose output stays whole, by name."""
        names = [layer.name for layer in self.shares.program.chain.layers]
        return tuple(names[one] for one in sorted(self.plan.staying))

    def to_dict(self) -> dict[str, Any]:
        """It as plain data."""
        own = zip(self.members, self.mappings, strict=True)
        return {
            "stays": list(self.stays),
            "shared": plain_shares(self.plan, self.shares.program),
            "mappings": {name: one.to_dict() for name, one in own if one is not None},
        }

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
        space, row = self.space, self.genes[index]
        plan = space.plan(row)
        own = zip(space.members, space.readings(plan), strict=True)
        mappings = (
            None if one is None else one.space.decode(one.own(row[np.newaxis, member.slice]))[0]
            for member, one in own
        )
        return ChainDesign(plan, space.shares, _names(space), tuple(mappings))

    @property
    def designs(self) -> NDArray[Any]:
        """Each as a row of integers."""
        return self.genes

    def named(self) -> dict[str, NDArray[Any]]:
        """What stays and is shared, and what the genes of each member stand for, by name; 0 where nothing."""
        found = {
            gene.name: self.genes[:, at].astype(object) for at, gene in enumerate(self.space.shares.genes)
        }
        for plan, rows in self.space.alike(self.genes):
            for member, one in zip(self.space.members, self.space.readings(plan), strict=True):
                if one is None:
                    continue
                own = one.space.decode(one.own(self.genes[rows, member.slice])).named()
                for name, column in own.items():
                    whole = found.setdefault(f"{member.name}.{name}", np.zeros(len(self.genes), dtype=object))
                    whole[rows] = column
        return found


def _names(space: Any) -> tuple[str, ...]:
    return tuple(member.name for member in space.members)


def plan_of(shares: Shares, stays: Sequence[str], groups: Sequence[SharedGroup], where: str) -> Plan:
    """The plan that a file says; InputError where it is none."""
    names = [layer.name for layer in shares.program.chain.layers]
    may = [names[one] for one in shares.tensors]
    for name in stays:
        if name not in may:
            raise unknown_name("tensor", name, may, f"{where}: what stays")
    steps = {at: (at, at) for at in range(len(names))}
    choices = {}
    for group in groups:
        places = [names.index(one) for one in group.layers if one in names]
        step = (places[0], places[-1]) if places else (0, 0)
        if step not in shares.program.groups or list(range(step[0], step[1] + 1)) != places:
            raise InputError(f"{where}: {shorten(group.layers)} may not share tiles")
        steps = {at: one for at, one in steps.items() if at not in places} | {step[0]: step}
        held = frozenset(group.held)
        choices[step] = Choice(group.rows, tuple(group.columns), group.columns_outside, held)
    plan = Plan(
        frozenset(names.index(one) for one in stays), tuple(steps[at] for at in sorted(steps)), choices
    )
    try:
        same = shares.plan(shares.vector(plan)) == plan
    except ValueError:
        same = False
    if not same:
        raise InputError(f"{where}: tiles are not shared so; rows and columns are in parts of equal size")
    return plan


def vector_of(space: Any, design: ChainDesign) -> IntArray:
    """The smallest gene vector (genes,) of a design."""
    found = np.zeros(len(space.sizes), dtype=np.int64)
    found[: len(space.shares.genes)] = space.shares.vector(design.plan)
    for member, one, mapping in zip(space.members, space.readings(design.plan), design.mappings, strict=True):
        if one is None:
            continue
        if mapping is None:
            raise InputError(f"a mapping of {member.name} is lacking")
        found[member.slice] = one.member_genes(one.problem.vectors([mapping]))[0]
    canonical: IntArray = space.canonical(found[np.newaxis])[0]
    return canonical


@dataclass(frozen=True)
class _Data(Schema):
    stays: list[str]
    shared: list[SharedGroup]
    mappings: dict[str, Any]


def read_design(space: Any, data: object, where: str) -> ChainDesign:
    """The design in parsed JSON; InputError where it is none."""
    found = read_schema(_Data, data, where)
    plan = plan_of(space.shares, found.stays, found.shared, where)
    names, given = _names(space), found.mappings
    parts = dict(zip(names, space.readings(plan), strict=True))
    check_keys(given, f"{where}: mappings", required=[name for name, one in parts.items() if one is not None])
    mappings = (
        None if one is None else one.problem.read_mapping(given[name], where) for name, one in parts.items()
    )
    return ChainDesign(plan, space.shares, names, tuple(mappings))
