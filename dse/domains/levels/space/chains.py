"""The ways to factor one dim over the levels of a machine: a chain of lengths, from the whole dim down to 1.

A dim's chain passes its slots from the outermost in: each is a level's temporal loop or, inside of it, the
spatial one. What is left of the dim below a slot divides what was left above it, or, of tiles of any size, is
no longer than that. Whatever no chain can contain is pruned here: more than a fan-out, and tiles that would
not fit by themselves.
"""

from __future__ import annotations

import warnings
from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import combinations
from math import isqrt, prod

from dse.core.chains import TILES, find_divisors, listed_values
from dse.domains.levels.machine import Level, Machine
from dse.domains.levels.workload import Workload
from dse.support.errors import InputError, Notice

TEMPORAL, SPATIAL = "temporal", "spatial"
FACTORS, ANY = TILES
EVERY_LENGTH = 64
"""Up to which a dim's tiles may have every length."""
LAYER_DIMS = "KCPQRS"
"""The dims of a folded layer's loops; others, and published workloads, may have more."""


@dataclass(frozen=True)
class Slot:
    """A loop that may be over a dim: that of `level` (its place), of one `kind`.

    `most` bounds its factor, `cap` what it leaves (None: nothing does), and `fixed` is the factor if it has
    to be that.
    """

    level: int
    kind: str
    most: int | None = None
    cap: int | None = None
    fixed: int | None = None

    def takes(self, above: int, below: int) -> bool:
        """Whether the loop may turn a length into another that is no longer."""
        factor = -(-above // below)
        within = self.most is None or factor <= self.most
        return within and (self.cap is None or below <= self.cap) and self.fixed in (None, factor)


@dataclass(frozen=True)
class FactorChain:
    """The chains of `dim`, whose size is `size`, through `slots`; `lengths` is what can be left of it,
    ascending: its divisors, or where tiles may be of `any` size, `lengths_of_any` of it.
    """

    dim: str
    size: int
    slots: tuple[Slot, ...]
    lengths: tuple[int, ...]
    any: bool = False

    @cached_property
    def choices(self) -> tuple[dict[int, tuple[int, ...]], ...]:
        """Of every slot: by what is left above it, what may be left below, the largest (factor 1) first.

        Only lengths of which a chain down to 1 can be made are there.
        """
        found: list[dict[int, tuple[int, ...]]] = []
        open_below = {1}
        for slot in reversed(self.slots):
            after = {above: self._below(slot, above, open_below) for above in self.lengths}
            found.insert(0, {above: below for above, below in after.items() if below})
            open_below = set(found[0])
        return tuple(self._reachable(found))

    def _below(self, slot: Slot, above: int, open_below: set[int]) -> tuple[int, ...]:
        if not self.any:
            return tuple(
                below
                for below in reversed(self.lengths)
                if below in open_below and above % below == 0 and slot.takes(above, below)
            )
        # Many: the least that the loop may leave is found first.
        least = -(-above // slot.most) if slot.most else 1
        here = self.lengths[bisect_left(self.lengths, least) : bisect_right(self.lengths, above)]
        return tuple(below for below in reversed(here) if below in open_below and slot.takes(above, below))

    def _reachable(self, choices: list[dict[int, tuple[int, ...]]]) -> list[dict[int, tuple[int, ...]]]:
        """The choices without lengths to which no chain leads from the whole dim."""
        here, found = {self.size}, []
        for step in choices:
            found.append({above: below for above, below in step.items() if above in here})
            here = {length for below in found[-1].values() for length in below}
        return found

    @cached_property
    def count(self) -> int:
        """How many chains there are."""
        ways = {1: 1}
        for step in reversed(self.choices):
            ways = {above: sum(ways.get(length, 0) for length in below) for above, below in step.items()}
        return ways.get(self.size, 0)

    def gene_sizes(self) -> tuple[int, ...]:
        """How many values each slot's gene has: as many as it has choices at most."""
        return tuple(max(map(len, step.values()), default=1) for step in self.choices)

    def why_not(self, factors: tuple[int, ...], machine: Machine) -> str | None:
        """Why the factors of the slots, or the lengths of their tiles, are no chain; None if they are one."""
        left = self.size
        for slot, given, step in zip(self.slots, factors, self.choices, strict=True):
            known, below = step.get(left, ()), given
            if not self.any:
                below = left // given if given > 0 and left % given == 0 else 0
            if below not in known:
                expected = known if self.any else [left // length for length in known]
                return (
                    f"{machine.levels[slot.level].name}.{slot.kind}.{self.dim} "
                    f"{'leaves tiles of' if self.any else '='} {given}; expected one of "
                    f"{listed_values(expected)}, as {left} is left of {self.dim}"
                )
            left = below
        return None


@lru_cache(maxsize=4096)
def chain_of(dim: str, size: int, slots: tuple[Slot, ...], tiles: str = FACTORS) -> FactorChain:
    """The chains of a dim: one for all spaces that have it, as what it has worked out is kept with it."""
    if tiles == FACTORS:
        return FactorChain(dim, size, slots, find_divisors(size))
    fan_outs = tuple(slot.most for slot in slots if slot.most)
    return FactorChain(dim, size, slots, lengths_of_any(size, fan_outs), True)


def lengths_of_any(size: int, fan_outs: tuple[int, ...]) -> tuple[int, ...]:
    """The lengths of tiles of any size of a dim, ascending: all of a short one.

    Of a longer one the least for each number of tiles, and the least of those that fill the fan-outs, or some
    of them.
    """
    if size <= EVERY_LENGTH:
        return tuple(range(1, size + 1))
    units = {prod(some) for n in range(len(fan_outs) + 1) for some in combinations(fan_outs, n)}
    found = {unit * length for unit in units if unit < size for length in _least(-(-size // unit))}
    return tuple(sorted(length for length in found if length <= size))


def _least(size: int) -> set[int]:
    """The least lengths that make so many tiles or fewer, for each number of them."""
    few = range(1, isqrt(size) + 2)
    return {*few, *(-(-size // count) for count in few)}


def factor_chains(
    workload: Workload, machine: Machine, fixed: Mapping[tuple[int, str, str], int], tiles: str = FACTORS
) -> tuple[FactorChain, ...]:
    """The chains of every dim; `fixed` gives factors by level, kind and dim.

    InputError where the factors that are fixed leave no chain.
    """
    found = []
    for dim, size in workload.dims:
        chain = chain_of(dim, size, tuple(_slots(workload, machine, dim, fixed, tiles)), tiles)
        if not chain.count:
            # Nothing fits, whatever the factors: the price of a mapping says so, level by level.
            loose = tuple(Slot(slot.level, slot.kind, slot.most, None, slot.fixed) for slot in chain.slots)
            chain = chain_of(dim, size, loose, tiles)
        if not chain.count:
            given = {key: factor for key, factor in fixed.items() if key[2] == dim}
            said = ", ".join(
                f"{machine.levels[level].name}.{kind}.{dim} = {factor}"
                for (level, kind, _), factor in given.items()
            )
            more = "multiply to it" if tiles == FACTORS else "multiply to it, or to a little more"
            rules = f"divide {size}, " if tiles == FACTORS else ""
            raise InputError(
                f"fixed {said or dim}: no tiling of {dim} = {size} has these factors. The factors of {dim} "
                f"must {rules}be within the fan-outs, and {more}"
            )
        found.append(chain)
    return tuple(found)


def has_loops(level: Level, dim: str, *, outermost: bool) -> bool:
    """Whether there may be temporal loops over a dim at a level: only where something may be kept."""
    return (outermost or level.stores) and (level.loops is None or dim in level.loops)


def _slots(
    workload: Workload,
    machine: Machine,
    dim: str,
    fixed: Mapping[tuple[int, str, str], int],
    tiles: str,
) -> list[Slot]:
    slots: list[Slot] = []
    for place, level in enumerate(machine.levels):
        if place:
            slots[-1] = _capped(slots[-1], _longest(workload, level, dim, tiles))
        if has_loops(level, dim, outermost=place == 0) or not place:
            slots.append(Slot(place, TEMPORAL, fixed=fixed.get((place, TEMPORAL, dim))))
        if level.fan_out > 1 and (level.spread is None or dim in level.spread):
            slots.append(Slot(place, SPATIAL, level.fan_out, fixed=fixed.get((place, SPATIAL, dim))))
    known = {(slot.level, slot.kind) for slot in slots}
    for (place, kind, name), factor in fixed.items():
        if name == dim and (place, kind) not in known and factor != 1:
            level_name = machine.levels[place].name
            raise InputError(f"fixed {level_name}.{kind}.{dim} = {factor}: there is no such loop; expected 1")
    return slots


def _capped(slot: Slot, cap: int | None) -> Slot:
    caps = [limit for limit in (slot.cap, cap) if limit is not None]
    return Slot(slot.level, slot.kind, slot.most, min(caps, default=None), slot.fixed)


def _longest(workload: Workload, level: Level, dim: str, tiles: str) -> int | None:
    """How long a tile may be along a dim, for what the level keeps in any case to fit; at least 1."""
    if level.room is None or not level.keeps:
        return None
    # By how much each axis grows with the tile; along all other dims it has one.
    kept = [
        (tensor.bits, tensor.coefficients(dim))
        for tensor in workload.tensors
        if tensor.name in level.keeps and tensor.name not in level.holds
    ]
    size, room = workload.sizes[dim], level.room
    lengths = find_divisors(size) if tiles == FACTORS else range(1, size + 1)

    def needs(length: int) -> int:
        return sum(bits * prod([1 + more * (length - 1) for more in growth]) for bits, growth in kept)

    return lengths[max(0, bisect_right(lengths, room, key=needs) - 1)]


class NothingToSpread(Notice):
    """A machine names dims to spread that no folded layer has, nor the one that is mapped."""


def note_foreign_spreads(machine: Machine, workload: Workload) -> None:
    """Say of each fan-out which of the dims to be spread over it neither the workload nor any layer has."""
    known = {*LAYER_DIMS, *(dim for dim, size in workload.sizes.items() if size > 1)}
    for level in machine.levels:
        foreign = [dim for dim in level.spread or () if dim not in known]
        if foreign and level.fan_out > 1:
            warnings.warn(
                f"machine {machine.name}: level {level.name}: nothing is spread along "
                f"{' or '.join(foreign)}, which no layer has; its dims are {' '.join(LAYER_DIMS)} "
                "(of a product's M, N, K: P, K, C)",
                NothingToSpread,
                stacklevel=3,
            )
