"""The cycles of a mapping in plain Python, from its counts (rules 5, 7 and 8 of docs/timeloop.md)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

from dse.domains.levels.checks import SINGLE
from dse.domains.levels.machine import FIRST_FILLS, RETURNED, Level, Machine
from dse.domains.levels.workload import Workload

ACCESSES = ("reads", "fills", "updates")
LARGEST_CYCLES = 2**62
COUNTED = FIRST_FILLS[0]
NEARLY = 1 - 2.0**-43
"""Sums of quotients are rounded up, unless they are above a whole number by less than this share of it."""


@dataclass(frozen=True)
class Counts:
    """Of one tensor at one level that keeps it, for one instance: accesses over the run, in words.

    `tile` is what the instance holds, `share` the part of the tensor that it works on, `instances` how many
    are at work. A word takes `bits` of what levels count. Where tiles do not divide, it is the one that does
    most, `everywhere` are reads, fills and updates of all of them, and `share` is not told (0); of one into
    which all else waits for transfers, `waited` are the words that come, those that the next instance outside
    reads for them and for its others, and those that it gets back.
    """

    reads: int
    fills: int
    updates: int
    tile: int
    share: int
    instances: int
    bits: int = 1
    everywhere: tuple[int, int, int] | None = None
    waited: tuple[int, int, int] | None = None

    def words(self, kind: str) -> int:
        """The reads, fills or updates of all instances."""
        alike = int(getattr(self, kind)) * self.instances
        return alike if self.everywhere is None else self.everywhere[ACCESSES.index(kind)]


Kept = Mapping[str, Mapping[str, Counts]]
"""What levels keep, by level and tensor."""


@dataclass(frozen=True)
class Latency:
    """`cycles` of a run; of levels, by name, those of transfers into and out of them while all else `waits`,
    and those of the transfers that are beside others (`least`): the most of these and of the steps come on
    top.
    """

    cycles: float
    least: dict[str, float]
    waits: dict[str, float]


@dataclass(frozen=True)
class Wait:
    """Transfers between an instance of place `outer` and those of `inner` that all else waits for, in bits:
    what `comes` to one of these, is `sent` by the outer one, and `goes` back to it.
    """

    outer: int
    inner: int
    comes: int
    sent: int
    goes: int


def latency_of(workload: Workload, machine: Machine, kept: Kept, steps: int) -> Latency:
    """The latency of a mapping of so many steps."""
    if machine.waits:
        return _with_waits(workload, machine, kept, steps)
    least = {
        level.name: level_cycles(level, kept_together(machine, kept, place), steps)
        for place, level in enumerate(machine.levels)
    }
    return Latency(max(steps, *least.values()), least, {})


def kept_together(machine: Machine, counts: Kept, place: int) -> dict[str, Counts]:
    """What a level and the other parts of it keep, by tensor; nothing of a part that is not the first."""
    found: dict[str, Counts] = {}
    for level, first in zip(machine.levels, machine.storages, strict=True):
        if first == place:
            found |= counts.get(level.name, {})
    return found


def level_cycles(
    level: Level, kept: dict[str, Counts], compute_cycles: int, *, hidden: bool = False
) -> float:
    """Cycles that a level's transfers take, in the doubles and the order of the published figures.

    0 where they take no longer than computing, unless what is `hidden` behind that is asked for.
    """
    read = write = 0.0
    for counts in kept.values():
        read += counts.reads * counts.bits / compute_cycles
        write += (counts.fills + counts.updates) * counts.bits / compute_cycles
    slowest = 0.0
    for bandwidth, demand in (
        (level.bandwidth.read, read),
        (level.bandwidth.write, write),
        (level.bandwidth.shared, write + read),
    ):
        if bandwidth is not None and (bandwidth < demand or (hidden and demand)):
            quotient = bandwidth / demand
            cycles = compute_cycles / quotient if quotient else math.inf
            slowest = max(slowest, math.ceil(cycles) if cycles < LARGEST_CYCLES else math.inf)
    return slowest


def _with_waits(workload: Workload, machine: Machine, kept: Kept, steps: int) -> Latency:
    read, write = [0] * len(machine.levels), [0] * len(machine.levels)
    for level, place in zip(machine.levels, machine.storages, strict=True):
        for counts in kept.get(level.name, {}).values():
            read[place] += counts.reads * counts.bits
            write[place] += (counts.fills + counts.updates) * counts.bits
    total, waits = 0.0, dict[str, float]()
    for wait in waits_of(workload, machine, kept):
        inner, outer = machine.storages[wait.inner], machine.storages[wait.outer]
        below, above = machine.levels[inner].bandwidth, machine.levels[outer].bandwidth
        comes, sent, goes = wait.comes, wait.sent, wait.goes
        write[inner] = max(write[inner] - comes, 0)
        read[outer] = max(read[outer] - sent, 0)
        write[outer] = max(write[outer] - goes, 0)
        down = max(
            _takes(comes, below.write), _takes(comes, below.shared),
            _takes(sent, above.read), _takes(sent, above.shared),
        )  # fmt: skip
        cycles = down + max(_takes(goes, above.write), _takes(goes, above.shared))
        total += cycles
        waits[machine.levels[inner].name] = waits.get(machine.levels[inner].name, 0.0) + cycles
    least = {
        level.name: max(
            _takes(read[place], level.bandwidth.read),
            _takes(write[place], level.bandwidth.write),
            _takes(read[place] + write[place], level.bandwidth.shared),
        )
        for place, level in enumerate(machine.levels)
    }
    whole = (total + max(float(steps), *least.values())) * NEARLY
    return Latency(math.ceil(whole) if whole < LARGEST_CYCLES else math.inf, least, waits)


def waits_of(workload: Workload, machine: Machine, kept: Kept) -> Iterator[Wait]:
    """The transfers that all else waits for, tensor by tensor, from the outermost level in."""
    for tensor in workload.tensors:
        places = [
            (place, kept[level.name][tensor.name])
            for place, level in enumerate(machine.levels)
            if tensor.name in kept.get(level.name, {})
        ]
        for (outer, above), (inner, here) in pairwise(places):
            if here.waited:
                yield Wait(outer, inner, *(words * here.bits for words in here.waited))
                continue
            # First partial sums bring nothing, whether or not they count as fills.
            down = here.fills - (here.share if tensor.output and machine.first_fill == COUNTED else 0)
            up = down + here.share if tensor.output else 0
            through = above.updates // up if tensor.output else above.reads // down
            if machine.levels[inner].buffering != SINGLE:
                if not machine.fill_and_drain:
                    continue
                down = 0 if tensor.output and machine.first_fill != RETURNED else here.tile
                up = here.tile if tensor.output else 0
            comes = down * here.bits
            yield Wait(outer, inner, comes, comes * through, up * here.bits * through)


def _takes(words: int, rate: float | None) -> float:
    return 0.0 if rate is None else words / rate
