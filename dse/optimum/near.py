"""The mappings near a proven optimum: `dse.certify(problem, within=0.05).within` has all of them."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

from dse.core.certificate import BOUNDED, Certificate
from dse.core.clock import Clock
from dse.core.domains import prover_of
from dse.core.listed import Listed, Wanted
from dse.core.problem import AnyProblem
from dse.core.proofs import Lister
from dse.support.errors import InputError


def lister_for(problem: AnyProblem) -> Lister:
    """What lists mappings near the optimum of a problem; InputError where nothing does."""
    prover = prover_of(problem)
    if not hasattr(prover, "refuse_list"):
        raise InputError(
            f"mappings near the optimum are not listed under cost model {problem.model.name!r}; they are "
            "under 'loopnest', 'maestro' and 'timeloop'"
        )
    found = cast("Lister", prover)
    found.refuse_list()
    return found


def with_near(
    problem: AnyProblem, certificate: Certificate, wanted: Wanted, time_limit: float | None = None
) -> Certificate:
    """The certificate with the mappings that are `wanted`, in the time that its own proof has left.

    Where the optimum is not proven, no list is: it has the best mapping alone, and is not complete.
    InputError where the problem's domain, or its cost model, does not list mappings.
    """
    if not wanted:
        return certificate
    lister = lister_for(problem)
    best, bound = certificate.best, certificate.lower_bound
    if best is None or certificate.status == BOUNDED:
        known = (best,) if best else ()
        found = Listed(wanted, known, certificate.status != BOUNDED, bound, 0.0)
    else:
        from dse.support.compilations import tell_of_compiling

        clock = Clock(None if time_limit is None else max(time_limit - certificate.own_seconds, 0.0))
        with tell_of_compiling(clock.pause):
            found = lister.list_best(best, wanted, clock)
    return replace(certificate, within=found)
