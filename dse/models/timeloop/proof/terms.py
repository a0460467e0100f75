"""The loss of a problem as sums of terms, each a product of what the components contribute.

A **group** of terms is the energy, the cycles that computing or a level's transfers take, or a limit: what a
level holds over what it may, spreads over its fan-out, the MACs that have to work over those that do, or a
figure over its cap. The loss of
`dse.models.timeloop.reference` is not below what the groups make of it, and equal but for
roundings up, first visits and loops that undo each other. A loss is a product of powers of energy and of the
most cycles. Of a weighted sum each group of cycles has the energy in it: the largest of these is the sum.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise

import numpy as np

from dse.core.objective import Objective, objective_named
from dse.domains.levels.machine import RETURNED, Level
from dse.domains.levels.problem import MachineProblem
from dse.domains.levels.space.chains import FACTORS
from dse.models.timeloop.proof.counts import Counts
from dse.models.timeloop.proof.waits import READ, WRITE, Link, Part, waits_beside
from dse.support.arrays import BoolArray, FloatArray

ENERGY, CYCLES, LIMIT = range(3)
"""Kinds of groups, as the kernels have them."""
PJ = 1e-12


@dataclass(frozen=True)
class First:
    """What a first visit of an output's words takes off a term: `coefficient` x `size` x `parts`."""

    coefficient: float
    size: float
    parts: tuple[Part, ...]


@dataclass(frozen=True)
class Term:
    """`coefficient` x what the components contribute: `parts`, and deliveries of a tensor to a level."""

    coefficient: float
    parts: tuple[Part, ...]
    delivery: tuple[int, int] | None = None
    first: First | None = None

    def scaled(self, by: float) -> Term:
        """So many times as much."""
        first = self.first and replace(self.first, coefficient=self.first.coefficient * by)
        return replace(self, coefficient=self.coefficient * by, first=first)


@dataclass
class Group:
    """A sum of terms, less what first visits take off; `spreads` where it is a fan-out and its limit."""

    kind: int
    terms: list[Term] = field(default_factory=list)
    spreads: bool = False

    def scaled(self, by: float, kind: int) -> Group:
        """The same so many times, as a group of another kind."""
        return Group(kind, [term.scaled(by) for term in self.terms])

    def add(
        self,
        coefficient: float,
        parts: tuple[Part, ...],
        delivery: tuple[int, int] | None = None,
        first: First | None = None,
    ) -> None:
        """Add a term, if it is any."""
        if coefficient > 0:
            kept = first if first is not None and first.coefficient > 0 else None
            self.terms.append(Term(coefficient, parts, delivery, kept))


@dataclass(frozen=True)
class _Kept:
    """A tensor at a level that keeps it, and the next one below that does, or the MACs."""

    tensor: int
    level: int
    below: int


@dataclass
class Terms:
    """The groups of a problem under one choice of what levels keep, (levels, tensors)."""

    problem: MachineProblem
    counts: Sequence[Counts]
    keep: BoolArray
    groups: list[Group] = field(init=False)
    powers: FloatArray = field(init=False)
    """Of energy and of cycles, at ENERGY and CYCLES."""

    def __post_init__(self) -> None:
        objective, levels = objective_named(self.problem.objective), self.problem.accelerator.levels
        kept = [_Kept(*one) for one in self._kept()]
        energy, cycles = self._energy(kept), [Group(CYCLES, [Term(1.0, (steps_of,))])]
        self._add_waits(cycles[0], kept, None)
        for place in range(len(levels)):
            cycles += self._transfers(place, kept)
        self.groups = _minimised(objective, float(self.problem.criteria.hertz), energy, cycles)
        for place, level in enumerate(levels):
            self.groups += self._limits(place, level)
        self.groups += self._at_work()
        self.groups += _caps(objective, float(self.problem.criteria.hertz), energy, cycles)
        self.groups = [group for group in self.groups if group.terms]
        exponents = objective.exponents
        self.powers = np.array([exponents.get("energy", 1.0), exponents.get("latency", 1.0)])

    @cached_property
    def flat(self) -> list[Term]:
        """The terms of all groups."""
        return [term for group in self.groups for term in group.terms]

    @cached_property
    def firsts(self) -> list[First]:
        """The first visits of those that have any, in their order."""
        return [term.first for term in self.flat if term.first is not None]

    def _kept(self) -> list[tuple[int, int, int]]:
        levels, found = len(self.keep), []
        for tensor in range(self.keep.shape[1]):
            places = [*np.flatnonzero(self.keep[:, tensor]).tolist(), levels]
            found += [(tensor, here, below) for here, below in pairwise(places)]
        return found

    def _served(self, kept: _Kept) -> tuple[tuple[Part, ...], tuple[int, int] | None]:
        """What an instance hands down: deliveries to one below, and how many of them differ."""
        levels = len(self.keep)
        shared = _shared(kept.tensor, kept.level, kept.below)
        if kept.below == levels:
            return (steps_of, shared), None
        return (shared,), (kept.tensor, kept.below)

    def _energy(self, kept: Sequence[_Kept]) -> Group:
        machine, workload = self.problem.accelerator, self.problem.space.workload
        group = Group(ENERGY)
        for one in kept:
            tensor = workload.tensors[one.tensor]
            pj, output = pj_a_word(machine.levels[one.level], tensor.bits), tensor.output
            everywhere, first = _instances(one.level), (_still(one.tensor, one.level),)
            parts, delivery = self._served(one)
            update = pj["update"] if output else 0.0
            unread = self._first(one, pj["read"], first)
            group.add(pj["read"] + update, (*parts, everywhere), delivery, unread)
            if self._is_filled(one):
                unfilled = self._first(one, pj["write"], first) if machine.first_fill == "elided" else None
                group.add(pj["write"], (everywhere,), (one.tensor, one.level), unfilled)
        for place, level in enumerate(machine.levels):
            at_work = (steps_of, _instances(place)) if self.keep[place].any() else (steps_of,)
            group.add(level.leak_pj, at_work)
        group.add(workload.macs * machine.mac_pj, (_nothing_of,))
        return group

    def _first(self, one: _Kept, coefficient: float, parts: tuple[Part, ...]) -> First | None:
        """The first visit of an output's words; None of other tensors'."""
        workload = self.problem.space.workload
        tensor = workload.tensors[one.tensor]
        if not tensor.output or self.problem.accelerator.first_fill == RETURNED:
            return None
        return First(coefficient, float(tensor.words(workload.sizes)), parts)

    def _is_filled(self, one: _Kept) -> bool:
        """Whether a level is not the outermost that keeps a tensor."""
        return bool(self.keep[: one.level, one.tensor].any())

    def _transfers(self, place: int, kept: Sequence[_Kept]) -> list[Group]:
        """The cycles of a level's reads, of its writes, and of both, where there are bandwidths."""
        machine, found = self.problem.accelerator, []
        for port, words in enumerate(machine.levels[place].bandwidth.each):
            if words is not None:
                group = Group(CYCLES)
                for one in kept:
                    if machine.storages[one.level] == place:
                        self._add_transfers(group, one, port != WRITE, port != READ, 1 / words)
                self._add_waits(group, kept, (place, port))
                found.append(group)
        return found

    def _add_transfers(self, group: Group, one: _Kept, reads: bool, writes: bool, cycles: float) -> None:
        machine, workload = self.problem.accelerator, self.problem.space.workload
        cycles *= workload.tensors[one.tensor].bits
        first: tuple[Part, ...] = (_still(one.tensor, one.level), _over_instances(one.level))
        updates = writes and workload.tensors[one.tensor].output
        parts, delivery = self._served(one)
        unread = self._first(one, cycles, first) if reads else None
        group.add(cycles * (reads + updates), parts, delivery, unread)
        if writes and self._is_filled(one):
            unfilled = self._first(one, cycles, first) if machine.first_fill == "elided" else None
            group.add(cycles, (), (one.tensor, one.level), unfilled)

    def _add_waits(self, group: Group, kept: Sequence[_Kept], port: tuple[int, int] | None) -> None:
        """Add what all else waits for and does not pass a port."""
        machine, tensors = self.problem.accelerator, self.problem.space.workload.tensors
        for one in kept:
            if one.below == len(machine.levels):
                continue
            tensor = tensors[one.tensor]
            link = Link(one.tensor, one.level, one.below, tensor.output)
            for wait in waits_beside(machine, link, port, divided=self.problem.tiles == FACTORS):
                cycles = wait.cycles * tensor.bits
                first = None if wait.first is None else self._first(one, cycles, wait.first)
                delivery = (one.tensor, one.below) if wait.delivery else None
                group.add(cycles, wait.parts, delivery, first)

    def _widest(self, place: int) -> int:
        """The most children that the factors can spread over: of 12, powers of two come to 8."""
        limit, products = self.problem.accelerator.levels[place].fan_out, {1}
        for counts in self.counts:
            factors = np.unique(counts.component.spatial[..., place].prod(axis=1)).tolist()
            products = {
                product * factor for product in products for factor in factors if product * factor <= limit
            }
        return max(products, default=1)

    def _limits(self, place: int, level: Level) -> list[Group]:
        """What a level holds and spreads over, as shares of what it can."""
        found = []
        room = self.problem.use.rooms[place]
        if room is not None:
            group = Group(LIMIT)
            for part, tensor in np.argwhere(self.keep).tolist():
                name = self.problem.space.workload.tensors[tensor].name
                if self.problem.accelerator.storages[part] != place or name in level.holds:
                    continue
                # Of a level without any room nothing fits; a logarithm of 0 is nothing to reckon with.
                wide = self.problem.space.workload.tensors[tensor].bits
                group.add(wide / max(room, 0.5), (_tile(tensor, part),))
            found.append(group)
        if level.fan_out > 1:
            found.append(Group(LIMIT, [Term(1 / self._widest(place), (_fan_out(place),))], spreads=True))
        least = int(self.problem.space.least_spread[place])
        if least > 1:
            found.append(Group(LIMIT, [Term(float(least), (_over_fan_out(place),))]))
        return found

    def _at_work(self) -> list[Group]:
        """The MACs that limits ask for, over those that all levels together spread over."""
        least, levels = self.problem.use.least_macs, self.problem.accelerator.levels
        if not least:
            return []
        spread = tuple(_over_fan_out(place) for place, level in enumerate(levels) if level.fan_out > 1)
        return [Group(LIMIT, [Term(float(least), spread or (_nothing_of,))])]


def unit_of_loss(objective: Objective, hertz: float) -> float:
    """What a loss of 1 is, in the objective's unit, where energy is in pJ and time in cycles."""
    return PJ if objective.weights else objective.uncapped.total({"energy": PJ, "latency": 1 / hertz})


def _minimised(objective: Objective, hertz: float, energy: Group, cycles: Sequence[Group]) -> list[Group]:
    """The groups of the loss: of the product's figures, or of a sum, in pJ."""
    exponents, weights = objective.exponents, {figure.name: weight for figure, weight in objective.weights}
    if weights.keys() == {"energy", "latency"}:
        a_cycle = weights["latency"] / hertz / PJ
        spent = energy.scaled(weights["energy"], CYCLES)
        return [Group(CYCLES, [*spent.terms, *group.scaled(a_cycle, CYCLES).terms]) for group in cycles]
    return [energy] * ("energy" in exponents) + [*cycles] * ("latency" in exponents)


def _caps(objective: Objective, hertz: float, energy: Group, cycles: Sequence[Group]) -> list[Group]:
    """Figures as shares of their caps."""
    found = []
    for figure, cap in objective.caps:
        groups, share = ([energy], PJ / cap) if figure.name == "energy" else (cycles, 1 / (cap * hertz))
        found += [group.scaled(share, LIMIT) for group in groups]
    return found


def pj_a_word(level: Level, bits: int) -> dict[str, float]:
    """The least energy of a word by kind of access: whole blocks, and rows of whole clusters."""
    shared = level.block * level.cluster / bits
    pj = {"read": level.energy.read_pj, "write": level.energy.write_pj, "update": level.energy.update_pj}
    return {kind: energy / shared for kind, energy in pj.items()}


def steps_of(counts: Counts) -> FloatArray:
    """The steps of the run, as counts of any kind have them."""
    return counts.steps()


def _nothing_of(counts: Counts) -> FloatArray:
    return counts.nothing()


def _shared(tensor: int, level: int, below: int) -> Part:
    return lambda counts: counts.shared_out(tensor, level, below)


def _instances(level: int) -> Part:
    return lambda counts: counts.instances(level)


def _over_instances(level: int) -> Part:
    return lambda counts: counts.over_instances(level)


def _still(tensor: int, level: int) -> Part:
    return lambda counts: counts.still_instances(tensor, level)


def _tile(tensor: int, level: int) -> Part:
    return lambda counts: counts.tile(tensor, level)


def _fan_out(level: int) -> Part:
    return lambda counts: counts.fan_out(level)


def _over_fan_out(level: int) -> Part:
    return lambda counts: counts.over_fan_out(level)
