"""A good mapping, found by a few descents: what a proof begins with where it has nothing better."""

from __future__ import annotations

import math

import numpy as np

from dse.core.certificate import Incumbent, priced_point
from dse.core.clock import Clock
from dse.domains.clustered.problem import Problem
from dse.support.arrays import IntArray

DRAWN, STARTS, STEPS_DOWN = 20_000, 8, 200


def good_mapping(problem: Problem) -> Incumbent | None:
    """The best that descents find, the same in every run; None if none is feasible."""
    point = descend(problem, 0.0, Clock())
    return None if point is None else priced_point(problem, point)


def descend(problem: Problem, floor: float, clock: Clock) -> IntArray | None:
    """The best point, (genes,), of descents from the best of random ones; None if none was feasible."""
    space, rng = problem.space, np.random.default_rng(0)
    points = space.sample(rng, DRAWN)
    losses = problem.price(points).loss
    least, best = math.inf, None
    for place in np.argsort(losses, kind="stable")[:STARTS].tolist():
        here, loss = points[place], float(losses[place])
        for _ in range(STEPS_DOWN):
            if loss < least:
                least, best = loss, here
            if least <= floor or clock.over:
                return best
            near = np.concatenate([block.neighbours(here) for block in space.blocks])
            found = problem.price(near).loss
            if not found.min(initial=math.inf) < loss:
                break
            here, loss = near[int(found.argmin())], float(found.min())
    return best
