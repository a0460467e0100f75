"""Nodes of the search: some chains of every component under a pattern of orders, with their bound."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from dse.domains.levels.models.timeloop.proof.components import Component
from dse.domains.levels.models.timeloop.proof.counts import Counts
from dse.domains.levels.models.timeloop.proof.orders import OPEN, Choice, First, Orders, Pattern
from dse.domains.levels.models.timeloop.proof.terms import CYCLES, ENERGY, LIMIT, Terms
from dse.domains.levels.problem import MachineProblem
from dse.support.arrays import BoolArray, FloatArray, IntArray
from dse.support.jit import load_kernels

SLACK = 1e-9
"""By what share a bound may be off, as its sums are rounded."""
MOST_ATOMS = 24
MOST_LOG = 600.0
KERNEL = "dse.domains.levels.models.timeloop.proof.relaxation"


@dataclass(frozen=True)
class Node:
    """`chains` of each component, by place; `bound` is the logarithm of a loss that none of it is below.

    `z`, `atoms` and `mixed` are where the relaxation ended. A mapping of some chains is at least as far above
    `base` as their `over` add up to.
    """

    branch: int
    pattern: Pattern
    chains: tuple[IntArray, ...]
    bound: float
    base: float
    z: FloatArray
    atoms: tuple[IntArray, ...]
    mixed: tuple[FloatArray, ...]
    over: tuple[FloatArray, ...]

    @property
    def size(self) -> float:
        """How many choices of chains there are."""
        return math.prod(map(len, self.chains))


@dataclass
class Found:
    """Whole chains (n, components) of a branch, with the logarithm of the least loss that each may have."""

    branch: int
    chains: IntArray
    losses: FloatArray


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
        self.terms = terms = Terms(problem, orders, counts, keep)
        self._components, self._counts = components, counts
        flat, firsts, groups = terms.flat, terms.firsts, terms.groups
        self._kinds = np.array([group.kind for group in groups], dtype=np.int64)
        self._starts = _starts([len(group.terms) for group in groups])
        self._first_starts = _starts([sum(one.first is not None for one in group.terms) for group in groups])
        self._factors = np.array(
            [*(one.coefficient for one in flat), *(one.coefficient * one.size for one in firsts)]
        )
        self._coefficients = np.log(self._factors[: len(flat)])
        self._visited = [place for place, one in enumerate(flat) if one.first is not None]

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

    def split(self, node: Node) -> list[Node]:
        """Two parts of a node's chains: those that leave less of one dim at one loop, and the others."""
        best, cut = 0.0, None
        for part, (places, weights) in enumerate(zip(node.atoms, node.mixed, strict=True)):
            heavy = weights > 1e-6
            if heavy.sum() < 2:
                continue
            values = np.log(self._components[part].lengths[places[heavy]])
            share = weights[heavy] / weights[heavy].sum()
            mean = share @ values
            spread = share @ (values - mean) ** 2
            column = int(spread.argmax())
            if spread[column] > best:
                best, cut = float(spread[column]), (part, column, float(mean[column]))
        if cut is None:
            cut = self._halves(node)
        part, column, value = cut
        lengths = np.log(self._components[part].lengths[node.chains[part], column])
        found = []
        for left in (lengths <= value, lengths > value):
            if left.any():
                chains = (*node.chains[:part], node.chains[part][left], *node.chains[part + 1 :])
                over = (*node.over[:part], node.over[part][left], *node.over[part + 1 :])
                found.append(replace(node, chains=chains, over=over))
        return found

    def _halves(self, node: Node) -> tuple[int, int, float]:
        """Where to split the component with the most chains, if no mixture says where."""
        part = int(np.argmax([len(places) for places in node.chains]))
        values = np.log(self._components[part].lengths[node.chains[part]])
        column = int(values.std(axis=0).argmax())
        return part, column, float((values[:, column].min() + values[:, column].max()) / 2)

    def relaxed(self, node: Node, target: float, rounds: int) -> tuple[Node | None, Found]:
        """The node with its bound, less chains that cannot be below `target`, a logarithm; None if none can.

        And whole chains on the way, whose losses may be less.
        """
        table, offsets = self._table(node.pattern, node.chains, range(len(node.chains)))
        convex, coefficients = self._convex(table, offsets)
        if self._hopeless(convex, coefficients, offsets, target):
            return None, self._nothing()
        kernel = load_kernels(KERNEL)
        atoms, mixed, counts = self._begin(node, offsets)
        z = node.z.copy()
        over = np.zeros(table.shape[1])
        best = np.empty((rounds, len(node.chains)), dtype=np.int64)
        bound, done = kernel.relax(
            convex, offsets, coefficients, self._starts, self._kinds, z,
            atoms, mixed, counts, rounds, target, over, best,
        )  # fmt: skip
        found = self._found(node, table, offsets, best[:done])
        base = bound - SLACK
        bound = max(base, node.bound)
        if bound >= target:
            return None, found
        chains, excess, kept_atoms, kept_mixed = [], [], [], []
        for part, places in enumerate(node.chains):
            here = over[offsets[part] : offsets[part + 1]]
            left = base + here < target
            chains.append(places[left])
            excess.append(here[left])
            count = counts[part]
            kept_atoms.append(places[atoms[part, :count] - offsets[part]])
            kept_mixed.append(mixed[part, :count].copy())
        new = replace(
            node, chains=tuple(chains), over=tuple(excess), bound=bound, base=base, z=z,
            atoms=tuple(kept_atoms), mixed=tuple(kept_mixed),
        )  # fmt: skip
        return new, found

    def whole(self, node: Node, target: float, most: int) -> tuple[Found | None, int]:
        """All whole chains of a node with a loss below `target`, a logarithm; None if that is too much."""
        if _choices(node.over, target - node.base) > most:
            return None, 0
        # The component with the most chains is gone through innermost.
        order = sorted(range(len(node.chains)), key=lambda part: len(node.chains[part]))
        ranked = [np.argsort(node.over[part], kind="stable") for part in order]
        places = [node.chains[part][rank] for part, rank in zip(order, ranked, strict=True)]
        over = np.concatenate([node.over[part][rank] for part, rank in zip(order, ranked, strict=True)])
        table, offsets = self._table(node.pattern, places, order)
        rows = np.exp(table.T, order="C")
        rest = self._rest(rows, offsets)
        room = 4096
        kernel = load_kernels(KERNEL)
        while True:
            found, losses = np.empty((room, len(places)), dtype=np.int64), np.empty(room)
            kept, looked = kernel.enumerate_chains(
                rows, offsets, over, self._factors, self._starts, self._first_starts, self._kinds, rest,
                target - node.base + SLACK, math.exp(min(target, MOST_LOG)), found, losses,
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
        tables = [self.terms.table(pattern, part, places) for part, places in zip(parts, chains, strict=True)]
        return np.concatenate(tables, axis=1), offsets

    def _convex(self, table: FloatArray, offsets: IntArray) -> tuple[FloatArray, FloatArray]:
        """The terms' table and coefficients where a term with a first visit is bounded by a power.

        What is delivered `x` times costs `a x - r`, the first time less. `log(a x - r)` is concave in
        `log x`: between the least and the most that `x` can be here, the line through both is below it.
        """
        terms = len(self._coefficients)
        convex, coefficients = table[:terms], self._coefficients
        if self._visited:
            convex, coefficients = convex.copy(), coefficients.copy()
        for first, (place, one) in enumerate(zip(self._visited, self.terms.firsts, strict=True)):
            times = table[place] - table[terms + first]
            least = np.minimum.reduceat(times, offsets[:-1]).sum() - math.log(one.size)
            most = np.maximum.reduceat(times, offsets[:-1]).sum() - math.log(one.size)
            start, slope = _power(max(least, 0.0), max(most, 0.0), self._factors[place], one.coefficient)
            convex[place] = table[terms + first] + slope * times
            coefficients[place] = start + (1 - slope) * math.log(one.size)
        return convex, coefficients

    def _hopeless(
        self, convex: FloatArray, coefficients: FloatArray, offsets: IntArray, target: float
    ) -> bool:
        """Whether the least of every term makes a loss that is not below the target, or exceeds a limit."""
        terms = np.exp(np.minimum.reduceat(convex, offsets[:-1], axis=1).sum(axis=1) + coefficients)
        sums = np.add.reduceat(terms, self._starts[:-1])
        if (sums[self._kinds == LIMIT] > 1 + SLACK).any():
            return True
        energy = max(sums[self._kinds == ENERGY], default=1.0)
        cycles = max(sums[self._kinds == CYCLES], default=1.0)
        return bool(math.log(energy) + math.log(cycles) - 2 * SLACK >= target)

    def _begin(self, node: Node, offsets: IntArray) -> tuple[IntArray, FloatArray, IntArray]:
        """The chains that the relaxation ended with before, as far as they are still there."""
        parts = len(node.chains)
        atoms = np.zeros((parts, MOST_ATOMS), dtype=np.int64)
        mixed, counts = np.zeros((parts, MOST_ATOMS)), np.zeros(parts, dtype=np.int64)
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

    def _found(self, node: Node, table: FloatArray, offsets: IntArray, chains: IntArray) -> Found:
        """Chains (n, components), by column of a node's table, with their losses."""
        columns, numbers = np.unique(chains, return_inverse=True)
        losses = np.empty(len(chains))
        load_kernels(KERNEL).losses_of(
            np.exp(table[:, columns].T, order="C"), self._factors, self._starts, self._first_starts,
            self._kinds, numbers.reshape(chains.shape), losses,
        )  # fmt: skip
        best = int(losses.argmin())
        if losses[best] == math.inf:
            return self._nothing()
        picked = [places[chains[best, part] - offsets[part]] for part, places in enumerate(node.chains)]
        return Found(self.number, np.array([picked]), np.log(losses[best : best + 1]))

    def _nothing(self) -> Found:
        return Found(self.number, np.empty((0, len(self._components)), dtype=np.int64), np.empty(0))


def _choices(over: Sequence[FloatArray], room: float) -> float:
    """About how many choices there are of one number of each, for a sum of at most `room`; no fewer."""
    bins = 256
    ways = np.zeros(bins + 1)
    ways[0] = 1.0
    for one in over:
        # Rounded down: a choice is rather counted than not.
        where = np.minimum(np.floor(one / max(room, 1e-12) * bins).astype(np.int64), bins)
        ways = np.convolve(ways, np.bincount(where, minlength=bins + 1))[: bins + 1]
    return float(ways.sum())


def _power(least: float, most: float, whole: float, taken: float) -> tuple[float, float]:
    """Start and slope of the line below `log(whole e^u - taken)` for `u` from `least` to `most`."""
    here, there = (whole * math.exp(times) - taken for times in (least, most))
    if here <= taken * 1e-9:
        # The first visit may be the only one, and costs nothing.
        return -MOST_LOG, 1.0
    if most - least < 1e-9:
        return math.log(here) - least, 1.0
    slope = math.log(there / here) / (most - least)
    return math.log(here) - slope * least, slope


def _starts(lengths: Sequence[int]) -> IntArray:
    return np.cumsum([0, *lengths]).astype(np.int64)
