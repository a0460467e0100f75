"""Factors that leave too few MACs at work under a limit of a user's own, whatever the others are.

Of each component, the ways to spread over the levels' children are gone through together with those of all
others: what no choice of these completes to as many MACs as have to work is left out before the search.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dse.domains.levels.models.timeloop.proof.components import Component
from dse.support.arrays import IntArray

MOST = 4_000_000
"""Pairs of ways that are gone through at once; of more, all factors stay."""


def busy_components(
    components: Sequence[Component], fan_outs: Sequence[int], least: int
) -> list[Component] | None:
    """The components with the chains that can be part of `least` MACs at work; None if there are none."""
    if least <= 1:
        return list(components)
    widest = np.array(fan_outs, dtype=np.int64)
    spreads = [component.spatial.prod(axis=1, dtype=np.int64) for component in components]
    ways = [np.unique(spread, axis=0) for spread in spreads]
    found = []
    for place, (component, spread) in enumerate(zip(components, spreads, strict=True)):
        others = _together([*ways[:place], *ways[place + 1 :]], widest)
        if others is None or len(others) * len(ways[place]) > MOST:
            found.append(component)
            continue
        useful = [bool(_completes(way, others, widest, least)) for way in ways[place]]
        _, which = np.unique(spread, axis=0, return_inverse=True)
        keep = np.array(useful)[which.reshape(-1)]
        if not keep.any():
            return None
        found.append(Component(component.dims, component.temporal[keep], component.spatial[keep]))
    return found


def _completes(way: IntArray, others: IntArray, widest: IntArray, least: int) -> bool:
    """Whether a way to spread, (levels,), has some of the others beside it that make up for the rest."""
    together = others * way
    return bool(((together <= widest).all(axis=1) & (together.prod(axis=1) >= least)).any())


def _together(ways: Sequence[IntArray], widest: IntArray) -> IntArray | None:
    """All products of a way from each list that fit, (ways, levels); None if they are too many."""
    found = np.ones((1, len(widest)), dtype=np.int64)
    for more in ways:
        if len(found) * len(more) > MOST:
            return None
        products = (found[:, np.newaxis] * more).reshape(-1, len(widest))
        found = np.unique(products[(products <= widest).all(axis=1)], axis=0)
    return found
