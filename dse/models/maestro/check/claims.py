"""Claims under MAESTRO: no mapping is below the bound, by bounds of boxes in other code (`least_cost`).

Spaces of other parts, as those where PE counts are open, have a check of their own (`spaces`).
"""

from __future__ import annotations

import numpy as np

from dse.core.certificate import Certificate
from dse.core.proofs import Check
from dse.domains.clustered.check.covered import box_checks
from dse.domains.clustered.check.limits import limit_checks
from dse.domains.clustered.problem import Problem
from dse.models.maestro.check.least_cost import LeastCost
from dse.models.maestro.check.spaces import space_checks


def checks(problem: Problem, certificate: Certificate, rng: np.random.Generator) -> tuple[Check, ...]:
    """Check what only `maestro` certificates claim."""
    if problem.hardware_genes:
        return space_checks(problem, certificate)
    return *limit_checks(problem, certificate), *box_checks(problem, certificate, rng, LeastCost(problem))
