"""Claims under MAESTRO: over perfect factors no mapping is below the bound.

Outer tiles and a cluster size make a group, and the inner level decides one number: the cycles of a step.
Every outer configuration is gone through in NumPy, by the specification's cases (`coverage`, `outer_cases`),
with a bound of these that is written again (`inner_check`). The cost model prices every inner level of the
groups that are not ruled out so.
"""

from __future__ import annotations

import math

import numpy as np

from dse.core.certificate import INFEASIBLE, Certificate
from dse.core.proofs import Check
from dse.domains.clustered.check.any_size import any_checks
from dse.domains.clustered.check.enumeration import Group, Groups, group_keys
from dse.domains.clustered.check.limits import limit_checks, most_steps
from dse.domains.clustered.problem import Problem
from dse.models.maestro.check.coverage import cover_outer, least_loss
from dse.models.maestro.check.inner_check import cycles_below_none, fewest_cycles
from dse.models.maestro.check.least_cost import LeastCost
from dse.models.maestro.check.spaces import space_checks

ROWS, OTHER_ROWS = 3_000_000, 500_000
"""Inner levels to price: of groups that no bound rules out, and of others, to compare with their bound."""
OTHERS = 24


def checks(problem: Problem, certificate: Certificate, rng: np.random.Generator) -> tuple[Check, ...]:
    """Check what only `maestro` certificates claim."""
    if problem.hardware_genes:
        return space_checks(problem, certificate)
    kept = limit_checks(problem, certificate)
    if problem.tiles == "any":
        return (*kept, *any_checks(problem, certificate, rng, LeastCost(problem)))
    return (*kept, _covered(problem, certificate), _bounded(problem, certificate, rng))


def _covered(problem: Problem, certificate: Certificate) -> Check:
    """Whether no group that is not ruled out has a mapping below the bound: their inner levels are priced."""
    target = math.inf if certificate.status == INFEASIBLE else certificate.lower_bound
    configurations, below = cover_outer(problem, target)
    name, left, skipped = "no outer configuration is below the bound", ROWS, 0
    # Whether PEs are busy depends on the outer parallel dim too; the fewest cycles alone do not.
    by_parallel, solved = most_steps(problem) is not None, dict[tuple[Group, str], int | None]()
    for group, parallel in below.best_first():
        case = group, parallel if by_parallel else ""
        if case not in solved:
            fewest = fewest_cycles(problem, group.tiles, group.cluster, left, case[1])
            if fewest is None:
                skipped += 1
                continue
            left -= fewest.rows
            solved[case] = fewest.cycles
        cycles = solved[case]
        loss = math.inf if cycles is None else least_loss(problem, group, parallel, cycles, target)
        if loss < target:
            seen = f"{loss!r} cannot be ruled out for {group} with {parallel} parallel"
            return Check(name, False, seen)
    seen = f"{configurations:,} looked at, {ROWS - left:,} inner levels of {len(solved):,} groups priced"
    return Check(name, True, seen + (f", {skipped:,} groups are too many to price" if skipped else ""))


def _bounded(problem: Problem, certificate: Certificate, rng: np.random.Generator) -> Check:
    """Whether some of the groups' inner problems take at least as many cycles as their bound."""
    name = "inner problems take no fewer cycles than their bound"
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
