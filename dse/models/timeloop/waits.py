"""The cycles of a run in which all else waits for some transfers, compiled: see `latency`, whose order of
doubles this is."""

from __future__ import annotations

import numpy as np

from dse.models.timeloop.latency import NEARLY
from dse.support.compiling import inlined, subroutine

READS, FILLS, UPDATES = range(3)
COUNTED, RETURNED = 0, 2


@subroutine
def waiting_cycles(known, work):
    """Cycles of a run: what all else waits for, and the most of what goes on beside (rules 7 and 8)."""
    begin_waits(known, work)
    total = 0.0
    for tensor in range(len(known.bits)):
        for inner in range(len(known.levels)):
            outer = waits_for(known, work, tensor, inner)
            if outer >= 0:
                total += wait(known, work, tensor, outer, inner)
    return whole_cycles(known, work, total)


@inlined
def waits_for(known, work, tensor, inner):
    """The place from which a tensor comes to this one while all else waits; -1 if nothing waits for that."""
    outer = -1
    if work.tiles[inner, tensor].words > 0 and (known.levels[inner].single or known.fill_and_drain):
        outer = inner - 1
        while outer >= 0 and work.tiles[outer, tensor].words == 0:
            outer -= 1
    return outer


@inlined
def whole_cycles(known, work, total):
    """The cycles of a run in which all else waits for so many."""
    # Of the computing: one step of all temporal loops a cycle.
    beside = np.float64(work.passes[0])
    for place in range(len(known.levels)):
        level, storage = known.levels[place], work.storages[place]
        beside = max(beside, storage.sends / level.read_bandwidth)
        beside = max(beside, storage.takes / level.write_bandwidth)
        beside = max(beside, (storage.sends + storage.takes) / level.shared_bandwidth)
    return np.ceil((total + beside) * NEARLY)


@inlined
def begin_waits(known, work):
    """Has every level read and write all words of its parts beside others."""
    for place in range(len(known.levels)):
        work.storages[place].sends = work.storages[place].takes = 0
    for place in range(len(known.levels)):
        storage = work.storages[known.levels[place].storage]
        for tensor in range(len(known.bits)):
            counts, wide = work.accesses[place, tensor], known.bits[tensor]
            storage.sends += counts[READS] * wide
            storage.takes += (counts[FILLS] + counts[UPDATES]) * wide


@inlined
def wait(known, work, tensor, outer, inner):
    """Cycles of the transfers of a tensor from one place to the next that all else waits for; they are then
    no longer beside others.
    """
    tile, through = work.tiles[inner, tensor].words, work.tiles[outer, tensor].through
    output, down, up = tensor == known.output, tile, 0
    if known.levels[inner].single:
        down = work.accesses[inner, tensor, FILLS]
        if output:
            up = work.accesses[outer, tensor, UPDATES] // through
            # First partial sums bring nothing, whether or not they count as fills.
            if known.first_fill == COUNTED:
                down -= share_of_output(known, work, inner)
    elif output:
        down, up = tile if known.first_fill == RETURNED else 0, tile
    comes, goes = down * known.bits[tensor], up * known.bits[tensor] * through
    return take_transfer(known, work, (outer, inner), comes, comes * through, goes)


@inlined
def take_transfer(known, work, link, comes, sent, goes):
    """Cycles of transfers of so many bits, which are no longer beside others."""
    outer, inner = link
    outer, inner = known.levels[outer].storage, known.levels[inner].storage
    below, above = known.levels[inner], known.levels[outer]
    work.storages[inner].takes = max(work.storages[inner].takes - comes, 0)
    work.storages[outer].sends = max(work.storages[outer].sends - sent, 0)
    work.storages[outer].takes = max(work.storages[outer].takes - goes, 0)
    cycles = max(comes / below.write_bandwidth, comes / below.shared_bandwidth)
    cycles = max(cycles, max(sent / above.read_bandwidth, sent / above.shared_bandwidth))
    return cycles + max(goes / above.write_bandwidth, goes / above.shared_bandwidth)


@inlined
def share_of_output(known, work, place):
    """The part of the output that an instance of a level works on."""
    words = 1
    for axis in range(known.first_axis[known.output], known.first_axis[known.output + 1]):
        words *= work.current[axis]
    return words // work.uses[place].parts
