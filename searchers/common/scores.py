"""A number for every point, so that searchers can compare infeasible points too."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dse.support import numerics
from dse.support.arrays import FloatArray

if TYPE_CHECKING:
    from dse.core.evaluations import Evaluations


BEYOND_ANY_LOSS = 1e200


def penalised_losses(evaluations: Evaluations) -> FloatArray:
    """Numbers (n,) to minimise: losses, and beyond all losses the infeasible points.

    Those that do not fit the buffers come by the doublings, added over the buffers, that they need beyond
    what there is; those that are infeasible for another reason come last and are `inf`.
    """
    limits = zip(evaluations.needs.T, evaluations.capacities.T, strict=True)
    doublings = sum(numerics.log2(np.maximum(need, capacity) / capacity) for need, capacity in limits)
    too_large = (evaluations.reason != 0) & evaluations.violation.any(axis=1)
    return np.where(too_large, BEYOND_ANY_LOSS * (1 + doublings), evaluations.loss)
