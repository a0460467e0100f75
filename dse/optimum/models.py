"""The certifier of each cost model: how it refuses problems, solves them and checks certificates."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dse.optimum.certificate import Certificate
from dse.problem.problem import Problem
from dse.support.errors import InputError

if TYPE_CHECKING:
    from dse.optimum.verification import Check

MODELS = ("loopnest", "maestro")
"""The cost models whose optima can be proven."""


def refuse(problem: Problem) -> None:
    """InputError unless the optimum of the problem can be proven."""
    name = problem.model.name
    if name not in MODELS:
        known = " and ".join(map(repr, MODELS))
        raise InputError(f"only cost models {known} can be certified, got {name!r}")
    if name == "loopnest":
        from dse.optimum.loopnest import instance as of_loopnest

        of_loopnest.refuse(problem)
    else:
        from dse.optimum.maestro import instance as of_maestro

        of_maestro.refuse(problem)


def solve(problem: Problem, time_limit: float | None = None, threads: int | None = None) -> Certificate:
    """Prove the problem's optimum, or what can be proven of it in `time_limit` seconds.

    The result does not depend on `threads`; by default there is one a core. InputError for a problem that
    cannot be certified.
    """
    refuse(problem)
    if problem.model.name == "loopnest":
        from dse.optimum.loopnest import solver as of_loopnest

        return of_loopnest.solve(problem, time_limit, threads)
    from dse.optimum.maestro import solver as of_maestro

    return of_maestro.solve(problem, time_limit, threads)


def checks_of(problem: Problem, certificate: Certificate, rng: np.random.Generator) -> tuple[Check, ...]:
    """What the checks of the model's own claims say; see `dse.optimum.verification`."""
    if problem.model.name == "loopnest":
        from dse.optimum.loopnest.verification import checks as of_loopnest

        return of_loopnest(problem, certificate, rng)
    from dse.optimum.verification import checks as of_maestro

    return of_maestro(problem, certificate, rng)
