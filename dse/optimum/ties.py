"""Of the mappings that are as good as the best one, that with the least of the other figure.

Many mappings take the same cycles, and some of them several times the energy of others. Some solvers compare
both figures; after the others a second proof follows: of the least energy where the latency is at most what
was found, or the reverse.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from dse.core.certificate import BOUNDED, Certificate, Incumbent, ProofInterrupted, Ties, priced_mapping
from dse.core.domains import prover_of
from dse.core.objective import objective_named
from dse.core.problem import AnyProblem
from dse.core.proofs import Check
from dse.optimum import certify, verify
from dse.support.errors import InputError

OTHER = {"latency": "energy", "energy": "latency"}
"""What decides between mappings that are equal in a figure."""
LEAST_SECONDS = 1.0
"""The second proof has as much time as the first one took, and this at least, where no limit is given."""


def settle_ties(
    problem: AnyProblem,
    found: Certificate,
    time_limit: float | None = None,
    *,
    cache: bool | str | Path = True,
) -> Certificate:
    """The certificate with the best mapping that has the least of the other figure, and `ties` that says so.

    It is as it was where the solver has compared both, where there is no mapping, and for objectives other
    than latency or energy alone. With a `time_limit`, of all proofs, this one has what others left.
    Ctrl-C ends its time: what is raised is a `ProofInterrupted` with this certificate.
    """
    other = other_objective(problem, found)
    if other is None or found.best is None:
        return found
    seconds = max(found.all_seconds, LEAST_SECONDS)
    if time_limit is not None:
        spent = found.own_seconds + (found.beside.proof.own_seconds if found.beside else 0.0)
        seconds = min(seconds, time_limit - spent) if spent else seconds
        if seconds <= 0:
            return found
    asked, stopped = problem.with_changes(objective=other), False
    try:
        proof = certify(asked, seconds, cache=cache)
    except InputError:
        # Some models prove no caps.
        return found
    except ProofInterrupted as interrupted:
        proof, stopped = interrupted.certificate, True
    best = found.best
    if proof.best is not None:
        chosen = priced_mapping(problem, proof.best.mapping)
        if chosen is not None and value_of(problem, chosen) < value_of(problem, best):
            best = chosen
    settled = replace(found, best=best, ties=Ties(other, proof))
    if stopped:
        raise ProofInterrupted(settled)
    return settled


def value_of(problem: AnyProblem, one: Incumbent) -> tuple[float, float]:
    """The loss of a mapping and what breaks ties, in this order."""
    return one.loss, one.tie_break(problem.objective)


def other_objective(problem: AnyProblem, found: Certificate) -> str | None:
    """What the second proof is of, such as `energy where latency <= 0.001`; None where none is to be made."""
    prover = prover_of(problem)
    figures = objective_named(problem.objective).uncapped.exponents
    if found.best is None or prover.floor_only or problem.hardware_genes or len(figures) != 1:
        return None
    if found.best.loss <= 0:
        # Where no access takes energy a cap of it says nothing.
        return None
    (name,) = figures
    if name not in OTHER:
        return None
    reached = objective_named(name).value(found.best, problem.criteria.hertz)
    caps = [f"{figure.name} <= {cap!r}" for figure, cap in objective_named(problem.objective).caps]
    own = [one for one in caps if not one.startswith(f"{name} <=")]
    return f"{OTHER[name]} where {' and '.join([f'{name} <= {float(reached)!r}', *own])}"


def verify_ties(problem: AnyProblem, found: Certificate, seed: int = 0) -> tuple[Check, ...]:
    """Check what is said of ties, like any proof: none of the mappings that are as good has less."""
    if found.ties is None or found.best is None:
        return ()
    name, proof = "of mappings as good none has less of the other figure", found.ties.proof
    if proof.status == BOUNDED:
        name += " than the bound says"
    asked = problem.with_changes(objective=found.ties.objective)
    if found.ties.objective != other_objective(problem, found):
        return (Check(name, False, f"what was proven is {found.ties.objective}"),)
    checks = verify(asked, proof, seed)
    failed = [f"{one.name}: {one.seen}" for one in checks if not one.passed]
    again = priced_mapping(asked, found.best.mapping)
    if again is None or again.loss < proof.lower_bound or (proof.best and proof.best.loss < again.loss):
        failed.append("the best mapping is not the one that was proven")
    return (Check(name, not failed, "; ".join(failed) or f"{proof.status}, {len(checks)} checks"),)
