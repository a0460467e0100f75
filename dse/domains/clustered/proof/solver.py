"""Proofs of problems of two levels: the engine's, over boxes of the cost model, begun by descents."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import cast

from dse.core.certificate import BOUNDED, Certificate, Incumbent, priced_point
from dse.core.clock import Clock
from dse.domains.clustered.problem import Problem
from dse.domains.clustered.proof.bounds import PointBoxes
from dse.domains.clustered.proof.certifiers import certifier_of, has_floor_only, refuse, refuse_limits
from dse.domains.clustered.proof.descent import best_descent, good_mapping
from dse.domains.clustered.proof.joined import boxes_of
from dse.domains.clustered.proof.warming import compile_proofs
from dse.proof.proving import prove_optimum
from dse.support.errors import InputError

FEW_DRAWN = 2000


def solve_problem(
    problem: Problem, clock: Clock | None = None, known: Certificate | None = None, threads: int | None = None
) -> Certificate:
    """Prove the problem's optimum, or what can be proven of it in the time of `clock`.

    It goes on from what is `known`, a bounded certificate of the same code. The result does not depend on
    `threads`; by default there is one a core. InputError for a problem that cannot be certified.
    """
    clock = clock or Clock()
    refuse(problem)
    if has_floor_only(problem):
        raise InputError("the solver takes the default space only, and not the area that a mapping needs")
    boxes = boxes_of(problem, certifier_of(problem).make_boxes)
    refuse_limits(problem, boxes)
    compile_proofs(problem.model.name, problem.tiles)
    if not problem.hardware_genes:
        return prove_optimum(
            problem, boxes, boxes.mapping_of, lambda: first_mapping(problem), clock, known, threads
        )
    opened = cast("PointBoxes", boxes)

    def begin() -> Incumbent | None:
        point = best_descent(problem, 0.0, Clock(), FEW_DRAWN)
        return None if point is None else priced_point(problem, point)

    found = prove_optimum(problem, opened, opened.point_of, begin, clock, known, threads, priced_point)
    # Beside the boxes there may be mappings that have a floor alone.
    floor = opened.cut_floor()
    if found.lower_bound <= floor:
        return found
    return replace(found, status=BOUNDED, lower_bound=floor)


def first_mapping(problem: Problem) -> Incumbent | None:
    """A good mapping that descents find; where tiles are of any size, over perfect factors first.

    Over perfect factors alone few are drawn: the proof is as soon at its end as many take.
    """
    if problem.tiles == "factors":
        return good_mapping(problem, drawn=FEW_DRAWN)
    within = [problem]
    # A tile may be fixed that is no factor.
    with suppress(InputError):
        within.insert(0, problem.with_changes(tiles="factors"))
    good = [good_mapping(problem, one) for one in within]
    return min((one for one in good if one), key=lambda one: one.loss, default=None)
