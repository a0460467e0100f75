"""Whether nests beyond those of a problem are better: a second proof, where nobody says which nests.

The first proof is that of the problem. A kind of designs that has more nests, as machines of levels have
uneven ones, has a function `widened` in its domain. Where a share of the time shows that one of them is
better, the answer is of these.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from dse.core.certificate import OPTIMAL, Beside, Certificate, ProofInterrupted
from dse.core.chains import TILES_IN_WORDS
from dse.core.domains import domain_of
from dse.core.problem import AnyProblem
from dse.optimum import certify
from dse.support.errors import InputError

SECONDS, SHARE = 60.0, 1 / 30
"""The second proof has this share of the time limit, or of so many seconds, and no more than the first one
left.
"""
EQUAL = 1e-9
"""The same costs of more levels are added up in another order: so far apart are losses of the same nest."""


def widened(problem: AnyProblem) -> AnyProblem:
    """The problem over all nests that its kind of designs has and can prove; itself where it is that."""
    widen: Callable[[AnyProblem], AnyProblem] = getattr(domain_of(problem.model), "widened", lambda one: one)
    return widen(problem)


def problem_of(problem: AnyProblem, certificate: Certificate) -> AnyProblem:
    """The problem that a certificate is of: over more nests than this one, or this one."""
    if certificate.fingerprint == problem.fingerprint:
        return problem
    wide = widened(problem)
    return wide if certificate.fingerprint == wide.fingerprint else problem


def find_mapping(problem: AnyProblem, name: str) -> tuple[AnyProblem, Any]:
    """The mapping in a file, and the problem that it is of: this one, or that over more nests.

    InputError of the problem's own where it is of neither.
    """
    try:
        return problem, problem.find_mapping(name)
    except InputError:
        wide = widened(problem)
        if wide is problem:
            raise
        try:
            return wide, wide.find_mapping(name)
        except InputError:
            pass
        raise


def over_more_nests(
    problem: AnyProblem,
    found: Certificate,
    time_limit: float | None = None,
    *,
    cache: bool | str | Path = True,
) -> tuple[AnyProblem, Certificate]:
    """The problem and its certificate, or those over more nests where there is a better mapping, with what
    was proven `beside`.

    With a `time_limit` of both proofs; a first one that did not end, or has used it up, stays alone. Ctrl-C
    ends the second one's time: what is raised is a `ProofInterrupted` with the first.
    """
    wide, share = widened(problem), SHARE * (time_limit or SECONDS)
    if time_limit is not None:
        share = min(share, time_limit - found.own_seconds)
    if wide is problem or found.status != OPTIMAL or found.best is None or share <= 0:
        return problem, found
    try:
        proof = certify(wide, share, cache=cache, first=found.best)
    except ProofInterrupted as interrupted:
        raise ProofInterrupted(_beside(found, wide, interrupted.certificate)) from None
    if proof.best is not None and proof.best.loss < found.best.loss * (1 - EQUAL):
        return wide, _beside(proof, problem, found)
    return problem, _beside(found, wide, proof)


def _beside(answer: Certificate, other: AnyProblem, proof: Certificate) -> Certificate:
    return replace(answer, beside=Beside(nests_of(other), proof))


def nests_of(problem: AnyProblem) -> str:
    """What kind of nests a problem is over; empty where there is one kind."""
    return str(getattr(problem.accelerator, "nests", ""))


def kinds_of_mappings(problem: AnyProblem) -> str:
    """Which tiles and nests a problem's mappings have, in words; empty where its kind of designs has none."""
    nests = nests_of(problem)
    found = (TILES_IN_WORDS.get(str(problem.options.get("tiles")), ""), nests and f"{nests} nests")
    return " in ".join(filter(None, found))
