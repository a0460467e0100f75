"""What `timeloop` brings to proofs: which problems can be certified, and what the groups are called."""

from __future__ import annotations

from math import prod

from dse.core.objective import objective_named
from dse.domains.levels.nests import MOST_STORAGES
from dse.domains.levels.problem import MachineProblem
from dse.domains.levels.space.chains import FACTORS, TEMPORAL
from dse.models.timeloop.proof.components import dims_by_component
from dse.support.errors import InputError

GROUP = "loop orders with factors"
MAX_BYPASSES, MAX_ORDERS, MAX_CHAINS = 256, 10_000, 200_000
MAX_CUTS = 900_000
"""Of chains of any tiles, which have few others beside them: so many take two gigabytes."""
MAX_LISTED = 1_000_000
"""Of chains of dims that share a window, where every nest is listed: so many take two gigabytes."""
MAX_POWERS = 8
"""Of larger ones the losses, in pJ and cycles, could leave the range of floats."""


def refuse(problem: MachineProblem) -> None:
    """InputError unless the problem's optimum can be proven."""
    degree = objective_named(problem.objective).degree
    if degree > MAX_POWERS:
        raise InputError(
            f"under cost model 'timeloop' exponents that add up to at most {MAX_POWERS} can be certified, "
            f"got {degree:g} in {problem.objective!r}"
        )
    if problem.parts.hardware:
        raise InputError("figures of a machine of levels that are open cannot be certified: leave them out")
    if problem.accelerator.even and problem.tiles == FACTORS:
        _refuse_uneven(problem)
        return
    _refuse_many(problem)


def refuse_list(problem: MachineProblem) -> None:
    """InputError unless all mappings near the problem's optimum can be listed."""
    refuse(problem)
    if problem.tiles != FACTORS:
        raise InputError(
            "under cost model 'timeloop' mappings near the optimum are listed over perfect factors only: say "
            "--tiles factors"
        )
    storages = len(problem.accelerator.levels) * len(problem.space.layout.tensors)
    if storages > MOST_STORAGES:
        raise InputError(
            f"mappings near the optimum are listed on machines with at most {MOST_STORAGES} storages, each a "
            f"level and a tensor; {problem.accelerator.name} has {storages}"
        )
    # Of uneven nests a proof goes through fewer, each arrangement with loops of its own.
    _refuse_many(problem)
    for dims in dims_by_component(problem.space.workload):
        count = prod(problem.space.chains[dim].count for dim in dims)
        if count > MAX_LISTED:
            names = " and ".join(problem.space.workload.names[dim] for dim in dims)
            raise InputError(
                f"{count:,} ways to factor {names} are too many to list mappings of; at most {MAX_LISTED:,}: "
                "say in the machine which dims a level loops over, or --nests even"
            )


def _refuse_many(problem: MachineProblem) -> None:
    """InputError where there are too many orders, choices of what levels keep, or factors of one dim."""
    levels = problem.space.levels
    orders = prod(level.plain for level in levels)
    if orders > MAX_ORDERS:
        raise InputError(
            f"{orders:,} choices of orders are too many to certify; at most {MAX_ORDERS:,}: fix some by "
            "LEVEL.order or LEVEL.stationary"
        )
    stacks = prod(max(1, len(level.stacks)) for level in levels)
    choices = stacks * 2 ** sum(len(level.open) for level in levels if not level.stacks)
    if choices > MAX_BYPASSES:
        raise InputError(
            f"{choices:,} choices of what is kept are too many to certify; at most {MAX_BYPASSES}: fix some "
            "by LEVEL.keep"
        )
    chains = max(chain.count for chain in problem.space.chains)
    how, most = ("factor", MAX_CHAINS) if problem.tiles == FACTORS else ("cut", MAX_CUTS)
    if chains > most:
        raise InputError(f"{chains:,} ways to {how} one dim are too many to certify; at most {most:,}")


def _refuse_uneven(problem: MachineProblem) -> None:
    """InputError where loops or orders are fixed: what nests are as good as others is not known then."""
    said = problem.space.constraints
    loops = [kind for _, kind, _ in said.factors if kind == TEMPORAL]
    if loops or said.order or said.stationary:
        raise InputError(
            "optima of uneven nests are proven without fixed loops: leave out LEVEL.temporal.DIM, "
            "LEVEL.order and LEVEL.stationary; LEVEL.spatial.DIM and LEVEL.keep may be fixed"
        )
