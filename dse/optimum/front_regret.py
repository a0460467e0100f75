"""How much a search's front lacks of the exact one: the share of hypervolume that is missing.

Volumes are those of the figures' logarithms, so that a factor counts the same anywhere, up to a reference
point of 1.1 times the largest latency and energy of the exact front (Zitzler and Thiele, IEEE TEVC 1999;
Ishibuchi et al., Evolutionary Computation 2018; moocore).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dse.core.certificate import OPTIMAL
from dse.core.objective import parse_objectives
from dse.core.problem import AnyProblem
from dse.optimum.front import FIGURES, Front, figures_of
from dse.search.fronts import feasible_values, hypervolume, volumes
from dse.search.record import Record
from dse.support.arrays import FloatArray
from dse.support.errors import InputError

BEYOND = 1.1
"""The reference point, as a factor of the worst of each figure on the exact front."""


def regret(front: Front, problem: AnyProblem, record: Record, after: Sequence[int]) -> FloatArray:
    """The share of the exact front's hypervolume that a record lacks after so many samples, ascending.

    1 where nothing is found that dominates the reference point, 0 where the whole front is found. InputError
    where `front` is not proven, or not of the problem's objectives.
    """
    if front.status != OPTIMAL:
        raise InputError(f"regret needs the exact front, and this one is {front.status}")
    names = [one.name for one in parse_objectives(problem.objective)]
    if sorted(names) != sorted(FIGURES):
        raise InputError(f"regret is of latency and energy, got {problem.objective!r}")
    pairs = [figures_of(problem, point)[:: 1 if names[0] == "latency" else -1] for point in front.points]
    exact = np.log(np.array(pairs))
    reference = exact.max(axis=0) + np.log(BEYOND)
    samples, values = feasible_values(problem, record)
    found = volumes(samples, np.log(values), reference, after)
    # What is found again is priced to the same bits; sums of volumes may be rounded otherwise.
    return np.maximum(1.0 - found / hypervolume(exact, reference), 0.0)
