"""Claims under `loopnest`: no mapping is below the bound, by bounds of boxes in other code (`least_cost`)."""

from __future__ import annotations

import numpy as np

from dse.core.certificate import Certificate
from dse.core.proofs import Check
from dse.domains.clustered.check.covered import box_checks
from dse.domains.clustered.check.limits import limit_checks
from dse.domains.clustered.problem import Problem
from dse.models.loopnest.check.least_cost import LeastCost


def checks(problem: Problem, certificate: Certificate, rng: np.random.Generator) -> tuple[Check, ...]:
    """Check what only `loopnest` certificates claim."""
    return *limit_checks(problem, certificate), *box_checks(problem, certificate, rng, LeastCost(problem))
