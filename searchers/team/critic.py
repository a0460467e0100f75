"""The critic that all agents share: a Gaussian process with several outputs, in plain NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
SingleArray = NDArray[np.float32]
AnyFloats = NDArray[Any]

_LENGTHS = (1.0, 2.0, 4.0)
"""Length scales to choose from, in units of the root of the number of features, which have variance 1."""
_NOISES = (1e-4, 1e-3, 1e-2)
_LINEAR = 1.0
"""The variance of the linear part of the kernel; that of its other part is 1."""
_LEAST_VARIANCE = 1e-6


class Critic:
    """Foretells figures from features: a linear trend, and a rational quadratic (Cauchy) kernel around it.

    Rasmussen and Williams, "Gaussian Processes for Machine Learning" (2006). All figures share the kernel,
    whose length and noise are those of the greatest likelihood among a few, so that one factorisation
    serves all; each has a mean and a scale of its own.
    """

    def __init__(self) -> None:
        self._length, self._noise = _LENGTHS[1], _NOISES[1]
        self._known: SingleArray = np.empty((0, 0), np.float32)

    def learn(self, features: SingleArray, figures: FloatArray, refit: bool) -> None:
        """Learn from points (n, features) with figures (n, m), instead of what was known before.

        `refit` chooses the length and the noise anew.
        """
        self._known = features
        self._mean, self._scale = figures.mean(axis=0), figures.std(axis=0) + 1e-9
        targets = (figures - self._mean) / self._scale
        if refit:
            choices = [(length, noise) for length in _LENGTHS for noise in _NOISES]
            likelihoods = [self._condition(targets, *choice) for choice in choices]
            self._length, self._noise = choices[int(np.argmax(likelihoods))]
        self._condition(targets, self._length, self._noise)
        self._means_of = (self._solution * self._scale).astype(np.float32)

    def means(self, features: SingleArray) -> FloatArray:
        """The expected figures of other points: (n, features) to (n, m)."""
        means: FloatArray = self._kernel(features, self._known, self._length) @ self._means_of + self._mean
        return means

    def posterior(self, features: SingleArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """What is known of other points together.

        The expected figures (n, m), the covariance of the points (n, n) and the variance (m,) of each figure
        by which it is to be multiplied.
        """
        from scipy.linalg import solve_triangular

        # Variances are what little is left of differences: single precision would not do.
        points, known = features.astype(np.float64), self._known.astype(np.float64)
        shared = self._kernel(points, known, self._length)
        explained = solve_triangular(self._factor, shared.T, lower=True, check_finite=False)
        covariance = self._kernel(points, points, self._length) - explained.T @ explained
        np.fill_diagonal(covariance, np.maximum(covariance.diagonal(), _LEAST_VARIANCE))
        return shared @ self._means_of + self._mean, covariance, self._amplitudes * self._scale**2

    def _condition(self, targets: FloatArray, length: float, noise: float) -> float:
        """Solve for the targets (n, m): the log likelihood, each figure at its best amplitude."""
        from scipy.linalg import cho_solve, cholesky

        count = len(targets)
        known = self._known.astype(np.float64)
        kernel = self._kernel(known, known, length)
        kernel[np.diag_indices(count)] += noise
        self._factor = cholesky(kernel, lower=True, check_finite=False)
        self._solution = cho_solve((self._factor, True), targets, check_finite=False)
        self._amplitudes = np.maximum((targets * self._solution).sum(axis=0) / count, 1e-9)
        halves = np.log(self._factor.diagonal()).sum()
        return float((-0.5 * count * np.log(self._amplitudes) - halves).sum())

    def _kernel(self, ones: AnyFloats, others: AnyFloats, length: float) -> AnyFloats:
        width = max(ones.shape[1], 1)
        products = ones @ others.T
        squares = np.square(ones).sum(axis=1)[:, np.newaxis] + np.square(others).sum(axis=1)
        squares -= 2 * products
        np.maximum(squares, 0, out=squares)
        squares *= 0.5 / (length**2 * width)
        squares += 1
        np.reciprocal(squares, out=squares)
        products *= _LINEAR / width
        squares += products
        kernel: AnyFloats = squares
        return kernel
