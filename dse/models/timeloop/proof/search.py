"""Proving the optimum of a problem on a machine of levels: the engine's proof over `LevelBoxes`."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from dse.core.certificate import Certificate, Incumbent, priced_mapping
from dse.core.clock import Clock
from dse.core.listed import Listed, Wanted
from dse.domains.levels.machine import EVEN
from dse.domains.levels.problem import MachineProblem
from dse.domains.levels.space.chains import FACTORS
from dse.models.timeloop.proof import warming
from dse.models.timeloop.proof.bounds import GROUP, refuse, refuse_list
from dse.models.timeloop.proof.boxes import LevelBoxes
from dse.proof.near import Rows, list_near
from dse.proof.proving import prove_optimum

__all__ = ["GROUP", "list_best", "refuse", "refuse_list", "solve", "warm", "warm_early"]

FIRST_POINTS, STEPS_DOWN, STARTS = 4096, 200, 4


def solve(
    problem: MachineProblem, clock: Clock | None = None, known: Certificate | None = None
) -> Certificate:
    """Prove the problem's optimum, or what can be proven of it in the time of `clock`.

    `known` is what an earlier run left, of the same code, or a mapping to begin with: see `begun_with`.
    """
    clock = clock or Clock()
    refuse(problem)
    boxes = LevelBoxes(problem, clock=clock)
    if not boxes.is_small:
        warm()
    return _prove(problem, boxes, clock, known)


def _prove(
    problem: MachineProblem, boxes: LevelBoxes, clock: Clock, known: Certificate | None = None
) -> Certificate:
    first = known.best if known and not known.counts.groups else None
    return prove_optimum(
        problem,
        boxes,
        boxes.mapping_of,
        lambda: good_mapping(problem, clock, first),
        clock,
        None if first else known,
    )


def list_best(problem: MachineProblem, best: Incumbent, wanted: Wanted, clock: Clock) -> Listed:
    """The mappings that are `wanted` near the proven optimum `best`, which comes first."""
    refuse_list(problem)
    boxes, space = LevelBoxes(problem, every=True, clock=clock), problem.space
    if not boxes.is_small:
        warm()
    kind = Rows(
        lambda mapping: problem.rows_of([mapping])[0], space.layout.decode, problem.price_rows, boxes.keys
    )
    return list_near(problem, boxes, kind, best, wanted, clock)


def good_mapping(problem: MachineProblem, clock: Clock, first: Incumbent | None = None) -> Incumbent | None:
    """What steps down from the best of random mappings find, and from the best one of fewer mappings: the
    `first`, or that of even nests, or of tiles that divide. None if none is feasible.
    """
    space, least, best = problem.space, math.inf, None
    points = space.sample(np.random.default_rng(0), FIRST_POINTS)
    for known in [first] if first else (solve(fewer, clock.part(1 / 4)).best for fewer in _of_fewer(problem)):
        if known is not None:
            begin = problem.vectors([known.mapping])
            points = np.concatenate([begin, points])
            loss = float(problem.price(begin).loss[0])
            if loss < least:
                best, least = begin[0], loss
    losses = problem.price(points).loss
    for place in np.argsort(losses, kind="stable")[:STARTS].tolist():
        here, loss = points[place], float(losses[place])
        for _ in range(STEPS_DOWN):
            if clock.over:
                break
            near = np.concatenate([block.neighbours(here) for block in space.blocks])
            found = problem.price(near).loss if len(near) else np.array([math.inf])
            if found.min() >= loss:
                break
            here, loss = near[int(found.argmin())], float(found.min())
        if loss < least:
            least, best = loss, here
    return (
        None
        if best is None
        else priced_mapping(problem, space.layout.decode(space.decode(best[np.newaxis]).rows[0]))
    )


def _of_fewer(problem: MachineProblem) -> Iterator[MachineProblem]:
    """The problem over even nests, and over tiles that divide."""
    if problem.accelerator.even:
        yield problem.with_changes(fixed={**problem.fixed, "nests": EVEN})
    if problem.tiles != FACTORS:
        yield problem.with_changes(tiles=FACTORS)


def warm_early() -> None:
    """Compile all kernels of proofs at once, where none is compiled."""
    if not warming.is_compiled():
        warm()


def warm() -> None:
    """Prove a first optimum: every proof after it finds its kernels loaded, and once compiled."""
    warming.warm(good_mapping)
