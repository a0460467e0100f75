"""The latency of a nest by going through its steps: the closed forms of `latency` are tested against it.

Before the first step the first tiles come, from the outermost level in; after the last one the last results
go, from the innermost out. Between two steps single-buffered levels give back results and get what is new of
their next tiles, one after the other, and all else waits. In a step the MACs work for a cycle and each port
moves its share of what goes on beside, the same in every step; the slowest of them says how long that takes.
Words are sets, counted one by one, and time is a fraction. For small nests.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import ceil, prod

from dse.domains.levels.checks import SINGLE
from dse.domains.levels.machine import RETURNED, Machine
from dse.domains.levels.mapping import HierarchyMapping
from dse.domains.levels.workload import Tensor, Workload
from tests.domains.levels.timeloop.walk import Offset, children_of, count_arrivals, walk_loops

Ports = dict[tuple[int, str], int]
"""What levels, by place, read and write."""


@dataclass(frozen=True)
class _Link:
    """From a place that keeps a tensor to the next one in: whose words all differ `through` times."""

    tensor: Tensor
    outer: int
    inner: int
    through: int


@dataclass(frozen=True)
class _Transfer:
    """Words of the inner tile that come down or go up before a step."""

    step: int
    link: _Link
    words: int
    up: bool


def simulate(workload: Workload, machine: Machine, mapping: HierarchyMapping) -> int:
    """The cycles of a mapping."""
    steps = prod(n for level in mapping.levels for _, n in level.temporal)
    links = list(_links(workload, machine, mapping))
    waits = [
        transfer
        for link in links
        for transfer in _transfers(workload, mapping, link, steps, returned=machine.first_fill == RETURNED)
        if machine.levels[link.inner].buffering == SINGLE
        or (machine.fill_and_drain and transfer.step == (steps if transfer.up else 0))
    ]
    left = _all_words(workload, machine, mapping)
    for transfer in waits:
        for port, words in _moved(machine, transfer).items():
            left[port] = max(left[port] - words, 0)
    share = {port: Fraction(words, steps) for port, words in left.items()}
    clock = Fraction(0)
    for step in range(steps + 1):
        for transfer in waits:
            if transfer.step == step:
                clock += _time(machine, _moved(machine, transfer))
        if step < steps:
            clock += max(Fraction(1), _time(machine, share))
    return ceil(clock)


def _links(workload: Workload, machine: Machine, mapping: HierarchyMapping) -> Iterator[_Link]:
    for tensor in workload.tensors:
        places = [at for at, level in enumerate(mapping.levels) if tensor.name in level.keep]
        for outer, inner in pairwise(places):
            children = children_of(workload, machine, mapping, tensor, outer, inner)
            yield _Link(tensor, outer, inner, len(list(children)))


def _transfers(
    workload: Workload, mapping: HierarchyMapping, link: _Link, steps: int, *, returned: bool
) -> Iterator[_Transfer]:
    """What comes to an instance of the inner level, and goes from it, before which step."""
    found, words = list(count_arrivals(workload, mapping, link.tensor, link.inner)), 0
    visited: set[Offset] = set()
    for number, (tile, fresh) in enumerate(found):
        step = number * (steps // len(found))
        if link.tensor.output:
            if fresh and words:
                yield _Transfer(step, link, words, up=True)
            # Partial sums that there are none of yet do not come.
            words, comes = fresh or words, len(tile) if returned else len(tile & visited)
            visited |= tile
        else:
            comes = fresh
        if fresh and comes:
            yield _Transfer(step, link, comes, up=False)
    if link.tensor.output:
        yield _Transfer(steps, link, words, up=True)


def _all_words(workload: Workload, machine: Machine, mapping: HierarchyMapping) -> Ports:
    found: Ports = {(place, kind): 0 for place in machine.storages for kind in ("read", "write")}
    walked, bits = walk_loops(workload, machine, mapping), {one.name: one.bits for one in workload.tensors}
    for level, place in zip(machine.levels, machine.storages, strict=True):
        for name, counts in walked.get(level.name, {}).items():
            found[place, "read"] += counts.reads * bits[name]
            found[place, "write"] += (counts.fills + counts.updates) * bits[name]
    return found


def _moved(machine: Machine, transfer: _Transfer) -> Ports:
    """What a transfer moves: at the outer level the words of all inner instances that differ."""
    link, words = transfer.link, transfer.words * transfer.link.tensor.bits
    inner, outer = machine.storages[link.inner], machine.storages[link.outer]
    if transfer.up:
        return {(outer, "write"): words * link.through}
    return {(outer, "read"): words * link.through, (inner, "write"): words}


def _time(machine: Machine, words: Ports | dict[tuple[int, str], Fraction]) -> Fraction:
    """Cycles in which ports move these words at the same time: those of the slowest."""
    slowest = Fraction(0)
    for place, level in enumerate(machine.levels):
        read, write = (Fraction(words.get((place, kind), 0)) for kind in ("read", "write"))
        rates = level.bandwidth.each
        for moved, rate in zip((read, write, read + write), rates, strict=True):
            if rate is not None:
                slowest = max(slowest, moved / Fraction(rate))
    return slowest
