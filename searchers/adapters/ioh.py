"""IOHexperimenter (de Nobel et al., 2024): a run as an integer problem, which its loggers follow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from searchers.adapters.common import Values, import_library

if TYPE_CHECKING:
    from dse.search.session import Session


def problem_of(study: Session, name: str = "mappings") -> Any:
    """An integer problem of one objective: orders and names are numbers there, as it has no choices.

    A point outside of the bounds is moved to the nearest within, as the library leaves that to its users.
    """
    package, values = import_library("ioh"), Values(study)
    low, high = study.bounds

    def value(point: Any) -> float:
        return float(values.of(np.clip(np.asarray(point)[np.newaxis], low, high))[0])

    made = package.wrap_problem(
        value,
        name=name,
        problem_class=package.ProblemClass.INTEGER,
        optimization_type=package.OptimizationType.MIN,
        dimension=len(low),
        lb=0,
        ub=int(high.max()),
    )
    made.bounds.lb, made.bounds.ub = low.tolist(), high.tolist()
    return made
