"""What a layer's weighted sum of energy and latency is not below, of all that is proven of the layer."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations

from dse.core.objective import Objective

STEPS = 40
"""Of the search for the best share; with any share the bound holds."""

Sum = tuple[float, float, float]
"""Weights of energy and latency, and what this sum of a layer is not below."""


def least_of_weights(objective: Objective, bound: float, energy: float, latency: float) -> float:
    """What a weighted sum of energy and latency is not below where their product of powers is not below a
    bound: by the inequality of the weighted arithmetic and geometric means."""
    a, b = objective.exponents["energy"], objective.exponents["latency"]
    if energy <= 0 or latency <= 0:
        return 0.0
    return float((a + b) * (bound * (energy / a) ** a * (latency / b) ** b) ** (1 / (a + b)))


def least_weighted(
    objective: Objective, bound: float, known: Sequence[Sum], energy: float, latency: float
) -> float:
    """What a layer's weighted sum is not below: by its product of powers, by its `known` sums, and by both.

    The weights are shared out: what a share is not below and what the rest is not below add up.
    """
    best = least_of_weights(objective, bound, energy, latency)
    for one in known:
        best = max(best, _beside(objective, bound, one, energy, latency))
    for one, two in combinations(known, 2):
        across = one[0] * two[1] - two[0] * one[1]
        if not across:
            continue
        first = (energy * two[1] - latency * two[0]) / across
        second = (latency * one[0] - energy * one[1]) / across
        if first >= 0 and second >= 0:
            best = max(best, first * one[2] + second * two[2])
    return best


def _beside(objective: Objective, bound: float, one: Sum, energy: float, latency: float) -> float:
    """The most that a share of a known sum and the product of powers say together: concave in the share."""
    low, high = 0.0, min(energy / one[0] if one[0] else math.inf, latency / one[1] if one[1] else math.inf)

    def at(share: float) -> float:
        rest = least_of_weights(objective, bound, energy - share * one[0], latency - share * one[1])
        return share * one[2] + rest

    best = at(high)
    for _ in range(STEPS):
        less, more = low + (high - low) * 0.382, low + (high - low) * 0.618
        at_less, at_more = at(less), at(more)
        best = max(best, at_less, at_more)
        low, high = (low, more) if at_less > at_more else (less, high)
    return best
