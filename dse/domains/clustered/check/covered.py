"""Claims of proofs over tiles: boxes of tiles are ruled out again, what is left is priced.

All mappings are gone through, by bounds of the cost model's own (`boxes.Cost`): what these do not rule out
within a budget is priced, every order of boxes of one choice of tiles, and elsewhere mappings
drawn at random. Mappings around the best one, and around the best of those drawn, are priced too.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dse.core.certificate import Certificate
from dse.core.proofs import Check
from dse.domains.clustered.check.boxes import Boxes, Cost
from dse.domains.clustered.check.remains import Remains
from dse.domains.clustered.mapping import COLUMNS, MappingBatch
from dse.domains.clustered.problem import Problem
from dse.support.arrays import FloatArray, IntArray

STEPS, WIDTH = 40, 500
"""Steps away from the best mappings, and how many mappings are kept in each."""
NAME = "no box of tiles is left out"
FIRST_BOUNDS, FIRST_DRAWN = 100_000, 20_000
"""Bounds to work out at first, and mappings to draw from what they leave."""
BEST = 20
"""Of those drawn, around how many others are priced."""


class Budget(NamedTuple):
    """Bounds to work out, mappings to price of small boxes, all there are, and to draw from the rest; and how
    many pairs of tiles there may be, all of which have figures worked out beforehand.
    """

    bounds: int = 12_000_000
    rows: int = 2_000_000
    drawn: int = 500_000
    pairs: int = 20_000_000


BUDGET = Budget()


def box_checks(
    problem: Problem,
    certificate: Certificate,
    rng: np.random.Generator,
    cost: Cost,
    budget: Budget = BUDGET,
) -> tuple[Check, ...]:
    """Check what certificates claim, over tiles of any size or perfect factors."""
    starts = [] if certificate.best is None else [MappingBatch.of([certificate.best.mapping]).rows]
    if (pairs := Boxes(problem, cost).pairs) > budget.pairs:
        seen = f"{pairs:,} pairs of an outer and an inner tile are too many for this check"
        covered = Check("boxes of tiles are not gone through", True, seen)
    else:
        covered, best = covered_check(problem, certificate.lower_bound, rng, cost, budget)
        starts.append(best)
    rows = np.concatenate(starts) if starts else np.empty((0, COLUMNS), dtype=np.int64)
    return (covered, _around(problem, certificate, rng, rows)) if len(rows) else (covered,)


def covered_check(
    problem: Problem, target: float, rng: np.random.Generator, cost: Cost, budget: Budget = BUDGET
) -> tuple[Check, IntArray]:
    """Whether no box of tiles is below the target; and the best mappings that were drawn, as rows.

    What is far from true shows soon: some of what the first bounds leave is priced before the others.
    """
    boxes = Boxes(problem, cost)
    searched = boxes.search(target, min(FIRST_BOUNDS, budget.bounds))
    if searched.cut_short and budget.bounds > FIRST_BOUNDS:
        rows, losses = _priced(problem, Remains(problem, searched.left).draw(rng, FIRST_DRAWN))
        if len(rows) and losses[0] < target:
            return Check(NAME, False, f"{float(losses[0])!r}: {len(rows):,} mappings priced"), rows[:BEST]
        searched = boxes.search(target, budget.bounds)
    remains = Remains(problem, searched.left)
    least, settled, priced = math.inf, 0.0, 0
    for every, mappings in remains.every(budget.rows):
        least = min(least, float(problem.evaluate(MappingBatch(every)).loss.min()))
        settled, priced = settled + mappings, priced + len(every)
    rows, losses = _priced(problem, remains.draw(rng, budget.drawn))
    least = min(least, float(losses.min(initial=math.inf)))
    seen = _seen(problem.space.mappings, remains.mappings, settled, searched.bounds, priced, len(rows))
    holds = not least < target
    return Check(NAME, holds, seen if holds else f"{least!r}: {seen}"), rows[:BEST]


def _priced(problem: Problem, rows: IntArray) -> tuple[IntArray, FloatArray]:
    """Rows of mappings and their losses, the least first."""
    losses = np.concatenate([problem.evaluate(MappingBatch(part)).loss for part in np.array_split(rows, 8)])
    order = np.argsort(losses, kind="stable")
    return rows[order], losses[order]


def _seen(every: int, left: float, settled: float, bounds: int, priced: int, drawn: int) -> str:
    """How much was ruled out, how much priced in full, and how much only sampled."""
    sampled = max(left - settled, 0.0) / every if drawn else 0.0
    share = "all" if not sampled else f"all but {sampled:.2g}"
    said = f"{share} of {every:.2g} mappings proven not to be better, by {bounds:,} bounds"
    said += f" or priced ({priced:,})" if priced else ""
    return said + (f", {drawn:,} mappings of the rest priced" if drawn else "")


def _around(problem: Problem, certificate: Certificate, rng: np.random.Generator, rows: IntArray) -> Check:
    """Whether mappings around these are below the bound."""
    space, priced, least = problem.space, 0, np.inf
    points = space.encode(MappingBatch(rows))
    for _ in range(STEPS):
        near = np.concatenate([block.neighbours(point) for point in points[:4] for block in space.blocks])
        points = np.concatenate([points, near, space.neighbour(rng, points)])
        losses = problem.price(points).loss
        priced, least = priced + len(points), min(least, float(losses.min()))
        points = rng.permutation(points[np.argsort(losses, kind="stable")[:WIDTH]])
    holds, seen = not least < certificate.lower_bound, f"{priced:,} mappings priced"
    name = "no mapping around the best ones is below the bound"
    return Check(name, holds, seen if holds else f"{least!r}: {seen}")
