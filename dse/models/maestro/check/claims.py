"""Claims under MAESTRO: these groups have inner problems of so many cycles, and none is below the bound.

The cost model prices every inner level of the solved groups. Every outer configuration is gone through in
NumPy, by the specification's cases (`coverage`, `outer_cases`), with the claimed inner cycles or, for other
groups, with a bound that is written again (`inner_check`).
"""

from __future__ import annotations

import math

import numpy as np

from dse.core.certificate import INFEASIBLE, Certificate
from dse.core.proofs import Check
from dse.domains.clustered.check.any_size import any_checks
from dse.domains.clustered.check.enumeration import Group, Groups, group_keys
from dse.domains.clustered.check.limits import limit_checks
from dse.domains.clustered.problem import Problem
from dse.models.maestro.check.coverage import cover
from dse.models.maestro.check.inner_check import cycles_below_none, fewest_cycles
from dse.models.maestro.check.least_cost import LeastCost

SOLVED_ROWS, OTHER_ROWS = 3_000_000, 500_000
"""Inner levels to price: of solved groups, and of others, whose bound is compared with their optimum."""
OTHERS = 24


def checks(problem: Problem, certificate: Certificate, rng: np.random.Generator) -> tuple[Check, ...]:
    """Check what only `maestro` certificates claim."""
    kept = limit_checks(problem, certificate)
    if problem.tiles == "any":
        return (*kept, *any_checks(problem, certificate, rng, LeastCost(problem)))
    return (
        *kept,
        _covered(problem, certificate),
        _solved(problem, certificate, rng),
        _bounded(problem, certificate, rng),
    )


def _covered(problem: Problem, certificate: Certificate) -> Check:
    target = math.inf if certificate.status == INFEASIBLE else certificate.lower_bound
    solved = {
        (Group(group.tiles, group.cluster), group.parallel): group.cycles for group in certificate.solved
    }
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
        least = fewest_cycles(problem, group.tiles, group.cluster, left, group.parallel)
        if least is None:
            continue
        left -= least.rows
        priced_groups += 1
        if (least.cycles or 0) != group.cycles:
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
