"""A good mapping, found by a few descents: what a proof begins with where it has nothing better."""

from __future__ import annotations

import math

import numpy as np

from dse.core.certificate import Incumbent, priced_mapping
from dse.core.clock import Clock
from dse.domains.clustered.problem import Problem
from dse.proof.proving import tie_breaks
from dse.support.arrays import IntArray

DRAWN, STARTS, STEPS_DOWN = 20_000, 8, 200
NOTHING = math.inf, -math.inf
"""No mapping: what is not feasible is no better."""


def good_mapping(problem: Problem, within: Problem | None = None, drawn: int = DRAWN) -> Incumbent | None:
    """The best that descents in the space of `within` find, the same in every run; None if none is feasible.

    `within` is the problem with fewer tiles; by default it is the problem itself. The best of so many `drawn`
    are gone down from.
    """
    there = within or problem
    point = best_descent(there, 0.0, Clock(), drawn)
    # Priced as a mapping: several points may be the same one, of which proofs name the first.
    return None if point is None else priced_mapping(problem, there.space.decode(point[np.newaxis])[0])


def best_descent(problem: Problem, floor: float, clock: Clock, drawn: int = DRAWN) -> IntArray | None:
    """The best point, (genes,), of descents from the best of random ones; None if none was feasible."""
    space, rng = problem.space, np.random.default_rng(0)
    points = space.sample(rng, drawn)
    least, best = NOTHING, None
    for start in np.argsort(problem.price(points).loss, kind="stable")[:STARTS].tolist():
        # At first the point itself is all that is near.
        here, value, near = points[start], NOTHING, points[[start]]
        for _ in range(STEPS_DOWN):
            costs = problem.price(near)
            ties = tie_breaks(problem, costs)
            place = int(np.lexsort((ties, costs.loss))[0])
            found = float(costs.loss[place]), float(ties[place])
            if not found < value:
                break
            here, value = near[place], found
            if value < least:
                least, best = value, here
            if least[0] <= floor or clock.over:
                return best
            near = np.concatenate([block.neighbours(here) for block in space.blocks])
            if not len(near):
                break
    return best
