"""What all else waits for, as terms: no more than the transfers of `latency.waits_of` take.

Such a transfer passes ports of the outer level and of the inner, and takes as long as the slowest. A group of
cycles is of one port, whose words all count there, whatever waits for them. On top come transfers that do not
pass it, each at the port that is slower where one word passes both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from dse.domains.levels.checks import SINGLE
from dse.domains.levels.machine import RETURNED, Machine
from dse.models.timeloop.proof.counts import Counts
from dse.support.arrays import FloatArray

READ, WRITE, SHARED = range(3)
"""Ports, in the order of `Bandwidth.each`."""

Part = Callable[[Counts], FloatArray]
"""What a component contributes to a term: the logarithm for each of its chains."""


class Link(NamedTuple):
    """A tensor, a level that keeps it, and the next one in that does; `output` where it is that."""

    tensor: int
    outer: int
    inner: int
    output: bool


class Waiting(NamedTuple):
    """`cycles` times what the components contribute: `parts`, and of a `delivery` to the inner level; less as
    many times what `first` visits contribute, if that is any.
    """

    cycles: float
    parts: tuple[Part, ...]
    delivery: bool
    first: tuple[Part, ...] | None


def waits_beside(
    machine: Machine, link: Link, port: tuple[int, int] | None, *, divided: bool = True
) -> Iterator[Waiting]:
    """The transfers of a link that all else waits for, but for those that pass `port`, of a level's place.

    Where tiles need not be `divided`, first tiles, and what comes of outputs, count at the inner level alone:
    other instances may have shorter ones.
    """
    if machine.levels[link.inner].buffering != SINGLE and not machine.fill_and_drain:
        return
    inner, outer = machine.storages[link.inner], machine.storages[link.outer]
    sent, taken = _cycles(machine, outer, READ), _cycles(machine, inner, WRITE)
    if port not in ((outer, READ), (outer, SHARED), (inner, WRITE), (inner, SHARED)):
        every = sent >= taken
        if not divided and (link.output or machine.levels[link.inner].buffering != SINGLE):
            sent, every = taken, False
        yield from _one_way(machine, link, max(sent, taken), every=every, up=False)
    if link.output and port not in ((outer, WRITE), (outer, SHARED)):
        every = divided or machine.levels[link.inner].buffering == SINGLE
        yield from _one_way(machine, link, _cycles(machine, outer, WRITE), every=every, up=True)


def _cycles(machine: Machine, place: int, port: int) -> float:
    """Of a word at a level's reads or writes."""
    rates = machine.levels[place].bandwidth.each
    return max((1 / rate for rate in (rates[port], rates[SHARED]) if rate is not None), default=0.0)


def _one_way(machine: Machine, link: Link, cycles: float, *, every: bool, up: bool) -> Iterator[Waiting]:
    """What comes down or goes up, of one inner instance, or of `every` one that has other words."""
    tensor, outer, inner, output = link
    shared: tuple[Part, ...] = ()
    if every:
        shared = (lambda counts: counts.shared_out(tensor, outer, inner),)
    if machine.levels[inner].buffering == SINGLE:
        # Of outputs all words but the first partial sums come down.
        elided: tuple[Part, ...] = (
            lambda counts: counts.still_instances(tensor, inner),
            lambda counts: counts.over_instances(inner),
        )
        yield Waiting(cycles, shared, True, None if up else (*shared, *elided))
    elif not output or up or machine.first_fill == RETURNED:
        yield Waiting(cycles, (*shared, lambda counts: counts.tile(tensor, inner)), False, None)
