"""Which cost models' optima can be proven, and where their parts of a proof and of its check stand."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, cast

from dse.problem.problem import Problem
from dse.space.parts import SPACES
from dse.support.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from dse.optimum.certificate import Certificate

    Solve = Callable[[Problem, float | None], Certificate]
    from dse.optimum.bounds import Certifier
    from dse.optimum.verification import Claims

MODELS = ("loopnest", "maestro", "timeloop")
"""The cost models that have a folder here, and one in `verification`; each declares that it is `provable`."""


def certifier_of(problem: Problem) -> Certifier:
    """What the problem's cost model brings to proofs; InputError if it brings nothing."""
    return cast("Certifier", import_module(f"dse.optimum.{_provable(problem)}.bounds"))


def claims_of(problem: Problem) -> Claims:
    """What is checked of certificates under the problem's cost model only."""
    return cast("Claims", import_module(f"dse.optimum.verification.{_provable(problem)}.claims"))


def solver_of(problem: Problem) -> Solve:
    """What proves the problem's optimum: the branch and bound of two levels, or that of any number."""
    model = _provable(problem)
    home = f"dse.optimum.{model}.search" if problem.model.hierarchical else "dse.optimum.solver"
    return cast("Solve", import_module(home).solve)


def refuse(problem: Problem) -> None:
    """InputError unless the optimum of the problem can be proven."""
    certifier = certifier_of(problem)
    if problem.tiles != "factors":
        raise InputError(f"only tiles 'factors' can be certified, got {problem.tiles!r}")
    _refuse_parts(problem)
    if problem.area_budget is not None:
        raise InputError("a problem with an area budget cannot be certified: leave it out")
    certifier.refuse(problem)


def _refuse_parts(problem: Problem) -> None:
    """InputError for a space of other parts than the default's, with what is certain there all the same."""
    parts = problem.parts
    if parts == SPACES["default"]:
        return
    most = max(parts.num_pes, default=problem.accelerator.num_pes)
    cycles = -(-problem.layer.macs // (most * problem.accelerator.simd_lanes))
    raise InputError(
        f"only mappings of the space 'default' can be certified (tiles of K, C, Y and X, one PE count); of "
        f"space {parts.name or 'of its own'!r} it is certain that no feasible mapping takes less than "
        f"{cycles:,} cycles, the layer's MACs on {most:,} PEs"
    )


def _provable(problem: Problem) -> str:
    model = problem.model
    # A model of another name may have inherited the declaration.
    if not model.provable or model.name not in MODELS:
        known = ", ".join(map(repr, MODELS))
        raise InputError(f"only cost models {known} can be certified, got {model.name!r}")
    return model.name
