"""Checking a certificate without trusting the solver: all that it claims, again and in other code.

The solver's claim is small: every group of mappings was either solved or cannot be below the bound. So the
best mapping is priced, mappings are drawn at random, and what a cost model's certificates claim beyond that
(`claims`, in a folder a model) is gone through in NumPy or priced by the model itself. Nothing here imports
the solver, or what a model brings to it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import cast

import numpy as np

from dse.core.certificate import OPTIMAL, Certificate, priced_mapping, priced_point
from dse.core.domains import prover_of
from dse.core.problem import AnyProblem
from dse.core.proofs import Check, Divider, claims_of
from dse.optimum.verification.divided import checks_of_each

RANDOM_MAPPINGS = 20_000
ROUNDING = 1e-10
"""By so much of itself a sum over a network's layers may be off that is added up in another order."""


def verify(problem: AnyProblem, certificate: Certificate, seed: int = 0) -> tuple[Check, ...]:
    """Check every part of a certificate; `seed` decides which samples are drawn.

    It takes longer than the proof did: seconds.
    """
    if problem.fingerprint != certificate.fingerprint:
        return (Check("the certificate is of this problem", False, certificate.fingerprint),)
    rng = np.random.default_rng(seed)
    return (
        _best_check(problem, certificate),
        *_claims(problem, certificate, rng),
        _random_check(problem, certificate, rng),
    )


def failed_checks(checks: Sequence[Check]) -> list[str]:
    """A line for each check that does not hold."""
    return [f"{check.name}: {check.seen}" for check in checks if not check.passed]


def _claims(problem: AnyProblem, certificate: Certificate, rng: np.random.Generator) -> tuple[Check, ...]:
    """Whether what a cost model's certificates claim holds, of each problem that this one is proven as."""
    prover = prover_of(problem)
    own = None if prover.floor_only else claims_of(problem.model)
    if own is None:
        return ()
    parts = cast("Divider", prover).divided() if hasattr(prover, "divided") else [problem]
    if len(parts) == 1 and parts[0] is problem:
        return own.checks(problem, certificate, rng)
    return checks_of_each(own, problem, parts, certificate, rng)


def _best_check(problem: AnyProblem, certificate: Certificate) -> Check:
    """Whether the best mapping costs what is claimed, today."""
    name, best, bound = "the best mapping costs what is claimed", certificate.best, certificate.lower_bound
    if best is None:
        return Check(name, certificate.status != OPTIMAL, "there is none")
    floor_only = prover_of(problem).floor_only
    # A point says the machine too.
    of_point = floor_only or problem.hardware_genes
    again = priced_point(problem, best.genes) if of_point else priced_mapping(problem, best.mapping)
    if again is None:
        return Check(name, False, "it is not feasible")
    least = again.loss * (1 - ROUNDING if floor_only else 1) if certificate.status == OPTIMAL else -math.inf
    tight = least <= bound <= again.loss
    return Check(name, again == best and tight, f"loss {again.loss!r}, lower bound {bound!r}")


def _random_check(problem: AnyProblem, certificate: Certificate, rng: np.random.Generator) -> Check:
    """Whether no mapping drawn at random is below the bound."""
    losses = problem.price(problem.space.sample(rng, RANDOM_MAPPINGS)).loss
    beaten = certificate.beaten_by(losses)
    return Check("random mappings do not beat it", beaten is None, beaten or f"{RANDOM_MAPPINGS:,} drawn")
