"""Nests of loops in which each tensor of a level has a depth of its own.

An even nest has all that a level keeps at one depth: above the loops of the level. In an uneven one a
tensor's storage may stand below loops that another's, at the same level, stands above. Such a nest is an even
one of a machine whose levels are in parts: one for each tensor that the level may keep, one below the other,
each with loops of its own. They share the level's room and rates. Spatial loops stay below the last part.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain, groupby

from dse.domains.levels.machine import EVEN, TENSORS, UNEVEN, Bandwidth, Level, Machine
from dse.domains.levels.mapping import HierarchyMapping, LevelMapping, Loop
from dse.support.errors import InputError, unknown_name

NESTS = (EVEN, UNEVEN)


def with_nests(machine: Machine, nests: object) -> Machine:
    """The machine for nests of a kind; InputError where it has none of them."""
    if nests not in NESTS:
        raise unknown_name("nests", nests, NESTS)
    if machine.stated:
        return with_nests(machine.stated, nests).of_widths(machine.widths)
    if nests == EVEN:
        return replace(machine.even or machine, asked_nests=EVEN)
    if machine.even:
        return machine
    for level in machine.levels:
        if level.holds:
            held = ", ".join(level.holds)
            raise InputError(f"machine {machine.name}: level {level.name} holds {held}: its nests are even")
    parts = [_parts(level, outermost=place == 0) for place, level in enumerate(machine.levels)]
    return replace(machine, levels=tuple(chain.from_iterable(parts)), even=machine)


def _parts(level: Level, *, outermost: bool) -> list[Level]:
    """What a level becomes: a part for each tensor that it may keep. The outermost keeps all at the top."""
    may_keep = TENSORS if level.may_keep is None else (*level.keeps, *level.may_keep)
    count = len(dict.fromkeys(may_keep))
    if outermost or count < 2:
        return [level]
    first = replace(
        level, keeps=(), may_keep=tuple(may_keep), fan_out=1, spread=None, multicast=True, reduction=True
    )
    other = replace(first, capacity=None, bandwidth=Bandwidth(), leak_pj=0.0, part_of=level.name)
    parts = [first, *(replace(other, name=f"{level.name}:{number}") for number in range(2, count + 1))]
    parts[-1] = replace(
        parts[-1],
        fan_out=level.fan_out,
        spread=level.spread,
        multicast=level.multicast,
        reduction=level.reduction,
    )
    return parts


def storage_parts(machine: Machine) -> list[list[int]]:
    """The places of each level's parts, the outermost level first; one place where it is not divided."""
    places = range(len(machine.levels))
    return [list(group) for _, group in groupby(places, key=machine.storages.__getitem__)]


def stored_by_level(machine: Machine, level: Level) -> tuple[str, ...]:
    """What a divided level, named by its first part, has to keep."""
    assert machine.even is not None
    return next(one.keeps for one in machine.even.levels if one.name == level.name)


def straightened_nest(machine: Machine, mapping: HierarchyMapping) -> HierarchyMapping:
    """An uneven nest with one tensor in each part, the outermost first, loops in the part that is next above.

    An even one, of the machine before it was divided, becomes an uneven one as well. A nest of another number
    of levels is left as it is. InputError where loops that no tensor stands between cannot be one part's.
    """
    even = machine.even
    if even is None or len(mapping.levels) not in (len(even.levels), len(machine.levels)):
        return mapping
    given, found = list(mapping.levels), []
    whole = len(given) == len(machine.levels)
    for parts in storage_parts(machine):
        here = [given.pop(0) for _ in (parts if whole else parts[:1])]
        found += here if _is_straight(here, len(parts)) else _one_each(machine, parts, here)
    return HierarchyMapping(tuple(found))


def _is_straight(given: Sequence[LevelMapping], parts: int) -> bool:
    """Whether there is a part for each tensor, and those that keep nothing are the last."""
    counts = [len(part.keep) for part in given]
    return len(given) == parts and (
        parts == 1 or (max(counts) < 2 and counts == sorted(counts, reverse=True))
    )


def _one_each(machine: Machine, parts: Sequence[int], given: Sequence[LevelMapping]) -> list[LevelMapping]:
    kept: list[str] = []
    loops: list[list[Loop]] = [[] for _ in parts]
    tiles: list[list[Loop]] = [[] for _ in parts]
    for part in given:
        kept += part.keep
        if len(kept) > len(parts):
            return list(given)  # it keeps something twice, which its price says
        loops[len(kept) - 1] += part.temporal
        tiles[len(kept) - 1] += part.temporal_tiles
    # Below the last tensor loops stand in the last part, above the fan-out.
    last = max(len(kept) - 1, 0)
    if last < len(parts) - 1:
        for own in (loops, tiles):
            own[-1], own[last] = own[last] + own[-1], []
    name = machine.levels[parts[0]].name
    for here in loops:
        if len(dict(here)) < len(here):
            raise InputError(f"{name}: two loops over the same dim stand between its tensors; make them one")
    end = len(parts) - 1
    return [
        LevelMapping(
            (kept[number],) if number < len(kept) else (),
            tuple(loops[number]),
            given[-1].spatial if number == end else (),
            tuple(tiles[number]),
            given[-1].spatial_tiles if number == end else (),
        )
        for number in range(len(parts))
    ]
