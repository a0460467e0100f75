"""One choice of what levels keep: its nodes, how they are divided, bounded and gone through."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from dse.domains.levels.problem import MachineProblem
from dse.models.timeloop.proof.components import Component
from dse.models.timeloop.proof.counts import Counts
from dse.models.timeloop.proof.dividing import Dividing, Ended
from dse.models.timeloop.proof.nodes import Node, WholeChains, choices_within, split_node
from dse.models.timeloop.proof.orders import OPEN, Choice, First, Orders, Pattern
from dse.models.timeloop.proof.parallel import Parallel
from dse.models.timeloop.proof.records import Ending, Factors, Lines, Mixture, Related, Table, offsets_of
from dse.models.timeloop.proof.room import MAX_LOG, SLACK, Room
from dse.models.timeloop.proof.tables import KERNEL, Sums, Tables
from dse.models.timeloop.proof.terms import Terms
from dse.models.timeloop.proof.whole import Rows
from dse.support.arrays import BoolArray, FloatArray, IntArray
from dse.support.jit import load_kernels

ENUMERATION = "dse.models.timeloop.proof.enumeration"
MAX_ATOMS = 24
MAX_NEAR = 200
MAX_LOOKED, MAX_LOOKED_TIGHT = 50_000, 1_000_000
"""Choices of factors up to which a node is enumerated. Where figures are limited most are passed over."""


class _Tabled(NamedTuple):
    """A node with what its chains contribute, and the `lines` below the terms."""

    node: Node
    table: Table
    lines: Lines


class Branch:
    """One choice of what levels keep: its terms, and the relaxation over parts of its chains."""

    def __init__(
        self,
        problem: MachineProblem,
        number: int,
        components: Sequence[Component],
        counts: Sequence[Counts],
        orders: Orders,
        keep: BoolArray,
        rows: Rows,
        fits: Sequence[BoolArray] | None = None,
    ) -> None:
        self.number, self.keep, self.orders, self.rows = number, keep, orders, rows
        terms = Terms(problem, counts, keep)
        self._tables = Tables(terms, orders, counts)
        self._components, self._counts = components, counts
        self._sums = Sums.of(terms)
        self._room = Room(problem, self._sums)
        self._dividing = Dividing(self._sums, orders, counts)
        self._fan_outs = [level.fan_out for level in problem.accelerator.levels]
        self._fits = fits
        self._iterations = math.prod(map(float, problem.space.workload.sizes.values()))
        self._deliveries = sorted({delivery for _, delivery in self._sums.deliveries})
        self._by_choice: dict[tuple[int, Choice], list[BoolArray | None]] = {}

    @cached_property
    def _parallel(self) -> Parallel:
        return Parallel(self._components, self._fan_outs)

    @property
    def is_tight(self) -> bool:
        """Whether limits of figures rule much out: each node is then small, and to divide it takes most."""
        return self._room.is_tight

    def root(self) -> Node:
        """All chains, under the pattern of which nothing is said."""
        levels = len(self.keep)
        nothing = tuple(np.empty(0, dtype=np.int64) for _ in self._components)
        weights = tuple(np.empty(0) for _ in self._components)
        every = Node(
            self.number,
            (OPEN,) * levels,
            tuple(np.arange(len(component)) for component in self._components),
            -math.inf,
            -math.inf,
            np.zeros(len(self._sums.coefficients)),
            nothing,
            weights,
            tuple(np.zeros(len(component)) for component in self._components),
            whole=True,
        )
        return every if self._fits is None else every.less(self._fits)

    @property
    def size(self) -> int:
        """The chains of all components."""
        return sum(map(len, self._components))

    def made(self, node: Node) -> Node | None:
        """A node with its chains, and where a relaxation begins; None if there are none of its pattern."""
        if len(node.z) or not node.chains:
            return node
        root = self.root()
        if len(node.chains[0]):
            return replace(root, pattern=node.pattern, chains=node.chains, over=node.over, whole=node.whole)
        found: Node | None = root
        for level, choice in enumerate(node.pattern):
            if found is not None and choice != OPEN:
                found = self.choose(found, level, choice)
        return found

    def undecided(self, pattern: Pattern) -> int | None:
        """The outermost level of which a pattern says nothing, though its loops matter; None without any."""
        if self.orders.settled is not None:
            return self.orders.undecided(pattern, self._deliveries)
        deepest = int(np.flatnonzero(self.keep.any(axis=1)).max())
        for level, choice in enumerate(pattern[:deepest]):
            if choice == OPEN and self.orders.looped[level]:
                return level
        return None

    def choose(self, node: Node, level: int, choice: Choice) -> Node | None:
        """The part of a node where a level's pattern is `choice`; None if there is none."""
        chains, over = [], []
        for places, excess, allowed in zip(node.chains, node.over, self._allowed(level, choice), strict=True):
            if allowed is None:
                chains.append(places)
                over.append(excess)
                continue
            left = allowed[places]
            if not left.any():
                return None
            chains.append(places[left])
            over.append(excess[left])
        pattern = (*node.pattern[:level], choice, *node.pattern[level + 1 :])
        return replace(node, pattern=pattern, chains=tuple(chains), over=tuple(over), depth=node.depth + 1)

    def _allowed(self, level: int, choice: Choice) -> list[BoolArray | None]:
        """Of every component the chains that a level's choice leaves; None where these are all."""
        if (level, choice) not in self._by_choice:
            once, found = self.orders.once(level, choice), []
            for component in self._components:
                left = np.ones(len(component), dtype=np.bool_)
                for place, dim in enumerate(component.dims):
                    loops = component.temporal[:, place, level]
                    if dim in once:
                        left &= loops == 1
                    if isinstance(choice, First) and choice.dims == (dim,):
                        left &= loops > 1
                found.append(None if left.all() else left)
            self._by_choice[level, choice] = found
        return self._by_choice[level, choice]

    def parts(self, node: Node, target: float) -> list[Node] | None:
        """The parts of a node whose bound is below `target`, a logarithm; None where few choices are left."""
        level = self.undecided(node.pattern) if node.level is None else node.level
        if node.by_steps is None and level is not None:
            chosen = (self.choose(node, level, choice) for choice in self.orders.choices(level))
            return [part for part in chosen if part is not None and not self.orders.is_second(part.pattern)]
        most = MAX_LOOKED_TIGHT if self.is_tight else MAX_LOOKED
        if node.by_steps is None and choices_within(node.over, node.room(target)) <= most:
            return None
        return split_node(node, self._components)

    def relaxed(self, node: Node, target: float, rounds: int) -> tuple[Node | None, WholeChains]:
        """The node with its bound, less chains that cannot be below `target`, a logarithm; None if none can.

        And whole chains on the way, whose losses may be less.
        """
        made = self.made(node)
        # Of an arrangement in which nothing fits no chain is left.
        tabled = self._tabled(made, target) if made and all(map(len, made.chains)) else None
        if tabled is None:
            return None, self._nothing()
        node, table, lines = tabled
        offsets, related = table.offsets, None
        if self.is_tight and target < MAX_LOG:
            related = self._room.related(table, lines, target)
        # Of shares of what is left of the cycles the largest has to be below 1.
        goal = 0.0 if related and self._room.of_latency else target
        groups, mixture = self._sums.groups, self._begin(node, offsets)
        end = Ending(node.z.copy(), np.zeros(offsets[-1]), np.empty(len(groups.kinds)))
        bound = load_kernels(KERNEL).relax(table, lines, groups, mixture, end, rounds, goal)
        z, over, weights = end
        base = bound - SLACK
        bound = self._bound_of_loss(base, weights, related, target)
        if base >= goal or bound >= target:
            return None, self._nothing()
        chains, excess, kept_atoms, kept_mixed, chains_left = [], [], [], [], []
        for part, places in enumerate(node.chains):
            here = over[offsets[part] : offsets[part + 1]]
            left = base + here < goal
            chains_left.append(left)
            chains.append(places[left])
            excess.append(here[left])
            count = mixture.counts[part]
            kept_atoms.append(places[mixture.atoms[part, :count] - offsets[part]])
            kept_mixed.append(mixture.weights[part, :count].copy())
        ended = Ended(table, lines.coefficients + z, weights, mixture, related, chains_left)
        new = replace(
            node, chains=tuple(chains), over=tuple(excess), bound=bound, base=base, z=z,
            atoms=tuple(kept_atoms), mixed=tuple(kept_mixed), cut=self._dividing.by_first_visit(ended),
            goal=None if goal == target else goal, steps_said=False,
        )  # fmt: skip
        undecided = self.undecided(node.pattern)
        if self.is_tight:
            level = None if undecided is None else self._dividing.level(new, ended, undecided)
            new = replace(new, by_steps=self._dividing.by_steps(new, ended), level=level)
        if undecided is not None:
            return new, self._nothing()
        return new, self._rounded(node, table, over, mixture)

    def _bound_of_loss(
        self, base: float, weights: FloatArray, related: Related | None, target: float
    ) -> float:
        """The bound of the loss where that of the relaxation is `base`, both as logarithms."""
        if related is None or not self._room.of_latency or base >= 0.0:
            return base
        return self._room.least_cycles(base, weights, related, target)

    def _tabled(self, node: Node, target: float) -> _Tabled | None:
        """The node, less chains that cannot be within what sums may be; None if none can."""
        if self.is_tight and (node.base == -math.inf or node.steps_said):
            wide = self._parallel.wide_enough(node.chains, self._iterations / self._room.most_steps(target))
            if wide is None:
                return None
            node = node.less(wide)
        kernel, sums = load_kernels(KERNEL), self._sums
        table = self._table(node.pattern, node.chains, range(len(node.chains)))
        while True:
            lines = sums.lines
            kernel.draw_lines(table, sums.visits, lines)
            if not self.is_tight:
                return _Tabled(node, table, lines)
            left = self._room.fitting(table, lines, target)
            if left is None:
                return None
            if left.all():
                return _Tabled(node, table, lines)
            node = node.less([left[first:end] for first, end in pairwise(table.offsets.tolist())])
            table = Table(np.compress(left, table.values, axis=1), offsets_of(node.chains))

    def whole(self, node: Node, target: float) -> WholeChains:
        """All whole chains of a node with a loss below `target`, a logarithm."""
        # The component with the most chains is gone through innermost.
        order = sorted(range(len(node.chains)), key=lambda part: len(node.chains[part]))
        ranked = [np.argsort(node.over[part], kind="stable") for part in order]
        places = [node.chains[part][rank] for part, rank in zip(order, ranked, strict=True)]
        over = np.concatenate([node.over[part][rank] for part, rank in zip(order, ranked, strict=True)])
        table, visits = self._table(node.pattern, places, order), self._sums.visits
        rows = np.exp(table.values[: len(visits.factors)].T, order="C")
        factors = Factors(rows, table.offsets, visits.factors)
        rest, room, kernel = self._rest(factors), 4096, load_kernels(ENUMERATION)
        while True:
            found, losses = np.empty((room, len(places)), dtype=np.int64), np.empty(room)
            kept = kernel.enumerate_chains(
                factors, self._sums.groups, over, rest, node.room(target) + SLACK,
                math.exp(min(target, MAX_LOG)), found, losses,
            )  # fmt: skip
            if kept >= 0:
                break
            room *= 8
        chains = np.empty((kept, len(places)), dtype=np.int64)
        for number, part in enumerate(order):
            chains[:, part] = places[number][found[:kept, number] - table.offsets[number]]
        return WholeChains(chains, np.log(losses[:kept]))

    def _rest(self, factors: Factors) -> FloatArray:
        """What the components after each multiply by: the least of terms, the most of first visits."""
        least = np.minimum.reduceat(factors.rows, factors.offsets[:-1], axis=0)
        most = np.maximum.reduceat(factors.rows, factors.offsets[:-1], axis=0)
        terms = len(self._sums.coefficients)
        edge = np.concatenate([least[:, :terms], most[:, terms:]], axis=1)
        after = np.cumprod(edge[::-1], axis=0)[::-1]
        return np.concatenate([after[1:], np.ones_like(after[:1])])

    def _table(self, pattern: Pattern, chains: Sequence[IntArray], parts: Sequence[int]) -> Table:
        """What chains of these components contribute to the terms and first visits."""
        offsets = offsets_of(chains)
        # After terms and first visits there is room for lines.
        count = len(self._sums.visits.factors)
        table = np.empty((count + len(self._sums.visits.visited), offsets[-1]))
        for number, (part, places) in enumerate(zip(parts, chains, strict=True)):
            self._tables.write(pattern, part, places, table[:count, offsets[number] : offsets[number + 1]])
        return Table(table, offsets)

    def _begin(self, node: Node, offsets: IntArray) -> Mixture:
        """The chains that the relaxation ended with before, as far as they are still there."""
        mixture = Mixture.empty(len(node.chains), MAX_ATOMS)
        for part, places in enumerate(node.chains):
            before = node.atoms[part]
            at = np.minimum(np.searchsorted(places, before), len(places) - 1)
            here = (places[at] == before) & (node.mixed[part] > 0)
            weights = node.mixed[part][here]
            if weights.sum() > 0:
                count = int(here.sum())
                mixture.atoms[part, :count] = at[here] + offsets[part]
                mixture.weights[part, :count] = weights / weights.sum()
                mixture.counts[part] = count
        return mixture

    def _rounded(self, node: Node, table: Table, over: FloatArray, mixture: Mixture) -> WholeChains:
        """Whole chains near where the relaxation ended: from the heaviest ones down, one component at a time,
        among the chains that exceed the bound least.
        """
        picked, start, ends, offsets = [], [], [0], table.offsets
        for part in range(len(node.chains)):
            here = over[offsets[part] : offsets[part + 1]]
            near = np.arange(len(here))
            if len(near) > MAX_NEAR:
                near = np.argpartition(here, MAX_NEAR)[:MAX_NEAR]
            heaviest = int(here.argmin())
            # A relaxation that is at its end at once may have no weights.
            count = mixture.counts[part]
            if count:
                heaviest = mixture.atoms[part, int(mixture.weights[part, :count].argmax())] - offsets[part]
            start.append(ends[-1] + len(near))
            picked.append(np.append(near, heaviest) + offsets[part])
            ends.append(start[-1] + 1)
        columns = np.concatenate(picked)
        chains, factors = np.array(start), self._sums.visits.factors
        rows = np.exp(table.values[: len(factors), columns].T, order="C")
        loss = load_kernels(ENUMERATION).descend(
            Factors(rows, np.array(ends), factors), self._sums.groups, chains
        )
        if loss == math.inf:
            return self._nothing()
        whole = [
            places[column - offset]
            for places, column, offset in zip(node.chains, columns[chains], offsets, strict=False)
        ]
        return WholeChains(np.array([whole]), np.log([loss]))

    def _nothing(self) -> WholeChains:
        return WholeChains(np.empty((0, len(self._components)), dtype=np.int64), np.empty(0))
