"""Limits of a user's own on mappings onto levels: how much of a level they may use, how many MACs work.

`LEVEL_use`, as in `GlobalBuffer_use`, is what a level with a capacity has to hold over that capacity.
`pe_use` is the product of all spatial factors over the machine's MACs: the share that works in every step.
`dse evaluate` prints both.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from dse.core.limits import AT_LEAST, AT_MOST, PE_USE, USE, Limit
from dse.domains.levels.machine import Machine
from dse.domains.levels.space.batch import Limits
from dse.support.arrays import BoolArray, IntArray


def figures_of(machine: Machine) -> dict[str, str]:
    """The figures of a machine that can be limited, with the sign of each."""
    levels = (level.name for level in machine.levels if level.capacity is not None)
    return {**{name + USE: AT_MOST for name in levels}, PE_USE: AT_LEAST}


@dataclass(frozen=True)
class LevelsUse:
    """What limits leave of a machine."""

    limits: Mapping[str, Limit]
    machine: Machine

    @cached_property
    def _of_levels(self) -> dict[int, Limit]:
        return {
            place: self.limits[level.name + USE]
            for place, level in enumerate(self.machine.levels)
            if level.name + USE in self.limits.keys() - {PE_USE}
        }

    @cached_property
    def rooms(self) -> tuple[int | None, ...]:
        """What mappings may use of each level, in its unit; None without end. Costs are those of it whole."""
        rooms = [level.capacity for level in self.machine.levels]
        for place, limit in self._of_levels.items():
            rooms[place] = limit.of(rooms[place] or 0)
        return tuple(rooms)

    @property
    def least_macs(self) -> int:
        """How many MACs have to work."""
        return self._least_of(self.machine.macs)

    def broken(self, words: IntArray, wide: IntArray, limits: Limits) -> BoolArray:
        """Which mappings break a limit, of what levels hold and spread over (n, levels).

        `limits` has what there is of both, in a row for each or for all.
        """
        found = np.zeros(len(words), dtype=bool)
        for place, limit in self._of_levels.items():
            sizes, which = np.unique(limits.words[:, place], return_inverse=True)
            rooms = np.array([limit.of(size) for size in sizes.tolist()], dtype=np.int64)
            found |= words[:, place] > rooms[which]
        if PE_USE in self.limits:
            macs, which = np.unique(limits.widest.prod(axis=1), return_inverse=True)
            least = np.array([self._least_of(count) for count in macs.tolist()], dtype=np.int64)
            found |= wide.prod(axis=1) < least[which]
        return found

    def why(self, words: list[int], wide: list[int]) -> str:
        """Which limit a mapping breaks, with its figure; nothing if it breaks none."""
        levels, unit = self.machine.levels, self.machine.unit
        for place, limit in self._of_levels.items():
            level, size, room = levels[place], levels[place].capacity or 0, self.rooms[place] or 0
            if words[place] > room:
                use = words[place] / size if size else np.inf
                return (
                    f"{level.name}{USE} is {use:.6g}, and the limit is {limit}: {level.name} needs "
                    f"{words[place]} of {size} {unit}, of which {room} may be used"
                )
        used, least = int(np.prod(wide, dtype=np.int64)), self.least_macs
        if PE_USE in self.limits and used < least:
            return (
                f"{PE_USE} is {used / self.machine.macs:.6g}, and the limit is {self.limits[PE_USE]}: {used} "
                f"of {self.machine.macs} MACs work, and at least {least} have to"
            )
        return ""

    def _least_of(self, macs: int) -> int:
        limit = self.limits.get(PE_USE)
        return 0 if limit is None else -int(-Fraction(limit.share) * macs // 1)
