"""Which problems of two levels can be certified, and what their cost models bring to proofs."""

from __future__ import annotations

from importlib import import_module
from typing import cast

from dse.core.objective import objective_named, refuse_several
from dse.core.proofs import proof_module
from dse.domains.clustered.problem import Problem
from dse.domains.clustered.proof.bounds import Certifier, MappingBoxes
from dse.domains.clustered.space.parts import SPACES
from dse.domains.clustered.tile_sets import one_tile_each
from dse.support.errors import InputError

NEEDS = ("GROUP", "refuse", "make_boxes", "least_area")
"""What a Certifier has."""


def certifier_of(problem: Problem) -> Certifier:
    """What the problem's cost model brings to proofs; InputError if it brings nothing."""
    return cast("Certifier", proof_module(problem.model, NEEDS))


def has_floor_only(problem: Problem) -> bool:
    """Whether a problem is beyond the solver, and a floor is what can be said of it."""
    if objective_named(problem.objective).of_need:
        return True
    return problem.parts != SPACES["default"] and not takes_space(problem)


def takes_space(problem: Problem) -> bool:
    """Whether the cost model has boxes of the problem's space, which is not the default."""
    try:
        takes = getattr(certifier_of(problem), "takes_space", None)
    except InputError:
        return False
    return takes is not None and bool(takes(problem))


def floor_of(problem: Problem) -> float:
    """A loss below that of any mapping, known without looking at one."""
    return certifier_of(problem).make_boxes(problem).floor()


def refuse(problem: Problem) -> None:
    """InputError unless the optimum of the problem can be proven, or its floor is known."""
    certifier = certifier_of(problem)
    refuse_several(problem.objective)
    if problem.area_budget is not None:
        raise InputError("a problem with an area budget cannot be certified: leave it out")
    if has_floor_only(problem):
        # Here and above: a check of a proof loads nothing that made it.
        import_module("dse.domains.clustered.proof.floor").refuse_floor(problem)
    else:
        one_tile_each(problem)
        certifier.refuse(problem)


def refuse_limits(problem: Problem, boxes: MappingBoxes) -> None:
    """InputError for limits that a cost model's own bounds know nothing of."""
    known = getattr(boxes, "limits", ())
    for figure, limit in problem.use.limits.items():
        if figure not in known:
            able = " and ".join(known) or "without limits"
            raise InputError(
                f"under cost model {problem.model.name!r} no optimum can be proven where {limit}; its proofs "
                f"are {'of ' * bool(known)}{able}"
            )
