"""Claims of proofs over tiles of any size: around the best mapping, none is below the bound."""

from __future__ import annotations

import numpy as np

from dse.core.certificate import Certificate
from dse.core.proofs import Check
from dse.domains.clustered.mapping import MappingBatch
from dse.domains.clustered.problem import Problem

STEPS, WIDTH = 40, 500
"""Steps away from the best mapping, and how many mappings are kept in each."""


def any_checks(problem: Problem, certificate: Certificate, rng: np.random.Generator) -> tuple[Check, ...]:
    """Check what certificates over tiles of any size claim."""
    name, best = "no mapping around the best one is below the bound", certificate.best
    if best is None:
        return ()
    space, priced, least = problem.space, 0, np.inf
    points = space.encode(MappingBatch.of([best.mapping]))
    for _ in range(STEPS):
        near = np.concatenate([block.neighbours(point) for point in points[:4] for block in space.blocks])
        points = np.concatenate([points, near, space.neighbour(rng, points)])
        losses = problem.price(points).loss
        priced, least = priced + len(points), min(least, float(losses.min()))
        points = rng.permutation(points[np.argsort(losses, kind="stable")[:WIDTH]])
    holds = not least < certificate.lower_bound
    seen = f"{priced:,} mappings priced"
    return (Check(name, holds, seen if holds else f"{least!r}: {seen}"),)
