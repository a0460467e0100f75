"""The ways to factor one dim over the levels of a machine: a chain of divisors, from the whole dim down to 1.

A dim's chain passes its slots from the outermost in: each is a level's temporal loop or, inside of it, the
spatial one. What is left of the dim below a slot divides what was left above it. Whatever no chain can
contain is pruned here: more than a fan-out, and tiles that would not fit by themselves.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache

from dse.core.chains import divisors, listed
from dse.domains.levels.machine import Level, Machine
from dse.domains.levels.workload import Workload
from dse.support.errors import InputError

TEMPORAL, SPATIAL = "temporal", "spatial"


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
        """Whether the loop may turn a length into another that divides it."""
        factor = above // below
        within = self.most is None or factor <= self.most
        return within and (self.cap is None or below <= self.cap) and self.fixed in (None, factor)


@dataclass(frozen=True)
class FactorChain:
    """The chains of `dim`, whose size is `size`, through `slots`."""

    dim: str
    size: int
    slots: tuple[Slot, ...]

    @cached_property
    def lengths(self) -> tuple[int, ...]:
        """What can be left of the dim, ascending."""
        return divisors(self.size)

    @cached_property
    def choices(self) -> tuple[dict[int, tuple[int, ...]], ...]:
        """Of every slot: by what is left above it, what may be left below, the largest (factor 1) first.

        Only lengths of which a chain down to 1 can be made are there.
        """
        found: list[dict[int, tuple[int, ...]]] = []
        open_below = {1}
        for slot in reversed(self.slots):
            after = {
                above: tuple(
                    below
                    for below in reversed(self.lengths)
                    if below in open_below and above % below == 0 and slot.takes(above, below)
                )
                for above in self.lengths
            }
            found.insert(0, {above: below for above, below in after.items() if below})
            open_below = set(found[0])
        return tuple(self._reachable(found))

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
        """Why the factors of the slots are no chain, in words; None if they are one."""
        left = self.size
        for slot, factor, step in zip(self.slots, factors, self.choices, strict=True):
            below = left // factor if factor > 0 and left % factor == 0 else 0
            if below not in step.get(left, ()):
                known = [left // length for length in step.get(left, ())]
                name = f"{machine.levels[slot.level].name}.{slot.kind}.{self.dim}"
                return f"{name} = {factor}; expected one of {listed(known)}, as {left} is left of {self.dim}"
            left = below
        return None


@lru_cache(maxsize=4096)
def chain_of(dim: str, size: int, slots: tuple[Slot, ...]) -> FactorChain:
    """The chains of a dim: one for all spaces that have it, as what it has worked out is kept with it."""
    return FactorChain(dim, size, slots)


def factor_chains(
    workload: Workload, machine: Machine, fixed: Mapping[tuple[int, str, str], int]
) -> tuple[FactorChain, ...]:
    """The chains of every dim; `fixed` gives factors by level, kind and dim.

    InputError where the factors that are fixed leave no chain.
    """
    found = []
    for dim, size in workload.dims:
        chain = chain_of(dim, size, tuple(_slots(workload, machine, dim, fixed)))
        if not chain.count:
            # Nothing fits, whatever the factors: the price of a mapping says so, level by level.
            loose = tuple(Slot(slot.level, slot.kind, slot.most, None, slot.fixed) for slot in chain.slots)
            chain = chain_of(dim, size, loose)
        if not chain.count:
            given = {key: factor for key, factor in fixed.items() if key[2] == dim}
            said = ", ".join(
                f"{machine.levels[level].name}.{kind}.{dim} = {factor}"
                for (level, kind, _), factor in given.items()
            )
            raise InputError(
                f"fixed {said or dim}: no factors of {dim} = {size} are like this; they have to divide it, "
                "to be no more than a fan-out, and to multiply to it"
            )
        found.append(chain)
    return tuple(found)


def has_loops(level: Level, dim: str, *, outermost: bool) -> bool:
    """Whether there may be temporal loops over a dim at a level: only where something may be kept."""
    holds = outermost or level.keeps or level.may_keep is None or level.may_keep or level.holds
    return bool(holds) and (level.loops is None or dim in level.loops)


def _slots(
    workload: Workload, machine: Machine, dim: str, fixed: Mapping[tuple[int, str, str], int]
) -> list[Slot]:
    slots: list[Slot] = []
    for place, level in enumerate(machine.levels):
        if place:
            slots[-1] = _capped(slots[-1], _longest(workload, level, dim))
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


def _longest(workload: Workload, level: Level, dim: str) -> int | None:
    """How long a tile may be along a dim, for what the level keeps in any case to fit; at least 1."""
    if level.capacity is None or not level.keeps:
        return None
    box = dict.fromkeys(workload.names, 1)
    kept = [
        tensor for tensor in workload.tensors if tensor.name in level.keeps and tensor.name not in level.holds
    ]
    longest = 1
    for length in divisors(workload.sizes[dim]):
        if sum(tensor.room(box | {dim: length}) for tensor in kept) <= level.capacity:
            longest = length
    return longest
