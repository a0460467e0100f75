"""A good mapping, found by a few descents: what a proof begins with where it has nothing better."""

from __future__ import annotations

import math
from contextlib import suppress

import numpy as np

from dse.core.certificate import Incumbent, priced
from dse.core.clock import Clock
from dse.domains.clustered.problem import Problem
from dse.support.arrays import IntArray
from dse.support.errors import InputError

DRAWN, STARTS, STEPS_DOWN = 20_000, 8, 200


def good_mapping(problem: Problem, within: Problem | None = None) -> Incumbent | None:
    """The best that descents in the space of `within` find, the same in every run; None if none is feasible.

    `within` is the problem with fewer tiles; by default it is the problem itself.
    """
    there = within or problem
    point = descend(there, 0.0, Clock())
    # Priced as a mapping: several points may be the same one, of which proofs name the first.
    return None if point is None else priced(problem, there.space.decode(point[np.newaxis])[0])


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


def with_factors(problem: Problem) -> Problem | None:
    """The problem over perfect factors; None where a tile is fixed that is no factor."""
    with suppress(InputError):
        return problem.with_changes(tiles="factors")
    return None
