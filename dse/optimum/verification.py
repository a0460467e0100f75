"""Checking a certificate without trusting the solver: every outer configuration again, in other code.

The solver's claim is small: these groups have inner problems of so many cycles, and no outer configuration
of any group is below the bound. So the check prices the best mapping, has the cost model price every inner
level of the solved groups, and goes through every outer configuration in NumPy, by the specification's cases
(`coverage`, `outer_cases`), with the claimed inner cycles or, for other groups, with a bound that is written
again (`inner_check`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dse.optimum.certificate import INFEASIBLE, OPTIMAL, Certificate, priced
from dse.optimum.maestro.coverage import Group, Groups, cover, group_keys
from dse.optimum.maestro.inner_check import cycles_below_none, fewest_cycles
from dse.problem.problem import Problem

RANDOM_MAPPINGS = 20_000
SOLVED_ROWS, OTHER_ROWS = 3_000_000, 500_000
"""Inner levels to price: of solved groups, and of others, whose bound is compared with their optimum."""
OTHERS = 24


@dataclass(frozen=True)
class Check:
    """One thing that was checked, whether it holds, and what was seen."""

    name: str
    passed: bool
    seen: str


def verify(problem: Problem, certificate: Certificate, seed: int = 0) -> tuple[Check, ...]:
    """Check every part of a certificate; `seed` decides which samples are drawn.

    It takes longer than the proof did: seconds.
    """
    from dse.optimum.models import checks_of

    if problem.fingerprint != certificate.fingerprint:
        return (Check("the certificate is of this problem", False, certificate.fingerprint),)
    rng = np.random.default_rng(seed)
    best = best_check(problem, certificate)
    return (best, *checks_of(problem, certificate, rng), random_check(problem, certificate, rng))


def checks(problem: Problem, certificate: Certificate, rng: np.random.Generator) -> tuple[Check, ...]:
    """Check what only `maestro` certificates claim."""
    return (
        _covered(problem, certificate),
        _solved(problem, certificate, rng),
        _bounded(problem, certificate, rng),
    )


def best_check(problem: Problem, certificate: Certificate) -> Check:
    """Whether the best mapping costs what is claimed, today."""
    name, best, bound = "the best mapping costs what is claimed", certificate.best, certificate.lower_bound
    if best is None:
        return Check(name, certificate.status != OPTIMAL, "there is none")
    again = priced(problem, best.mapping)
    if again is None:
        return Check(name, False, "it is not feasible")
    tight = bound == again.loss if certificate.status == OPTIMAL else bound <= again.loss
    return Check(name, again == best and tight, f"loss {again.loss!r}, lower bound {bound!r}")


def _covered(problem: Problem, certificate: Certificate) -> Check:
    target = math.inf if certificate.status == INFEASIBLE else certificate.lower_bound
    solved = {Group(group.tiles, group.cluster): group.cycles for group in certificate.solved}
    found = cover(problem, solved, target)
    seen = f"{found.configurations:,} looked at"
    if found.least < target:
        seen = f"{found.least!r} cannot be ruled out for {found.where}"
    return Check("no outer configuration is below the bound", not found.least < target, seen)


def _solved(problem: Problem, certificate: Certificate, rng: np.random.Generator) -> Check:
    """Whether the solved groups' inner problems have the optima that are claimed."""
    left, priced_groups, wrong = SOLVED_ROWS, 0, ""
    for index in rng.permutation(len(certificate.solved)):
        group = certificate.solved[index]
        least = fewest_cycles(problem, group.tiles, group.cluster, left)
        if least is None:
            continue
        left -= least.rows
        priced_groups += 1
        if least.cycles != group.cycles:
            wrong = f"{least.cycles} cycles instead of {group.cycles} for {Group(group.tiles, group.cluster)}"
    seen = (
        wrong
        or f"{priced_groups:,} of {len(certificate.solved):,} priced, {SOLVED_ROWS - left:,} inner levels"
    )
    return Check("the solved inner problems take the cycles that are claimed", not wrong, seen)


def _bounded(problem: Problem, certificate: Certificate, rng: np.random.Generator) -> Check:
    """Whether some of the other groups' inner problems take at least as many cycles as their bound."""
    name = "inner problems that were not solved take no fewer cycles than their bound"
    left, compared, wrong = OTHER_ROWS, 0, ""
    groups = Groups(problem)
    for number in rng.integers(len(groups), size=OTHERS if certificate.status != INFEASIBLE else 0):
        tiles, clusters = groups[np.array([number])]
        (group,) = group_keys(tiles, clusters)
        bound = int(cycles_below_none(problem, tiles, clusters)[0])
        least = fewest_cycles(problem, group.tiles, group.cluster, left)
        if least is None:
            continue
        left -= least.rows
        compared += 1
        if least.cycles is not None and least.cycles < bound:
            wrong = f"{least.cycles} cycles, below the bound {bound}, for {group}"
    return Check(name, not wrong, wrong or f"{compared:,} drawn, {OTHER_ROWS - left:,} inner levels priced")


def random_check(problem: Problem, certificate: Certificate, rng: np.random.Generator) -> Check:
    """Whether no mapping drawn at random is below the bound."""
    losses = problem.price(problem.space.sample(rng, RANDOM_MAPPINGS)).loss
    beaten = certificate.beaten_by(losses)
    return Check("random mappings do not beat it", beaten is None, beaten or f"{RANDOM_MAPPINGS:,} drawn")


def failures(checks: Sequence[Check]) -> list[str]:
    """A line for each check that does not hold."""
    return [f"{check.name}: {check.seen}" for check in checks if not check.passed]
