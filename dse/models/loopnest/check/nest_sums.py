"""What moves as the loops of a level advance: sums over the loops of an order, and the least of all orders.

A level's loops are added from the outermost in. Before a loop stand those of a set S, after it the rest; what
is new as it advances is `all of S x new of the loop x back of the rest`, whatever the order inside S. So the
least sum over all orders is that of a shortest path over sets.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from dse.support.arrays import FloatArray

EVERY = 15
"""The set of the four loops K C Y X: a bit each."""

Factor = FloatArray | float | None
"""A figure of a dim, of n boxes or the same of all; None stands for 1, or, of what is new, for 0."""
Factors = Sequence[Factor]
"""Those of K C Y X."""
Edges = tuple[tuple[int, int], ...]
"""Sets of loops, each with a loop that some order has right inside of them, sets with fewer loops first."""


def edges_of(orders: Iterable[Sequence[int]]) -> Edges:
    """The edges of some orders, from the outermost loop in."""
    found = {
        (sum(1 << loop for loop in order[:place]), loop)
        for order in orders
        for place, loop in enumerate(order)
    }
    return tuple(sorted(found, key=lambda edge: (bin(edge[0]).count("1"), edge)))


class Level:
    """Sums of one level's loops over boxes, each term by set and loop."""

    def __init__(self, edges: Edges, count: int) -> None:
        self._edges = edges
        self._terms: dict[tuple[int, int], FloatArray | float] = {}
        self._count = count

    def add(self, price: float, every: Factors, new: Factors, back: Factors) -> None:
        """Add a tensor's words at a price each."""
        if not price:
            return
        before, after = set_products(every), set_products(back)
        for edge in self._edges:
            loops, loop = edge
            fresh = new[loop]
            if fresh is None:
                continue
            term: FloatArray | float = fresh * price if price != 1.0 else fresh
            for factor in (before[loops], after[EVERY - loops - (1 << loop)]):
                if factor is not None:
                    term = term * factor
            known = self._terms.get(edge)
            self._terms[edge] = term if known is None else known + term

    def least(self) -> FloatArray:
        """The least sum of all orders (n,)."""
        return least_path(self._edges, self._terms, self._count)


def least_path(edges: Edges, terms: Mapping[tuple[int, int], FloatArray | float], count: int) -> FloatArray:
    """The least sum of terms along edges from no loop to all of them: (count,)."""
    best: dict[int, FloatArray] = {0: np.zeros(count)}
    # Edges from sets with fewer loops come first: a set's best is known before it is gone on from.
    for edge in edges:
        loops, loop = edge
        whole, known = best[loops] + terms.get(edge, 0.0), best.get(loops + (1 << loop))
        best[loops + (1 << loop)] = whole if known is None else np.minimum(known, whole)
    return best[EVERY]


def set_products(factors: Factors) -> list[Factor]:
    """The product of each set of factors, by set."""
    found: list[Factor] = [None] * (EVERY + 1)
    for loops in range(1, EVERY + 1):
        loop = loops.bit_length() - 1
        one, rest = factors[loop], found[loops - (1 << loop)]
        found[loops] = rest if one is None else one if rest is None else one * rest
    return found
