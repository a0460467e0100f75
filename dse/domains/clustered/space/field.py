"""The field `space` of a problem, that is given as parts and read as the space made of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, overload

from dse.domains.clustered.space.mapping_space import MappingSpace
from dse.domains.clustered.space.parts import Parts, read_parts


class HasSpace(Protocol):
    """What makes its space when that is first read."""

    def make_space(self) -> MappingSpace: ...


class SpaceField:
    """The field `space` of a Problem: takes the parts of a space (or a space, for them), gives the space."""

    def __set__(self, problem: HasSpace, given: str | Mapping[str, Any] | Parts | MappingSpace) -> None:
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
