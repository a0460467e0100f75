"""The linear algebra of Gaussian processes (Rasmussen and Williams, 2006): what known points say of others.

LAPACK itself: for matrices as small as a search's, the checks around it would take as long as it does.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs, dtrtrs

from dse.support.arrays import FloatArray


def cholesky(covariances: FloatArray) -> FloatArray:
    """The lower factor of the covariances (n, n) of known points, noise included."""
    factor: FloatArray
    factor, failed = dpotrf(covariances, lower=1, clean=1)
    if failed:
        raise np.linalg.LinAlgError("covariances that are not positive definite")
    return factor


def solve(factor: FloatArray, targets: FloatArray) -> FloatArray:
    """Weights (n, m) by which covariances with the known points add up to what is expected elsewhere."""
    weights: FloatArray
    weights, _ = dpotrs(factor, targets, lower=1)
    return weights


def explained(factor: FloatArray, shared: FloatArray) -> FloatArray:
    """What the n known points explain of m others, whose covariances (m, n) with them are `shared`: (n, m).

    The inner products of its columns are what knowing takes from the covariances of the others.
    """
    found: FloatArray
    found, _ = dtrtrs(factor, shared.T, lower=1)
    return found
