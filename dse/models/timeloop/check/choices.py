"""Whether some choice of storages and factors has a better nest: gone through by bounds of its own.

A *choice* says what levels keep and how often each loop runs, not in which order. Whatever the order, an
instance receives each word that it works on once at least; every step reads a word of each input where it is
kept innermost, and adds to a word of the output; and all steps take a cycle. What these leave below the best
mapping is priced in every order of its loops. Nothing here is the solver's: neither its choices, nor which
orders it takes for as good as others, nor its bounds.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise, permutations, product
from typing import NamedTuple

import numpy as np

from dse.core.certificate import OPTIMAL, Certificate
from dse.core.chains import distinct_primes
from dse.core.objective import objective_named
from dse.core.proofs import Check
from dse.domains.levels.layout import RowArray
from dse.domains.levels.machine import Machine
from dse.domains.levels.problem import MachineProblem
from dse.domains.levels.space.constraints import ALL, UNDOMINATED
from dse.domains.levels.uneven import storage_parts, stored_by_level
from dse.domains.levels.workload import Tensor, Workload
from dse.support.arrays import FloatArray, IntArray

NAME = "no choice of storages and factors has a better nest"
DRAWN = "of storages and factors that were drawn none has a better nest"
MOST_CHOICES, AT_ONCE = 50_000, 20_000
"""Choices that are looked at, and of them at a time; of more, so many are drawn."""
MOST_WAYS = 300_000
"""Ways to factor one dim, up to which they are drawn from."""
MOST_ORDERS, MOST_PRICED = 1_000, 100_000
"""Nests of one choice that are priced, and of all."""
ROUNDING = 1 - 1e-9
PJ = 1e-12


Keep = tuple[frozenset[str], ...]
"""What each level keeps."""


class Factors(NamedTuple):
    """Temporal and spatial factors of choices: each (n, levels, dims)."""

    temporal: IntArray
    spatial: IntArray


def check_choices(
    problem: MachineProblem, certificate: Certificate, rng: np.random.Generator
) -> tuple[Check, ...]:
    """The check, of optima over tiles that divide and all orders, where nothing is fixed; else none."""
    said = {name for name in problem.fixed if name != "orders"}
    orders = problem.space.constraints.orders in (UNDOMINATED, ALL)
    if certificate.status != OPTIMAL or said or not orders or problem.tiles != "factors":
        return ()
    found = _Look(problem, certificate.lower_bound, rng)
    if found.ways is None:
        return ()
    return (found.check(),)


@dataclass
class _Look:
    """What is looked at and found below `least`."""

    problem: MachineProblem
    least: float
    rng: np.random.Generator
    looked: int = 0
    ruled_out: int = 0
    priced: int = 0
    left: int = 0
    better: str = ""

    @cached_property
    def keeps(self) -> list[Keep]:
        """What levels keep, of each choice."""
        return list(storages_of(self.problem.accelerator, self.problem.space.workload))

    @cached_property
    def ways(self) -> list[IntArray] | None:
        """How each dim is factored, (ways, levels, 2); None where a dim has too many ways."""
        machine, found = self.problem.accelerator, []
        for dim, size in self.problem.space.workload.sizes.items():
            slots = _slots(machine, dim)
            others = len(slots) - 1
            counts = [math.comb(_times(size, prime) + others, others) for prime in distinct_primes(size)]
            if math.prod(counts) > MOST_WAYS:
                return None
            factorings = _factorings(size, len(slots))
            every = np.ones((len(factorings), len(machine.levels), 2), dtype=np.int64)
            for number, (place, kind) in enumerate(slots):
                every[:, place, kind] = [one[number] for one in factorings]
            found.append(every)
        return found

    def check(self) -> Check:
        """Go through all choices, or those that are drawn."""
        assert self.ways is not None
        counts = [len(one) for one in self.ways]
        every = len(self.keeps) * math.prod(counts)
        for keep, picked in self._picks(counts, every):
            for at in range(0, len(picked), AT_ONCE):
                self._look_at(keep, picked[at : at + AT_ONCE])
        seen = f"{self.looked:,} looked at" if self.looked == every else f"{self.looked:,} of {every:,} drawn"
        seen += f": {self.ruled_out:,} ruled out by bounds, {self.priced:,} nests of the others priced"
        if self.left:
            seen += f", {self.left:,} choices neither ruled out nor priced"
        whole = self.looked == every and not self.left
        return Check(NAME if whole else DRAWN, not self.better, self.better or seen)

    def _picks(self, counts: Sequence[int], every: int) -> Iterator[tuple[Keep, IntArray]]:
        if every <= MOST_CHOICES:
            picked = np.stack(np.unravel_index(np.arange(math.prod(counts)), counts), axis=1)
            yield from ((keep, picked) for keep in self.keeps)
            return
        chosen = self.rng.integers(len(self.keeps), size=MOST_CHOICES)
        drawn = np.stack([self.rng.integers(count, size=MOST_CHOICES) for count in counts], axis=1)
        yield from ((self.keeps[number], drawn[chosen == number]) for number in np.unique(chosen).tolist())

    def _look_at(self, keep: Keep, picked: IntArray) -> None:
        assert self.ways is not None
        both = np.stack([ways[picked[:, dim]] for dim, ways in enumerate(self.ways)], axis=2)
        factors = Factors(both[..., 0], both[..., 1])
        losses = least_losses(self.problem, keep, factors)
        near = np.flatnonzero(losses * ROUNDING < self.least)
        self.looked += len(picked)
        self.ruled_out += len(picked) - len(near)
        waiting: list[RowArray] = []
        for place in near[np.argsort(losses[near], kind="stable")].tolist():
            if self.priced + sum(map(len, waiting)) >= MOST_PRICED:
                self.left += 1
                continue
            one = Factors(factors.temporal[place], factors.spatial[place])
            waiting.append(rows_of(self.problem, keep, one, self.rng))
            if sum(map(len, waiting)) > AT_ONCE:
                self._price(waiting)
        self._price(waiting)

    def _price(self, waiting: list[RowArray]) -> None:
        """Price the nests that wait."""
        if not waiting:
            return
        rows = np.concatenate(waiting)
        waiting.clear()
        self.priced += len(rows)
        losses = self.problem.price_rows(rows).loss
        if losses.min() < self.least * ROUNDING and not self.better:
            mapping = self.problem.space.layout.decode(rows[int(losses.argmin())])
            self.better = f"loss {float(losses.min())!r} is below {self.least!r}: {mapping.text()}"


def storages_of(machine: Machine, workload: Workload) -> Iterator[Keep]:
    """What each level may keep, of all levels together."""
    names = workload.tensor_names
    choices: list[list[Keep]] = []
    for parts in storage_parts(machine):
        if len(parts) == 1:
            must = set(machine.must_keep(parts[0], names))
            more = [name for name in machine.may_keep(parts[0], names) if name not in must]
            choices.append([(frozenset(must | kept),) for kept in _subsets(more)])
            continue
        must = set(stored_by_level(machine, machine.levels[parts[0]]))
        may = machine.levels[parts[0]].may_keep or ()
        choices.append(
            [
                tuple(frozenset(stack[at : at + 1]) for at in range(len(parts)))
                for kept in _subsets([name for name in names if name in may and name not in must])
                for stack in permutations(sorted(must | kept))
            ]
        )
    for chosen in product(*choices):
        yield tuple(level for parts_kept in chosen for level in parts_kept)


def _subsets(names: Sequence[str]) -> Iterator[set[str]]:
    for bits in product((False, True), repeat=len(names)):
        yield {name for name, bit in zip(names, bits, strict=True) if bit}


def _slots(machine: Machine, dim: str) -> list[tuple[int, int]]:
    """The places of a dim's loops, temporal (0) and spatial (1)."""
    found = []
    for place, level in enumerate(machine.levels):
        if level.loops is None or dim in level.loops:
            found.append((place, 0))
        if level.fan_out > 1 and (level.spread is None or dim in level.spread):
            found.append((place, 1))
    return found


def _times(size: int, prime: int) -> int:
    return 1 + _times(size // prime, prime) if size % prime == 0 else 0


@lru_cache(64)
def _factorings(size: int, slots: int) -> list[tuple[int, ...]]:
    """All ways to write a size as a product of so many factors."""
    if slots == 1:
        return [(size,)]
    return [
        (first, *others)
        for first in range(1, size + 1)
        if size % first == 0
        for others in _factorings(size // first, slots - 1)
    ]


def least_losses(problem: MachineProblem, keep: Keep, factors: Factors) -> FloatArray:
    """What no order of the loops of choices (n,) costs less than; inf where one fits nowhere."""
    machine, objective = problem.accelerator, objective_named(problem.objective).uncapped
    bounds = _Bounds(problem.space.workload, machine, keep, factors)
    seconds = bounds.cycles / float(problem.criteria.hertz)
    figures = {"energy": bounds.energy_pj * PJ, "latency": seconds}
    losses = np.ones(len(seconds))
    for name, exponent in objective.exponents.items():
        losses = losses * figures[name] ** exponent
    if objective.weights:
        losses = np.sum([weight * figures[figure.name] for figure, weight in objective.weights], axis=0)
    return np.where(bounds.fit, losses, np.inf)


class _Bounds:
    """What choices take at least: `energy_pj`, `cycles`, and whether they `fit`, each (n,)."""

    def __init__(self, workload: Workload, machine: Machine, keep: Keep, factors: Factors) -> None:
        self._names, self._machine, levels = workload.names, machine, len(machine.levels)
        both = factors.temporal * factors.spatial
        inside = np.cumprod(both[:, ::-1], axis=1)[:, ::-1]
        self._box = np.concatenate([inside, np.ones_like(inside[:, :1])], axis=1).astype(np.float64)
        outside = np.cumprod(factors.temporal, axis=1, dtype=np.float64)
        self._turns = np.concatenate([np.ones_like(outside[:, :1]), outside], axis=1)
        wide = factors.spatial.prod(axis=2, dtype=np.float64)
        used = np.concatenate([np.ones_like(wide[:, :1]), np.cumprod(wide, axis=1)], axis=1)
        self._steps = self._turns[:, levels].prod(axis=1)
        self._ports = np.zeros((levels, 3, len(wide)))
        self.fit = (wide <= [level.fan_out for level in machine.levels]).all(axis=1)
        self.energy_pj = np.full(len(wide), workload.macs * machine.mac_pj)
        held = np.zeros((levels, len(wide)))
        for tensor in workload.tensors:
            places = [place for place, names in enumerate(keep) if tensor.name in names]
            for here, below in pairwise([*places, levels]):
                self._move(tensor, here, below, here > places[0], used[:, here])
                if tensor.name not in machine.levels[here].holds:
                    held[machine.storages[here]] += self._words(tensor, here) * tensor.bits
        for place, level in enumerate(machine.levels):
            if level.room is not None:
                self.fit &= held[place] <= level.room
        self.cycles = self._steps
        for place, level in enumerate(machine.levels):
            rates = level.bandwidth
            for bits, rate in zip(self._ports[place], (rates.read, rates.write, rates.shared), strict=True):
                if rate is not None:
                    self.cycles = np.maximum(self.cycles, bits / rate)

    def _move(self, tensor: Tensor, here: int, below: int, filled: bool, used: FloatArray) -> None:
        """Add what a level hands down of a tensor, or is given back, and what it receives."""
        level, store = self._machine.levels[here], self._machine.storages[here]
        a_word = tensor.bits / (level.block * level.cluster)
        down = self._steps if below == len(self._machine.levels) else self._received(tensor, below)
        pj = level.energy.update_pj if tensor.output else level.energy.read_pj
        self.energy_pj = self.energy_pj + pj * a_word * down * used
        self._ports[store, int(tensor.output)] += down * tensor.bits
        self._ports[store, 2] += down * tensor.bits
        if filled and not tensor.output:
            words = self._received(tensor, here)
            self.energy_pj = self.energy_pj + level.energy.write_pj * a_word * words * used
            self._ports[store, 1:] += words * tensor.bits

    def _received(self, tensor: Tensor, place: int) -> FloatArray:
        """The words that an instance works on in the run, each once; of a window's axis no more are counted
        than one of its dims, or one tile, comes to.
        """
        words = np.ones(len(self._box))
        for axis in tensor.axes:
            dims = [self._names.index(dim) for dim, factor in axis if factor]
            ways = [self._box[:, place, dim] * self._turns[:, place, dim] for dim in dims]
            words *= np.maximum.reduce([self._extent(axis, place), *ways])
        return words

    def _words(self, tensor: Tensor, place: int) -> FloatArray:
        """The words of a tile."""
        words = np.ones(len(self._box))
        for axis in tensor.axes:
            words *= self._extent(axis, place)
        return words

    def _extent(self, axis: Sequence[tuple[str, int]], place: int) -> FloatArray:
        found = np.ones(len(self._box))
        for dim, factor in axis:
            found += factor * (self._box[:, place, self._names.index(dim)] - 1)
        return found


def rows_of(problem: MachineProblem, keep: Keep, factors: Factors, rng: np.random.Generator) -> RowArray:
    """A choice in every order of its loops, or in `MOST_ORDERS` of them, which are drawn: rows."""
    layout, innermost = problem.space.layout, max(place for place, kept in enumerate(keep) if kept)
    every = [_orders_of(tuple(loops)) for loops in (factors.temporal > 1).tolist()]
    # Inside of the innermost storage no order counts.
    every[innermost:] = [orders[:1] for orders in every[innermost:]]
    counts = [len(orders) for orders in every]
    total = math.prod(counts)
    if total <= MOST_ORDERS:
        drawn = np.unravel_index(np.arange(total), counts)
    else:
        drawn = tuple(rng.integers(count, size=MOST_ORDERS) for count in counts)
    orders = np.stack([one[at] for one, at in zip(every, drawn, strict=True)], axis=1)
    rows = np.ones((len(orders), layout.levels, layout.width), dtype=np.int32)
    dims = len(layout.dims)
    rows[:, :, :dims], rows[:, :, dims : 2 * dims] = factors.temporal, factors.spatial
    rows[:, :, 2 * dims : 3 * dims] = orders
    rows[:, :, 3 * dims :] = [[int(name in kept) for name in layout.tensors] for kept in keep]
    return rows.reshape(len(rows), layout.columns)


@lru_cache(1024)
def _orders_of(loops: tuple[bool, ...]) -> IntArray:
    """A level's orders (orders, dims): dims that are no `loops` stand first, the others in every order."""
    running = [dim for dim, runs in enumerate(loops) if runs]
    idle = [dim for dim, runs in enumerate(loops) if not runs]
    return np.array([(*idle, *order) for order in permutations(running)])
