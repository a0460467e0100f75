"""What all else waits for, as terms: no more than the transfers of `latency.waits_of` take.

Such a transfer passes ports of the outer level and of the inner, and takes as long as the slowest. A group of
cycles is of one port, whose words all count there, whatever waits for them. On top come transfers that do not
pass it, each at the port that is slower where one word passes both.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dse.domains.levels.checks import SINGLE
from dse.domains.levels.machine import RETURNED, Machine

if TYPE_CHECKING:
    from dse.models.timeloop.proof.terms import Group, Kept, Part, Terms

READ, WRITE, SHARED = range(3)
"""Ports, in the order of `Bandwidth.each`."""


def add_waits(terms: Terms, kept: Sequence[Kept], group: Group, port: tuple[int, int] | None) -> None:
    """Adds to a group of cycles what all else waits for, but for what passes its `port`, of a level's place;
    None of computing.
    """
    machine = terms.problem.accelerator
    for one in kept:
        if one.below == len(machine.levels):
            continue
        if not (machine.levels[one.below].buffering == SINGLE or machine.fill_and_drain):
            continue
        tensor = terms.problem.space.workload.tensors[one.tensor]
        inner, outer = machine.storages[one.below], machine.storages[one.level]
        sent, taken = _cycles(machine, outer, READ), _cycles(machine, inner, WRITE)
        if port not in ((outer, READ), (outer, SHARED), (inner, WRITE), (inner, SHARED)):
            _add(terms, group, one, max(sent, taken) * tensor.bits, every=sent >= taken, up=False)
        if tensor.output and port not in ((outer, WRITE), (outer, SHARED)):
            _add(terms, group, one, _cycles(machine, outer, WRITE) * tensor.bits, every=True, up=True)


def _cycles(machine: Machine, place: int, port: int) -> float:
    """Of a word at a level's reads or writes."""
    rates = machine.levels[place].bandwidth.each
    return max((1 / rate for rate in (rates[port], rates[SHARED]) if rate is not None), default=0.0)


def _add(terms: Terms, group: Group, one: Kept, cycles: float, *, every: bool, up: bool) -> None:
    """Adds what comes down or goes up between two places, of one inner instance, or of `every` one that has
    other words, at so many cycles a word.
    """
    machine = terms.problem.accelerator
    output = terms.problem.space.workload.tensors[one.tensor].output
    shared: tuple[Part, ...] = ()
    if every:
        shared = (lambda counts: counts.shared_out(one.tensor, one.level, one.below),)
    if machine.levels[one.below].buffering != SINGLE:
        if not output or up or machine.first_fill == RETURNED:
            group.add(cycles, (*shared, lambda counts: counts.tile(one.tensor, one.below)))
        return
    first = None
    if not up:
        # Of outputs all words but the first partial sums come down.
        parts = (
            lambda counts: counts.still_instances(one.tensor, one.below),
            lambda counts: counts.over_instances(one.below),
        )
        first = terms.first(one, cycles, (*shared, *parts))
    group.add(cycles, shared, (one.tensor, one.below), first)
