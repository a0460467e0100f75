"""Gaussian processes by scikit-optimize, and posteriors that the picks of a batch condition."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg.lapack import dtrtrs
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning
from skopt.learning import GaussianProcessRegressor
from skopt.learning.gaussian_process.kernels import ConstantKernel, Matern, Sum, WhiteKernel

from dse.support.arrays import FloatArray

# Length scales are in units of features (log2, or 0/1), variances in that of the standardised target.
_LENGTH, _LENGTHS = 4.0, (0.3, 100.0)
_VARIANCE, _VARIANCES = 4.0, (1e-2, 1e3)
_NOISE, _NOISES = 1e-2, (1e-5, 0.3)
_LEAST_VARIANCE = 1e-10


class Surrogate:
    """A figure of designs as a Gaussian process, whose Matern kernel has a length scale for each feature."""

    def __init__(self, width: int, seed: int) -> None:
        """Of `width` features. scikit-learn is given the `seed` lest it look at global random states."""
        self._seed = seed
        self._kernel = _kernel(width)
        self._model: Any = None

    @property
    def lengths(self) -> FloatArray:
        """The ARD length scale of each feature."""
        lengths: FloatArray = np.exp(self._kernel.theta[1:-1])
        return lengths

    def fit(self, features: FloatArray, targets: FloatArray, steps: int) -> None:
        """Learn from data (n, width) and (n,), and adapt the hyperparameters in so many steps of L-BFGS."""
        self._learn(features, targets, _likelihood_ascent(steps))
        self._kernel = self._model.kernel_

    def update(self, features: FloatArray, targets: FloatArray) -> None:
        """Learn from these data instead, and keep the hyperparameters."""
        self._learn(features, targets, None)

    def at(self, features: FloatArray) -> Posterior:
        """What the data say of n other points."""
        return Posterior(self._model, features)

    def _learn(self, features: FloatArray, targets: FloatArray, optimizer: Any) -> None:
        self._model = GaussianProcessRegressor(
            self._kernel, optimizer=optimizer, normalize_y=True, random_state=self._seed
        )
        with warnings.catch_warnings():
            # A length scale at its upper bound is a feature without influence: no reason to warn.
            warnings.simplefilter("ignore", ConvergenceWarning)
            self._model.fit(features, targets)


class Posterior:
    """A Gaussian process at n points: `mean` and `variance`, (n,) each, in the unit of its figure."""

    def __init__(self, model: Any, features: FloatArray) -> None:
        self._kernel = model.kernel_.k1
        self._features = features
        self._scale = float(model.y_train_std_)
        shared = self._kernel(features, model.X_train_)
        self.mean: FloatArray = shared @ model.alpha_ * self._scale + float(model.y_train_mean_)
        # LAPACK itself: the checks around it would take as long as it does.
        self._explained, _ = dtrtrs(model.L_, shared.T, lower=1)
        known = np.einsum("ij,ij->j", self._explained, self._explained)
        self.variance = np.maximum(self._kernel.diag(features) - known, _LEAST_VARIANCE) * self._scale**2

    def covariance(self) -> FloatArray:
        """Between the points: (n, n)."""
        joint: FloatArray = self._kernel(self._features) - self._explained.T @ self._explained
        return joint * self._scale**2


def _kernel(width: int) -> Sum:
    smooth = ConstantKernel(_VARIANCE, _VARIANCES) * Matern(np.full(width, _LENGTH), _LENGTHS, nu=2.5)
    return smooth + WhiteKernel(_NOISE, _NOISES)


def _likelihood_ascent(steps: int) -> Callable[..., tuple[FloatArray, float]]:
    """The optimizer that scikit-learn calls, with an end: its own may go on for minutes."""

    def ascend(objective: Any, initial_theta: FloatArray, bounds: FloatArray) -> tuple[FloatArray, float]:
        found = minimize(
            objective, initial_theta, jac=True, bounds=bounds, method="L-BFGS-B", options={"maxiter": steps}
        )
        return (found.x, float(found.fun)) if np.isfinite(found.fun) else (initial_theta, np.inf)

    return ascend
