"""Where nodes are divided: at steps, at the loops of a level, or so that a line bends."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dse.models.timeloop.proof.counts import Counts
from dse.models.timeloop.proof.nodes import Cut, Node
from dse.models.timeloop.proof.orders import Orders
from dse.models.timeloop.proof.records import Mixture, Related, Table
from dse.models.timeloop.proof.tables import Sums
from dse.models.timeloop.proof.terms import LIMIT
from dse.support.arrays import BoolArray, FloatArray

FAR_OFF = 0.01
STEPS_MATTER = 0.3
"""Share of steps in what a bound rests on, from which a node is divided by them first."""
MORE = 1e-3
"""By how much a level's loops have to matter more than those of the outermost level."""


@dataclass(frozen=True)
class Ended:
    """Where a relaxation ended: its table, the logarithms of all terms, the weights of groups, and the chains
    that are mixed; what terms are related to, if they are, and which chains are `left`.
    """

    table: Table
    terms: FloatArray
    weights: FloatArray
    mixture: Mixture
    related: Related | None
    left: Sequence[BoolArray]


class Dividing:
    """The nodes of one choice of what levels keep."""

    def __init__(self, sums: Sums, orders: Orders, counts: Sequence[Counts]) -> None:
        self._sums, self._orders, self._counts = sums, orders, counts

    def level(self, node: Node, ended: Ended, first: int) -> int:
        """The level whose innermost loop is to be said next: what that would say counts most for the bound.

        `first` is the outermost one of which nothing is said.
        """
        share, score = self._shares(ended), np.zeros(len(node.pattern))
        for term, delivery in self._sums.deliveries:
            level = self._orders.unknown(node.pattern, *delivery)
            if level is not None:
                score[level] += share[term]
        best = int(score.argmax())
        return best if score[best] > score[first] + MORE else first

    def by_steps(self, node: Node, ended: Ended) -> Cut | None:
        """Where to divide a node by the steps of a component, if they matter and are not said."""
        share = self._shares(ended)[self._sums.steps].sum()
        if ended.related is not None:
            constants, rests = ended.related
            lines = np.exp(ended.terms) * rests[self._sums.group]
            totals = _totals(lines, self._sums) + constants
            parts = ended.weights[self._sums.group] * lines / totals[self._sums.group]
            share = parts[self._sums.steps].sum()
        if share < STEPS_MATTER:
            return None
        best, cut = 1e-9, None
        for part, places in enumerate(node.chains):
            every = self._counts[part].steps()
            steps, mixed = every[places], every[node.atoms[part]]
            weights = node.mixed[part]
            # Where nothing is mixed, the component with the most different steps.
            spread = float(weights @ (mixed - weights @ mixed) ** 2) + 1e-6 * float(np.ptp(steps))
            if spread > best:
                best, cut = spread, (part, np.unique(steps.round(9), return_inverse=True)[1])
        return cut

    def by_first_visit(self, ended: Ended) -> Cut | None:
        """Where to divide a node so that the line below a first visit bends, if that is far off."""
        sums, visits, (table, offsets) = self._sums, self._sums.visits, ended.table
        atoms, weights, _ = ended.mixture
        if not len(visits.visited):
            return None
        mixture = np.einsum("pa,tpa->t", weights, table[:, atoms])
        lines = np.exp(ended.terms)
        totals = _totals(lines, sums)
        worth = {}
        for first, place in enumerate(visits.visited):
            here = visits.factors[place] * math.exp(mixture[place])
            here -= visits.factors[len(lines) + first] * math.exp(mixture[len(lines) + first])
            group = sums.group[place]
            if ended.related is not None:
                here /= ended.related.rests[group]
            if here > lines[place] > 0.0 and sums.groups.kinds[group] != LIMIT:
                worth[first] = ended.weights[group] * math.log1p((here - lines[place]) / totals[group])
        if not worth or max(worth.values()) < FAR_OFF:
            return None
        first = max(worth, key=lambda one: worth[one])
        times = table[visits.visited[first]] - table[len(lines) + first]
        best, cut = 1e-9, None
        for part, kept in enumerate(ended.left):
            here = times[offsets[part] : offsets[part + 1]][kept]
            wide = np.ptp(here)
            if wide > best:
                mean = float(weights[part] @ times[atoms[part]])
                below = here <= mean + 1e-9
                best, cut = wide, (part, (below if not below.all() else here < here.max() - 1e-9).astype(int))
        return cut

    def _shares(self, ended: Ended) -> FloatArray:
        """What each term counts for in the bound."""
        lines, group = np.exp(ended.terms), self._sums.group
        totals = _totals(lines, self._sums)
        return ended.weights[group] * lines / totals[group]


def _totals(lines: FloatArray, sums: Sums) -> FloatArray:
    """What the terms of each group come to; more than 0, also where all of them are as good as nothing."""
    totals: FloatArray = np.maximum(np.add.reduceat(lines, sums.groups.starts[:-1]), 1e-300)
    return totals
