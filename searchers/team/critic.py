"""The critic that all agents share: learned sums of counts, and a Gaussian process around them."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.support import numerics
from dse.support.arrays import FloatArray, SingleArray
from dse.support.numerics import cholesky, explained, matmul, solve
from searchers.team.critic_kernel import write_covariances
from searchers.team.features import Features
from searchers.team.training import TrainingSet
from searchers.team.trend import Trend

AnyFloats = NDArray[Any]

_LENGTHS = (1.0, 2.0, 4.0, 8.0)
"""Length scales to choose from, in units of the root of the number of features, which have variance 1."""
_NOISES = (1e-4, 1e-3, 1e-2)
_LOG2_SCALES = (-3.0, 3.0)
"""The least and the greatest length scale of a group, in log2 and relative to the common one."""
_PRIOR = 0.125
"""The log likelihood that an ARD length scale costs for being twice or half as large as it was at first, or
four times that for a factor of four, as its log2 is squared."""
_ROUNDS = 2
"""Times that every group's length scale is halved or doubled, if that is likelier."""
_LINEAR = 1.0
"""The variance of the linear part of the kernel; that of its other part is 1."""
_LEAST_VARIANCE = 1e-6
_SPREAD = 0.5
"""log2 by which figures differ from what is expected of them, as long as there are no samples."""
_TAKEN = 4.0
"""Samples for which that counts, where something is expected."""


class Critic:
    """Predicts figures, in log2, from features.

    A buffer holds a sum of footprints and energy goes into a sum of accesses: the trend of a figure is such
    a sum, its weights learned (see `Trend`). Around it is a Gaussian process (Rasmussen and Williams, 2006)
    of a linear and a rational quadratic (Cauchy) kernel. All figures share the kernel, whose length scale and
    noise are those of the greatest likelihood among a few, so that one factorisation serves all; each has a
    mean and a scale of its own. So are the ARD length scales, one a group of features: what tells more of the
    cost has a shorter one.
    """

    def __init__(self, describe: Features, factors: int, expected: FloatArray | None = None) -> None:
        """Of features by `describe`; the kernel is chosen by the first `factors` figures.

        `expected` are weights of the trends, as `Trend` has them, if any are.
        """
        self._groups, self._addends, self._usual = describe.groups, describe.addends, describe.log2_scales
        self._trend = Trend(describe.addends, expected)
        self._taken = _TAKEN if expected is not None else 0.0
        self._factors = factors
        self._length, self._noise = _LENGTHS[1], _NOISES[1]
        self.log2_scales = self._usual.copy()
        """The ARD length scale of each group, in log2 and relative to the common one: (groups,)."""

    def fit(self, known: TrainingSet, choose: bool, choose_scales: bool) -> None:
        """Learn from points with figures, instead of what was known before.

        All figures but the last get a trend. `choose` has the length scale and the noise chosen anew, and
        with it `choose_scales` the ARD length scales.
        """
        features, figures = known.features, known.figures
        self._trend.fit(features, figures, known.constant)
        rest = figures - self._trend(features, known.constant)
        self._mean, self._scale = self._spread(rest)
        targets = (rest - self._mean) / self._scale
        self._hold(features)
        if choose:
            self._choose(features, targets[:, : self._factors], choose_scales)
        self._condition(targets)
        self._means_of = (self._solution * self._scale).astype(np.float32)

    def predict(self, features: SingleArray) -> FloatArray:
        """The expected figures of other points: (n, width) to (n, m)."""
        shared = self._kernel(self._scaled(features), self._known)
        means: FloatArray = matmul(shared, self._means_of) + (self._mean + self._trend(features))
        return means

    def posterior(self, features: SingleArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """What is known of other points together.

        The expected figures (n, m), the covariance of the points (n, n) and the variance (m,) of each figure
        by which it is to be multiplied.
        """
        # Variances are what little is left of differences: single precision would not do.
        points = self._scaled(features).astype(np.float64)
        shared = self._kernel(points, self._points)
        reduction = explained(self._factor, shared)
        covariance = self._kernel(points, points) - matmul(reduction.T, reduction)
        np.fill_diagonal(covariance, np.maximum(covariance.diagonal(), _LEAST_VARIANCE))
        means = matmul(shared, self._means_of) + (self._mean + self._trend(features))
        return means, covariance, self._amplitudes * self._scale**2

    def _spread(self, rest: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The mean and the deviation (m,) of what figures (n, m) are beyond their trend."""
        mean, deviation = rest.mean(axis=0), rest.std(axis=0) + 1e-9
        if self._taken:
            # Three samples that happen to be alike do not say that all others are.
            count = len(rest)
            mean[:-1] *= count / (count + 1)
            squares = count * np.square(deviation[:-1]) + self._taken * _SPREAD**2
            deviation[:-1] = np.sqrt(squares / (count + self._taken))
        return mean, deviation

    def _scaled(self, features: SingleArray) -> SingleArray:
        """The kernel's features over their length scales: (n, width - addends)."""
        inverse = numerics.exp2(-self.log2_scales).astype(np.float32)
        scaled: SingleArray = features[:, : features.shape[1] - self._addends] * inverse[self._groups]
        return scaled

    def _hold(self, features: SingleArray) -> None:
        """Hold the points that are known at the present length scales, and their products."""
        self._known = self._scaled(features)
        self._points = self._known.astype(np.float64)
        self._products = matmul(self._points, self._points.T)
        self._squares = np.square(self._points).sum(axis=1)

    def _choose(self, features: SingleArray, targets: FloatArray, choose_scales: bool) -> None:
        """Choose the kernel of the greatest likelihood, one of its parts after the other."""
        best = -np.inf
        for _ in range(_ROUNDS if choose_scales else 1):
            for length, noise in product(_LENGTHS, _NOISES):
                before = self._length, self._noise
                self._length, self._noise = length, noise
                found = self._likelihood(targets)
                if found > best:
                    best = found
                else:
                    self._length, self._noise = before
            if choose_scales:
                best = self._choose_scales(features, targets, best)
                self._hold(features)

    def _choose_scales(self, features: SingleArray, targets: FloatArray, best: float) -> float:
        """Halve or double each group's length scale if that is likelier than `best`: the best after that."""
        for group in np.unique(self._groups).tolist():
            before = self.log2_scales[group]
            for step in (-1.0, 1.0):
                self.log2_scales[group] = np.clip(before + step, *_LOG2_SCALES)
                self._hold(features)
                found = self._likelihood(targets)
                if found > best:
                    best = found
                    break
                self.log2_scales[group] = before
        return best

    def _likelihood(self, targets: FloatArray) -> float:
        """The log likelihood of the present kernel, less what unusual length scales cost."""
        unusual = float(np.square(self.log2_scales - self._usual).sum())
        return self._condition(targets) - _PRIOR * unusual

    def _condition(self, targets: FloatArray) -> float:
        """Solve for the targets (n, m): the log likelihood, each figure at its best amplitude."""
        count = len(targets)
        kernel = np.empty((count, count))
        write_covariances(self._products, self._squares, self._squares, *self._factors_of(np.float64), kernel)
        kernel[np.diag_indices(count)] += self._noise
        self._factor = cholesky(kernel)
        self._solution = solve(self._factor, targets)
        known = (targets * self._solution).sum(axis=0)
        self._amplitudes = np.maximum((known + self._taken) / (count + self._taken), 1e-9)
        halves = numerics.log(self._factor.diagonal()).sum()
        return float((-0.5 * count * numerics.log(self._amplitudes) - halves).sum())

    def _kernel(self, ones: AnyFloats, others: AnyFloats) -> AnyFloats:
        """The covariances of scaled points (n, ...) and others (m, ...): (n, m)."""
        products = matmul(ones, others.T)
        squares = (np.square(points).sum(axis=1) for points in (ones, others))
        write_covariances(products, *squares, *self._factors_of(products.dtype.type), products)
        return products

    def _factors_of(self, number: type[Any]) -> tuple[Any, Any]:
        """By what the square of a distance and a product are multiplied, as the given kind of number."""
        width = max(len(self._groups), 1)
        return number(0.5 / (self._length**2 * width)), number(_LINEAR / width)
