"""Whether there is anything to search: an objective that is the same all over a space says so beforehand."""

from __future__ import annotations

import numpy as np

from dse.core.cost_models import unit_of
from dse.core.objective import known_objective
from dse.core.problem import AnyProblem
from dse.core.reasons import FIRST_RULE
from dse.support.quantities import quantity

ROWS = 256
SAME = 1e-6
"""Relative, as MAESTRO prints six digits."""


def flat_objective(problem: AnyProblem) -> str | None:
    """A sentence, if the objective is the same for random mappings of the space; None if it varies.

    Only areas and powers are looked at: run time and energy follow the mapping under any model. They are
    priced outside of any budget, and nothing is learned from them. A model from outside, whose prices may
    take minutes, is not asked.
    """
    if problem.model.outside:
        return None
    objective = known_objective(problem.objective)
    if objective is None or any(figure.adds_up for figure in objective.figures.values()):
        return None
    if problem.space.vectors == 1:
        return None
    priced = problem.price(problem.space.sample(np.random.default_rng(0), ROWS))
    values = priced.objective_value[priced.reason < FIRST_RULE]
    values = values[values > 0]
    if len(values) < 2 or np.ptp(values) > SAME * values.max():
        return None
    unit = unit_of(problem.objective, problem.model.name)
    return (
        f"objective {problem.objective} is {quantity(values[0], unit, 6)} for all of {len(values)} random "
        f"mappings that the cost model prices: there is nothing to search"
    )
