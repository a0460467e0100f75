"""Which cost models' optima can be proven, and where their parts of a proof and of its check stand."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, cast

from dse.core.objective import objective_named, refuse_several
from dse.domains.clustered.problem import Problem
from dse.domains.clustered.space.parts import SPACES
from dse.support.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from dse.core.certificate import Certificate
    from dse.core.clock import Clock
    from dse.domains.clustered.proof.bounds import Certifier
    from dse.optimum.verification import Claims

    Solve = Callable[[Problem, Clock, Certificate | None], Certificate]

MODELS = ("loopnest", "maestro", "timeloop")
"""The cost models that have a folder here, and one in `verification`; each declares that it is `provable`."""


def certifier_of(problem: Problem) -> Certifier:
    """What the problem's cost model brings to proofs; InputError if it brings nothing."""
    return cast("Certifier", import_module(f"{_home(problem)}.proof.bounds"))


def claims_of(problem: Problem) -> Claims:
    """What is checked of certificates under the problem's cost model only."""
    return cast("Claims", import_module(f"{_home(problem)}.check.claims"))


def has_floor_only(problem: Problem) -> bool:
    """Whether a problem of two levels is beyond the solvers, and a floor is what can be said of it."""
    if problem.model.hierarchical:
        return False
    return problem.parts != SPACES["default"] or objective_named(problem.objective).of_need


def solver_of(problem: Problem) -> Solve:
    """What proves the problem's optimum, the branch and bound of two levels or any number, or its floor.

    It takes the problem, the time that it has, and what an earlier run left, if any.
    """
    home = _home(problem)
    if has_floor_only(problem):
        solver = "dse.domains.clustered.proof.floor"
    else:
        levels = problem.model.hierarchical
        solver = f"{home}.proof.search" if levels else "dse.domains.clustered.proof.solver"
    return cast("Solve", import_module(solver).solve)


def refuse(problem: Problem) -> None:
    """InputError unless the optimum of the problem can be proven, or its floor is known."""
    certifier = certifier_of(problem)
    refuse_several(problem.objective)
    if problem.tiles != "factors":
        raise InputError(f"only tiles 'factors' can be certified, got {problem.tiles!r}")
    if problem.area_budget is not None:
        raise InputError("a problem with an area budget cannot be certified: leave it out")
    if has_floor_only(problem):
        # Here and above: a check of a proof loads nothing that made it.
        import_module("dse.domains.clustered.proof.floor").refuse_floor(problem)
    else:
        certifier.refuse(problem)


def _home(problem: Problem) -> str:
    kind = "levels" if problem.model.hierarchical else "clustered"
    return f"dse.domains.{kind}.models.{_provable(problem)}"


def _provable(problem: Problem) -> str:
    model = problem.model
    # A model of another name may have inherited the declaration.
    if not model.provable or model.name not in MODELS:
        known = ", ".join(map(repr, MODELS))
        raise InputError(f"only cost models {known} can be certified, got {model.name!r}")
    return model.name
