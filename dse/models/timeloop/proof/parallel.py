"""How many MACs can be at work: the spatial factors of all components together, level by level.

Of each component the factors of a level multiply to some number, and those of all components to no more than
the level's fan-out. Which products can be together is gone through one component after the other: they are no
more than numbers up to the fan-outs.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dse.models.timeloop.proof.components import Component
from dse.support.arrays import BoolArray, IntArray

NEARLY = 1 - 1e-9
MOST = 4_000_000
"""Products that are gone through at once; of more, all chains stay."""


def busy_components(
    components: Sequence[Component], fan_outs: Sequence[int], least: int
) -> list[Component] | None:
    """The components with the chains that can be part of `least` MACs at work; None if there are none."""
    if least <= 1:
        return list(components)
    every = [np.arange(len(one)) for one in components]
    kept = Parallel(components, fan_outs).wide_enough(every, least)
    if kept is None:
        return None
    return [one.less(left) for one, left in zip(components, kept, strict=True)]


class Parallel:
    """The spatial factors of components on levels of these fan-outs."""

    def __init__(self, components: Sequence[Component], fan_outs: Sequence[int]) -> None:
        wide = np.flatnonzero(np.array(fan_outs) > 1)
        self._limits = np.array(fan_outs, dtype=np.int64)[wide]
        self._kinds: list[tuple[IntArray, IntArray]] = []
        for component in components:
            spread = component.spatial[..., wide].prod(axis=1)
            products, kind = np.unique(spread, axis=0, return_inverse=True)
            self._kinds.append((products, kind.reshape(-1)))

    def wide_enough(self, chains: Sequence[IntArray], least: float) -> list[BoolArray] | None:
        """Of every component's chains those with which all together spread over at least so many MACs; None
        if there are none.
        """
        here = [np.unique(kind[places]) for (_, kind), places in zip(self._kinds, chains, strict=True)]
        products = [products[kinds] for (products, _), kinds in zip(self._kinds, here, strict=True)]
        found = []
        for part, (kinds, own) in enumerate(zip(here, products, strict=True)):
            others = self._together([one for other, one in enumerate(products) if other != part])
            if others is None or len(others) * len(own) > MOST:
                found.append(np.ones(len(chains[part]), dtype=np.bool_))
                continue
            both = own[:, np.newaxis] * others
            macs = np.where((both <= self._limits).all(axis=2), both.prod(axis=2), 0).max(axis=1, initial=0)
            wide = kinds[macs >= least * NEARLY]
            if not len(wide):
                return None
            found.append(np.isin(self._kinds[part][1][chains[part]], wide))
        return found

    def _together(self, products: Sequence[IntArray]) -> IntArray | None:
        """The products of one of each, as far as levels are wide enough, (n, levels); None if too many."""
        found = np.ones((1, len(self._limits)), dtype=np.int64)
        for one in products:
            if len(found) * len(one) > MOST:
                return None
            both = (found[:, np.newaxis] * one).reshape(len(found) * len(one), len(self._limits))
            found = np.unique(both[(both <= self._limits).all(axis=1)], axis=0)
        return found
