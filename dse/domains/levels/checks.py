"""What no machine of levels can be: without a name, with a tensor held twice, buffering of nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from dse.support.errors import InputError, shorten, unknown_name
from dse.support.validation import positive_number

MAX_LETTERS = 100
MAX_PJ = 1e30
OVERLAPPED, SINGLE, DOUBLE = BUFFERINGS = ("overlapped", "single", "double")
"""How a level gets its next tile: into all of it while the present one is in use, as Timeloop has it; only
when the present one is done with; or into a half of it, while the present one is in the other."""


class Storing(Protocol):
    """A level, as far as these checks go."""

    @property
    def name(self) -> str: ...
    @property
    def keeps(self) -> tuple[str, ...]: ...
    @property
    def may_keep(self) -> tuple[str, ...] | None: ...
    @property
    def holds(self) -> tuple[str, ...]: ...
    @property
    def buffering(self) -> str: ...


def see_name(name: object, what: str) -> None:
    """InputError where a name is none that can be shown: names come from files of others."""
    if not isinstance(name, str) or not name or not name.isprintable() or len(name) > MAX_LETTERS:
        raise InputError(
            f"{what}: name must be printable text of 1 to {MAX_LETTERS} letters, got {shorten(name)}"
        )


def see_buffering(levels: Sequence[Storing], machine: str) -> None:
    """InputError for a word that is none of these, and of a level into which no tiles come."""
    for place, level in enumerate(levels):
        where = f"machine {machine}: level {level.name}"
        if level.buffering not in BUFFERINGS:
            raise unknown_name("buffering", level.buffering, BUFFERINGS, where)
        if level.buffering != OVERLAPPED:
            if place == 0:
                raise InputError(f"{where} is the outermost, into which no tiles come: leave out buffering")
            if level.may_keep == () and not level.keeps:
                raise InputError(f"{where} keeps nothing: leave out buffering")


def see_levels(levels: Sequence[Storing], instances: Sequence[int], machine: str) -> None:
    """InputError for a tensor that cannot be held where it is, and for buffering that cannot be."""
    see_held(levels, instances, machine)
    see_buffering(levels, machine)


def see_held(levels: Sequence[Storing], instances: Sequence[int], machine: str) -> None:
    """InputError where a tensor is held by two levels, or by one of several instances."""
    held = [name for level in levels for name in level.holds]
    for place, level in enumerate(levels):
        for name in level.holds:
            if held.count(name) > 1:
                raise InputError(f"machine {machine}: {name} is held by two levels; name it in one")
        if level.holds and instances[place] > 1:
            raise InputError(
                f"machine {machine}: level {level.name} has {instances[place]} instances; only "
                "one that is there once can hold a tensor"
            )


def not_negative(value: object, what: str) -> float:
    """`value` as a finite float of 0 or more."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(f"{what} must be a number, got {shorten(value)}")
    if value < 0:
        raise InputError(f"{what} must not be negative, got {shorten(value)}")
    if value > MAX_PJ:  # sums of such figures would be infinite
        raise InputError(f"{what} must be at most {MAX_PJ:g}, got {shorten(value)}")
    return positive_number(value, what) if value else 0.0


def names_among(value: object, known: tuple[str, ...], kind: str, what: str) -> tuple[str, ...]:
    """Names in a list, or in a text of one-letter names."""
    names = tuple(value) if isinstance(value, list | tuple | str) else (value,)
    for name in names:
        if name not in known:
            raise unknown_name(kind, name, known, what)
        if names.count(name) > 1:
            raise InputError(f"{what}: {name} is there twice")
    return names
