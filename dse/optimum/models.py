"""Which cost models' optima can be proven, and where their parts of a proof and of its check stand."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, cast

from dse.problem.problem import Problem
from dse.space.parts import SPACES
from dse.spec.objective import objective_named
from dse.support.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from dse.optimum.bounds import Certifier
    from dse.optimum.certificate import Certificate
    from dse.optimum.clock import Clock
    from dse.optimum.verification import Claims

    Solve = Callable[[Problem, Clock, Certificate | None], Certificate]

MODELS = ("loopnest", "maestro", "timeloop")
"""The cost models that have a folder here, and one in `verification`; each declares that it is `provable`."""


def certifier_of(problem: Problem) -> Certifier:
    """What the problem's cost model brings to proofs; InputError if it brings nothing."""
    return cast("Certifier", import_module(f"dse.optimum.{_provable(problem)}.bounds"))


def claims_of(problem: Problem) -> Claims:
    """What is checked of certificates under the problem's cost model only."""
    return cast("Claims", import_module(f"dse.optimum.verification.{_provable(problem)}.claims"))


def has_floor_only(problem: Problem) -> bool:
    """Whether a problem of two levels is beyond the solvers, and a floor is what can be said of it."""
    if problem.model.hierarchical:
        return False
    return problem.parts != SPACES["default"] or objective_named(problem.objective).of_need


def solver_of(problem: Problem) -> Solve:
    """What proves the problem's optimum, the branch and bound of two levels or any number, or its floor.

    It takes the problem, the time that it has, and what an earlier run left, if any.
    """
    model = _provable(problem)
    if has_floor_only(problem):
        home = "dse.optimum.floor"
    else:
        home = f"dse.optimum.{model}.search" if problem.model.hierarchical else "dse.optimum.solver"
    return cast("Solve", import_module(home).solve)


def refuse(problem: Problem) -> None:
    """InputError unless the optimum of the problem can be proven, or its floor is known."""
    certifier = certifier_of(problem)
    if problem.tiles != "factors":
        raise InputError(f"only tiles 'factors' can be certified, got {problem.tiles!r}")
    if problem.area_budget is not None:
        raise InputError("a problem with an area budget cannot be certified: leave it out")
    if has_floor_only(problem):
        # Here and above: a check of a proof loads nothing that made it.
        import_module("dse.optimum.floor").refuse_floor(problem)
    else:
        certifier.refuse(problem)


def _provable(problem: Problem) -> str:
    model = problem.model
    # A model of another name may have inherited the declaration.
    if not model.provable or model.name not in MODELS:
        known = ", ".join(map(repr, MODELS))
        raise InputError(f"only cost models {known} can be certified, got {model.name!r}")
    return model.name
