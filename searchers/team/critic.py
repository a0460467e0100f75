"""The critic that all agents share: learned sums of counts, and a Gaussian process around them."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.support.arrays import FloatArray, IntArray, SingleArray
from searchers.team.critic_kernel import covariances
from searchers.team.features import SUMMANDS

AnyFloats = NDArray[Any]

_LENGTHS = (1.0, 2.0, 4.0, 8.0)
"""Length scales to choose from, in units of the root of the number of features, which have variance 1."""
_NOISES = (1e-4, 1e-3, 1e-2)
_USUAL = np.concatenate([
    # Outer level: tiles, turns, units at work, parallel dim, order, returns, held, held together, moved.
    [0.75, 1.0, 0.25, 0.0, -1.0, 0.75, 0.75, 1.0, 0.75],
    # Inner level.
    [-0.75, -0.75, 0.25, -0.5, -1.0, -0.5, -0.5, -0.5, -0.25],
    # Cluster, steps.
    [0.25, 0.75],
])  # fmt: skip
"""Octaves by which the groups of features are stretched at first: half of what was the likeliest, on average,
for 36 descents on the problems of results/campaigns/devhard.toml."""
_STRETCHES = (-3.0, 3.0)
_PRIOR = 0.125
"""The log likelihood that an octave beyond the usual costs, times its square."""
_ROUNDS = 2
"""Times that every group is stretched or shrunk by an octave, if that is likelier."""
_LINEAR = 1.0
"""The variance of the linear part of the kernel; that of its other part is 1."""
_LEAST_VARIANCE = 1e-6
_LEAST_SHARE = 1e-6
"""Of a sum's mean, what is added to it, so that none is zero."""


class Critic:
    """Foretells figures, in octaves, from features.

    A buffer holds a sum of footprints and energy goes into a sum of accesses: the trend of a figure is such
    a sum, its weights learned by non-negative least squares of relative errors (Lawson and Hanson, 1974).
    Around it is a Gaussian process (Rasmussen and Williams, 2006) of a linear and a rational quadratic
    (Cauchy) kernel. All figures share the kernel, whose length and noise are those of the greatest
    likelihood among a few, so that one factorisation serves all; each has a mean and a scale of its own.
    So are the stretches of features by group: what tells more of the cost counts for more.
    """

    def __init__(self, groups: IntArray, factors: int) -> None:
        """`groups` (features,) says of which group each feature is; the first `factors` figures decide."""
        self._groups, self._factors = groups, factors
        self._length, self._noise = _LENGTHS[1], _NOISES[1]
        self.stretch = _USUAL.copy()
        """Octaves by which the features of each group are stretched."""

    def learn(self, features: SingleArray, figures: FloatArray, refit: bool, restretch: bool) -> None:
        """Learn from points (n, features) with figures (n, m), instead of what was known before.

        All figures but the last get a trend. `refit` chooses the length and the noise anew, and with it
        `restretch` how the groups are stretched.
        """
        counts = _counts(features)
        self._weights = np.zeros((SUMMANDS + 1, figures.shape[1]))
        self._least = np.ones(figures.shape[1])
        for figure in range(figures.shape[1] - 1):
            weights = _weights(counts, np.exp2(figures[:, figure]))
            if weights.any():
                self._weights[:, figure] = weights
                self._least[figure] = _LEAST_SHARE * (counts @ weights).mean()
        rest = figures - self._trend(features)
        self._mean, self._scale = rest.mean(axis=0), rest.std(axis=0) + 1e-9
        targets = (rest - self._mean) / self._scale
        self._know(features)
        if refit:
            self._choose(features, targets[:, : self._factors], restretch)
        self._condition(targets, self._length, self._noise)
        self._means_of = (self._solution * self._scale).astype(np.float32)

    def means(self, features: SingleArray) -> FloatArray:
        """The expected figures of other points: (n, features) to (n, m)."""
        shared = self._kernel(self._stretched(features), self._known, self._length)
        means: FloatArray = shared @ self._means_of + (self._mean + self._trend(features))
        return means

    def posterior(self, features: SingleArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """What is known of other points together.

        The expected figures (n, m), the covariance of the points (n, n) and the variance (m,) of each figure
        by which it is to be multiplied.
        """
        from scipy.linalg.lapack import dtrtrs

        # Variances are what little is left of differences: single precision would not do.
        points = self._stretched(features).astype(np.float64)
        shared = self._kernel(points, self._points, self._length)
        explained, _ = dtrtrs(self._factor, shared.T, lower=1)
        covariance = self._kernel(points, points, self._length) - explained.T @ explained
        np.fill_diagonal(covariance, np.maximum(covariance.diagonal(), _LEAST_VARIANCE))
        means = shared @ self._means_of + (self._mean + self._trend(features))
        return means, covariance, self._amplitudes * self._scale**2

    def _stretched(self, features: SingleArray) -> SingleArray:
        scales = np.exp2(self.stretch).astype(np.float32)
        stretched: SingleArray = features[:, :-SUMMANDS] * scales[self._groups]
        return stretched

    def _know(self, features: SingleArray) -> None:
        """Hold the features of the points that are known, and their products."""
        self._known = self._stretched(features)
        self._points = self._known.astype(np.float64)
        self._products = self._points @ self._points.T
        self._squares = np.square(self._points).sum(axis=1)

    def _choose(self, features: SingleArray, targets: FloatArray, restretch: bool) -> None:
        """Choose the kernel of the greatest likelihood, one of its parts after the other."""

        def likelihood() -> float:
            excess = float(np.square(self.stretch - _USUAL).sum())
            return self._condition(targets, self._length, self._noise) - _PRIOR * excess

        best = -np.inf
        for _ in range(_ROUNDS if restretch else 1):
            for length, noise in product(_LENGTHS, _NOISES):
                kept = self._length, self._noise
                self._length, self._noise = length, noise
                found = likelihood()
                if found > best:
                    best = found
                else:
                    self._length, self._noise = kept
            for group in np.unique(self._groups).tolist() if restretch else ():
                kept = self.stretch[group]
                for step in (1.0, -1.0):
                    self.stretch[group] = np.clip(kept + step, *_STRETCHES)
                    self._know(features)
                    found = likelihood()
                    if found > best:
                        best = found
                        break
                    self.stretch[group] = kept
            if restretch:
                self._know(features)

    def _trend(self, features: SingleArray) -> FloatArray:
        """Octaves of the learned sums: (n, m)."""
        counts = _counts(features)
        octaves: FloatArray = np.log2(counts @ self._weights + self._least)
        return octaves

    def _condition(self, targets: FloatArray, length: float, noise: float) -> float:
        """Solve for the targets (n, m): the log likelihood, each figure at its best amplitude."""
        # LAPACK itself: for matrices as small as these, scipy's own checks would take as long.
        from scipy.linalg.lapack import dpotrf, dpotrs

        count = len(targets)
        kernel = np.empty((count, count))
        covariances(self._products, self._squares, self._squares, *self._scales(length, np.float64), kernel)
        kernel[np.diag_indices(count)] += noise
        self._factor, failed = dpotrf(kernel, lower=1, clean=1)
        if failed:
            raise np.linalg.LinAlgError("the critic's covariances are not positive definite")
        self._solution, _ = dpotrs(self._factor, targets, lower=1)
        self._amplitudes = np.maximum((targets * self._solution).sum(axis=0) / count, 1e-9)
        halves = np.log(self._factor.diagonal()).sum()
        return float((-0.5 * count * np.log(self._amplitudes) - halves).sum())

    def _kernel(self, ones: AnyFloats, others: AnyFloats, length: float) -> AnyFloats:
        """The covariances of points (n, features) and others (m, features): (n, m)."""
        products = ones @ others.T
        squares = (np.square(points).sum(axis=1) for points in (ones, others))
        covariances(products, *squares, *self._scales(length, products.dtype.type), products)
        return products

    def _scales(self, length: float, number: type[Any]) -> tuple[Any, Any]:
        """By what the square of a distance and a product are multiplied, as the given kind of number."""
        width = max(len(self._groups), 1)
        return number(0.5 / (length**2 * width)), number(_LINEAR / width)


def _counts(features: SingleArray) -> FloatArray:
    """What may add up to a figure, and one for what is always there: (n, SUMMANDS + 1)."""
    octaves = features[:, -SUMMANDS:].astype(np.float64)
    return np.column_stack([np.exp2(octaves), np.ones(len(octaves))])


def _weights(counts: FloatArray, figures: FloatArray) -> FloatArray:
    """Non-negative weights by which counts (n, k) add up to figures (n,); all zero if none are found."""
    from scipy.optimize import nnls

    shares = counts / figures[:, np.newaxis]
    units = shares.mean(axis=0)
    try:
        found, _ = nnls(shares / units, np.ones(len(figures)))
    except RuntimeError:
        # Too many iterations: the figures go without a trend, until there are other points.
        return np.zeros(counts.shape[1])
    weights: FloatArray = found / units
    return weights
