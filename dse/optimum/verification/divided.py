"""Claims of a proof that goes through several problems at once, as for sets of tiles: checked of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dse.core.certificate import BOUNDED, INFEASIBLE, Certificate, Incumbent, priced_mapping
from dse.core.problem import AnyProblem
from dse.core.proofs import Check, Claims
from dse.support.errors import InputError

SHOWN, DRAWN = 2, 100
"""Problems of which it is said what was seen; of more of them than so many, how many are drawn to check."""


def checks_of_each(
    own: Claims,
    problem: AnyProblem,
    parts: Sequence[AnyProblem],
    certificate: Certificate,
    rng: np.random.Generator,
) -> tuple[Check, ...]:
    """Check that the `parts` have all mappings of the problem, and of each what the certificate claims."""
    every, mappings = problem.space.mappings, sum(part.space.mappings for part in parts)
    seen = f"{len(parts):,} problems, {mappings:,} of {every:,} mappings"
    claims = [(part, _of_part(part, certificate)) for part in parts]
    if len(parts) > DRAWN:
        drawn = set(rng.permutation(len(parts))[:DRAWN].tolist())
        claims = [one for place, one in enumerate(claims) if place in drawn or one[1].best is not None]
        seen += f", {len(claims):,} of the problems drawn to check"
    whole = Check("problems of one size of each tile have all mappings", mappings == every, seen)
    found: dict[str, list[Check]] = {}
    for part, claim in claims:
        for one in own.checks(part, claim, rng):
            found.setdefault(one.name, []).append(one)
    return whole, *(_merged(name, checks) for name, checks in found.items())


def _of_part(part: AnyProblem, certificate: Certificate) -> Certificate:
    """What a certificate claims of a part of its problem: the bound, and the best mapping if it is there."""
    status, best = certificate.status, _best_of(part, certificate)
    if best is None and status != INFEASIBLE:
        status = BOUNDED
    return replace(certificate, fingerprint=part.fingerprint, status=status, best=best)


def _best_of(part: AnyProblem, certificate: Certificate) -> Incumbent | None:
    if certificate.best is None or part.hardware_genes:
        return None
    try:
        return priced_mapping(part, certificate.best.mapping)
    except InputError:
        # It is another part's.
        return None


def _merged(name: str, checks: Sequence[Check]) -> Check:
    """A check of several problems as one: of those that fail if any does."""
    passed = all(one.passed for one in checks)
    shown = [one.seen for one in checks if one.passed == passed]
    more = [f"{len(shown) - SHOWN:,} more"] if len(shown) > SHOWN else []
    return Check(name, passed, "; ".join([*shown[:SHOWN], *more]))
