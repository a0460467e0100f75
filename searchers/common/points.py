"""A number for every point, so that searchers can compare infeasible points too."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dse.spec.reasons import Reason
from dse.support.arrays import FloatArray

if TYPE_CHECKING:
    from dse.problem.problem import Evaluations
    from dse.spec.accelerator import Accelerator


BEYOND_ANY_LOSS = 1e200


def scores(evaluations: Evaluations, accelerator: Accelerator) -> FloatArray:
    """Numbers (n,) to minimise: losses, and beyond all losses the infeasible points.

    Those that do not fit the buffers come by the doublings, of L1 and of L2, that they need beyond what there
    is; those that are infeasible for another reason come last and are `inf`.
    """
    needed = ((evaluations.l1_size, accelerator.l1_size), (evaluations.l2_size, accelerator.l2_size))
    doublings = sum(np.log2(np.maximum(size, capacity) / capacity) for size, capacity in needed)
    too_large = np.isin(evaluations.reason, (Reason.L1_TOO_SMALL, Reason.L2_TOO_SMALL))
    return np.where(too_large, BEYOND_ANY_LOSS * (1 + doublings), evaluations.loss)
