"""One choice of what levels keep: its nodes, how they are divided, bounded and gone through."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dse.domains.levels.models.timeloop.proof.components import Component
from dse.domains.levels.models.timeloop.proof.counts import Counts
from dse.domains.levels.models.timeloop.proof.nodes import Found, Node, choices_within
from dse.domains.levels.models.timeloop.proof.orders import OPEN, Choice, First, Orders, Pattern
from dse.domains.levels.models.timeloop.proof.tables import KERNEL, Tables
from dse.domains.levels.models.timeloop.proof.terms import LIMIT, Terms
from dse.domains.levels.problem import MachineProblem
from dse.support.arrays import BoolArray, FloatArray, IntArray
from dse.support.jit import load_kernels

SLACK = 1e-9
"""By what share a bound may be off, as its sums are rounded."""
ENUMERATION = "dse.domains.levels.models.timeloop.proof.enumeration"
MAX_ATOMS = 24
MAX_NEAR = 200
FAR_OFF = 0.01
MAX_LOG = 600.0


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
    ) -> None:
        self.number, self.keep, self.orders = number, keep, orders
        terms = Terms(problem, counts, keep)
        self._tables = Tables(terms, orders, counts)
        self._components, self._counts = components, counts
        flat, firsts, groups = terms.flat, terms.firsts, terms.groups
        self._kinds = np.array([group.kind for group in groups], dtype=np.int64)
        self._powers = terms.powers
        self._starts = _starts([len(group.terms) for group in groups])
        self._first_starts = _starts([sum(one.first is not None for one in group.terms) for group in groups])
        self._factors = np.array(
            [*(one.coefficient for one in flat), *(one.coefficient * one.size for one in firsts)]
        )
        self._coefficients = np.log(self._factors[: len(flat)])
        self._spreads = self._starts[:-1][[group.spreads for group in groups]]
        self._groups = np.repeat(np.arange(len(groups)), np.diff(self._starts))
        self._widest = -float(self._coefficients[self._spreads].sum())
        self._taken = np.array([one.coefficient for one in firsts])
        self._sizes = np.log([one.size for one in firsts])
        self._visited = np.array(
            [place for place, one in enumerate(flat) if one.first is not None], dtype=np.int64
        )

    def root(self) -> Node:
        """All chains, under the pattern of which nothing is said."""
        levels = len(self.keep)
        nothing = tuple(np.empty(0, dtype=np.int64) for _ in self._components)
        weights = tuple(np.empty(0) for _ in self._components)
        return Node(
            self.number,
            (OPEN,) * levels,
            tuple(np.arange(len(component)) for component in self._components),
            -math.inf,
            -math.inf,
            np.zeros(len(self._coefficients)),
            nothing,
            weights,
            tuple(np.zeros(len(component)) for component in self._components),
        )

    def undecided(self, pattern: Pattern) -> int | None:
        """The outermost level of which a pattern says nothing, though its loops matter; None without any."""
        deepest = int(np.flatnonzero(self.keep.any(axis=1)).max())
        for level, choice in enumerate(pattern[:deepest]):
            if choice == OPEN and self.orders.looped[level]:
                return level
        return None

    def choose(self, node: Node, level: int, choice: Choice) -> Node | None:
        """The part of a node where a level's pattern is `choice`; None if there is none."""
        once = self.orders.once(level, choice)
        chains, over = [], []
        for part, (places, excess) in enumerate(zip(node.chains, node.over, strict=True)):
            component = self._components[part]
            left = np.ones(len(places), dtype=bool)
            for place, dim in enumerate(component.dims):
                loops = component.temporal[places, place, level]
                if dim in once:
                    left &= loops == 1
                if isinstance(choice, First) and choice.dims == (dim,):
                    left &= loops > 1
            if not left.any():
                return None
            chains.append(places[left])
            over.append(excess[left])
        pattern = (*node.pattern[:level], choice, *node.pattern[level + 1 :])
        return replace(node, pattern=pattern, chains=tuple(chains), over=tuple(over))

    def relaxed(self, node: Node, target: float, rounds: int) -> tuple[Node | None, Found]:
        """The node with its bound, less chains that cannot be below `target`, a logarithm; None if none can.

        And whole chains on the way, whose losses may be less.
        """
        table, offsets = self._table(node.pattern, node.chains, range(len(node.chains)))
        rows, coefficients = np.arange(len(self._coefficients)), self._coefficients.copy()
        kernel = load_kernels(KERNEL)
        kernel.draw_lines(
            table, offsets, self._visited, self._factors, self._taken, self._sizes, self._spreads,
            self._widest, rows, coefficients,
        )  # fmt: skip
        atoms, mixed, counts = self._begin(node, offsets)
        z = node.z.copy()
        over, weights = np.zeros(table.shape[1]), np.empty(len(self._kinds))
        bound = kernel.relax(
            table, rows, offsets, coefficients, self._starts, self._kinds, self._powers, z,
            atoms, mixed, counts, rounds, target, over, weights,
        )  # fmt: skip
        base = bound - SLACK
        bound = max(base, node.bound)
        if bound >= target:
            return None, self._nothing()
        chains, excess, kept_atoms, kept_mixed, chains_left = [], [], [], [], []
        for part, places in enumerate(node.chains):
            here = over[offsets[part] : offsets[part + 1]]
            left = base + here < target
            chains_left.append(left)
            chains.append(places[left])
            excess.append(here[left])
            count = counts[part]
            kept_atoms.append(places[atoms[part, :count] - offsets[part]])
            kept_mixed.append(mixed[part, :count].copy())
        new = replace(
            node, chains=tuple(chains), over=tuple(excess), bound=bound, base=base, z=z,
            atoms=tuple(kept_atoms), mixed=tuple(kept_mixed),
            cut=self._bent(table, offsets, coefficients + z, weights, atoms, mixed, chains_left),
        )  # fmt: skip
        if self.undecided(node.pattern) is not None:
            return new, self._nothing()
        return new, self._rounded(node, table, offsets, over, atoms, mixed, counts)

    def whole(self, node: Node, target: float, most: int) -> tuple[Found | None, int]:
        """All whole chains of a node with a loss below `target`, a logarithm; None if that is too much."""
        if choices_within(node.over, target - node.base) > most:
            return None, 0
        # The component with the most chains is gone through innermost.
        order = sorted(range(len(node.chains)), key=lambda part: len(node.chains[part]))
        ranked = [np.argsort(node.over[part], kind="stable") for part in order]
        places = [node.chains[part][rank] for part, rank in zip(order, ranked, strict=True)]
        over = np.concatenate([node.over[part][rank] for part, rank in zip(order, ranked, strict=True)])
        table, offsets = self._table(node.pattern, places, order)
        rows = np.exp(table[: len(self._factors)].T, order="C")
        rest = self._rest(rows, offsets)
        room = 4096
        kernel = load_kernels(ENUMERATION)
        while True:
            found, losses = np.empty((room, len(places)), dtype=np.int64), np.empty(room)
            kept, looked = kernel.enumerate_chains(
                rows, offsets, over, self._factors, self._starts, self._first_starts, self._kinds,
                self._powers, rest, target - node.base + SLACK, math.exp(min(target, MAX_LOG)), found,
                losses,
            )  # fmt: skip
            if kept >= 0:
                break
            room *= 8
        chains = np.empty((kept, len(places)), dtype=np.int64)
        for number, part in enumerate(order):
            chains[:, part] = places[number][found[:kept, number] - offsets[number]]
        return Found(self.number, chains, np.log(losses[:kept])), looked

    def _rest(self, rows: FloatArray, offsets: IntArray) -> FloatArray:
        """What the components after each multiply by: the least of terms, the most of first visits."""
        least = np.minimum.reduceat(rows, offsets[:-1], axis=0)
        most = np.maximum.reduceat(rows, offsets[:-1], axis=0)
        terms = len(self._coefficients)
        edge = np.concatenate([least[:, :terms], most[:, terms:]], axis=1)
        after = np.cumprod(edge[::-1], axis=0)[::-1]
        return np.concatenate([after[1:], np.ones_like(after[:1])])

    def _table(
        self, pattern: Pattern, chains: Sequence[IntArray], parts: Sequence[int]
    ) -> tuple[FloatArray, IntArray]:
        """What chains of these components contribute to the terms and first visits, as logarithms: (terms,
        chains of all components), and where each component begins.
        """
        offsets = np.cumsum([0, *map(len, chains)]).astype(np.int64)
        # After terms and first visits there is room for lines.
        count = len(self._factors)
        table = np.empty((count + len(self._visited), offsets[-1]))
        for number, (part, places) in enumerate(zip(parts, chains, strict=True)):
            self._tables.write(pattern, part, places, table[:count, offsets[number] : offsets[number + 1]])
        return table, offsets

    def _bent(
        self,
        table: FloatArray,
        offsets: IntArray,
        terms: FloatArray,
        weights: FloatArray,
        atoms: IntArray,
        mixed: FloatArray,
        left: Sequence[BoolArray],
    ) -> tuple[int, BoolArray] | None:
        """Where to divide a node so that the line below a first visit bends, if that is far off."""
        if not len(self._visited):
            return None
        mixture = np.einsum("pa,tpa->t", mixed, table[:, atoms])
        lines = np.exp(terms)
        totals = np.add.reduceat(lines, self._starts[:-1])
        worth = {}
        for first, place in enumerate(self._visited):
            here = self._factors[place] * math.exp(mixture[place])
            here -= self._factors[len(terms) + first] * math.exp(mixture[len(terms) + first])
            group = self._groups[place]
            if here > lines[place] and self._kinds[group] != LIMIT:
                worth[first] = weights[group] * math.log1p((here - lines[place]) / totals[group])
        if not worth or max(worth.values()) < FAR_OFF:
            return None
        first = max(worth, key=lambda one: worth[one])
        times = table[self._visited[first]] - table[len(terms) + first]
        best, cut = 1e-9, None
        for part, kept in enumerate(left):
            here = times[offsets[part] : offsets[part + 1]][kept]
            wide = np.ptp(here)
            if wide > best:
                mean = float(mixed[part] @ times[atoms[part]])
                below = here <= mean + 1e-9
                best, cut = wide, (part, below if not below.all() else here < here.max() - 1e-9)
        return cut

    def _begin(self, node: Node, offsets: IntArray) -> tuple[IntArray, FloatArray, IntArray]:
        """The chains that the relaxation ended with before, as far as they are still there."""
        parts = len(node.chains)
        atoms = np.zeros((parts, MAX_ATOMS), dtype=np.int64)
        mixed, counts = np.zeros((parts, MAX_ATOMS)), np.zeros(parts, dtype=np.int64)
        for part, places in enumerate(node.chains):
            before = node.atoms[part]
            at = np.minimum(np.searchsorted(places, before), len(places) - 1)
            here = (places[at] == before) & (node.mixed[part] > 0)
            weights = node.mixed[part][here]
            if weights.sum() > 0:
                count = int(here.sum())
                atoms[part, :count] = at[here] + offsets[part]
                mixed[part, :count] = weights / weights.sum()
                counts[part] = count
        return atoms, mixed, counts

    def _rounded(
        self,
        node: Node,
        table: FloatArray,
        offsets: IntArray,
        over: FloatArray,
        atoms: IntArray,
        mixed: FloatArray,
        counts: IntArray,
    ) -> Found:
        """Whole chains near where the relaxation ended: from the heaviest ones down, one component at a time,
        among the chains that exceed the bound least.
        """
        picked, start, ends = [], [], [0]
        for part in range(len(node.chains)):
            here = over[offsets[part] : offsets[part + 1]]
            near = np.arange(len(here))
            if len(near) > MAX_NEAR:
                near = np.argpartition(here, MAX_NEAR)[:MAX_NEAR]
            heaviest = int(here.argmin())
            # A relaxation that is at its end at once may have no weights.
            if counts[part]:
                heaviest = atoms[part, int(mixed[part, : counts[part]].argmax())] - offsets[part]
            start.append(ends[-1] + len(near))
            picked.append(np.append(near, heaviest) + offsets[part])
            ends.append(start[-1] + 1)
        columns = np.concatenate(picked)
        chains = np.array(start)
        loss = load_kernels(ENUMERATION).descend(
            np.exp(table[: len(self._factors), columns].T, order="C"), np.array(ends), self._factors,
            self._starts, self._first_starts, self._kinds, self._powers, chains,
        )  # fmt: skip
        if loss == math.inf:
            return self._nothing()
        whole = [
            places[column - offset]
            for places, column, offset in zip(node.chains, columns[chains], offsets, strict=False)
        ]
        return Found(self.number, np.array([whole]), np.log([loss]))

    def _nothing(self) -> Found:
        return Found(self.number, np.empty((0, len(self._components)), dtype=np.int64), np.empty(0))


def _starts(lengths: Sequence[int]) -> IntArray:
    return np.cumsum([0, *lengths]).astype(np.int64)
