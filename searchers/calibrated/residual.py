"""What a trend leaves over, as a Gaussian process of a mapping's counts and of its structure."""

from __future__ import annotations

from itertools import product

import numpy as np

from dse.support.arrays import FloatArray

LENGTHS = ((0.5, 1.0, 2.0, 4.0), (0.7, 1.4, 3.0))
"""Of counts and of structure, in units of how far samples are apart."""
SHARES = (0.1, 0.5, 0.9)
"""Of the variance, what counts explain; structure explains the rest."""
NOISES = (1e-4, 1e-3, 1e-2, 1e-1)
"""As shares of the variance."""
LEAST_DEVIATION = 0.02
"""Of what is left, in log: before it is known how wrong a trend is."""
PRIOR = (2.0, 0.04)
"""So many samples' worth of a belief about the variance, and the belief."""


class Residual:
    """A process with two kernels (Matern 5/2), whose hyperparameters are the likeliest of a grid."""

    def __init__(self, counts: FloatArray, structure: FloatArray, values: FloatArray) -> None:
        """Of n samples: their counts (n, c), structure (n, s), and what trends have left over (n, trends)."""
        self._parts, self._mean, self._values = (counts, structure), 0.0, values
        self._distances = [_distances(part, part) for part in self._parts]
        self._fit(values)

    def _fit(self, values: FloatArray) -> None:
        best, count, eye = -np.inf, len(values), np.eye(len(values))
        weight, belief = PRIOR
        for setting in product(*LENGTHS, SHARES, NOISES):
            lower = np.linalg.cholesky(self._kernel(self._distances, setting) + (setting[-1] + 1e-9) * eye)
            whitened = np.linalg.solve(lower, values)
            variance = (np.square(whitened).sum() / values.shape[1] + weight * belief) / (count + weight)
            likelihood = -0.5 * (count + weight) * np.log(variance) - np.log(lower.diagonal()).sum()
            if likelihood > best:
                best, self._setting, self._variance, self._lower = likelihood, setting, variance, lower
        self._solved = np.linalg.solve(self._lower, values)

    def believing(self, counts: FloatArray, structure: FloatArray) -> Residual:
        """The process if m other samples turn out as it predicts."""
        means, _ = self.at(counts, structure)
        mine, other = self._parts
        return Residual(
            np.concatenate([mine, counts]),
            np.concatenate([other, structure]),
            np.concatenate([self._values, means]),
        )

    def at(self, counts: FloatArray, structure: FloatArray) -> tuple[FloatArray, FloatArray]:
        """What is left over at m other mappings: means (m, trends), and the deviation (m,) of them all."""
        explained = self._explained(counts, structure)
        mean = explained.T @ self._solved
        variance = self._variance * np.maximum(1 - np.square(explained).sum(axis=0), 0)
        return mean, np.sqrt(variance) + LEAST_DEVIATION * np.ones(len(mean))

    def _explained(self, counts: FloatArray, structure: FloatArray) -> FloatArray:
        distances = [
            _distances(mine, other) for mine, other in zip(self._parts, (counts, structure), strict=True)
        ]
        shared = self._kernel(distances, self._setting)
        found: FloatArray = np.linalg.solve(self._lower, shared)
        return found

    @staticmethod
    def _kernel(distances: list[FloatArray], setting: tuple[float, ...]) -> FloatArray:
        one, other, share, _ = setting
        found: FloatArray = share * _matern(distances[0] / one) + (1 - share) * _matern(distances[1] / other)
        return found


def _matern(distance: FloatArray) -> FloatArray:
    scaled = np.sqrt(5.0) * distance
    found: FloatArray = (1 + scaled + np.square(scaled) / 3) * np.exp(-scaled)
    return found


def _distances(one: FloatArray, other: FloatArray) -> FloatArray:
    """Root mean square differences of rows: (n, m); 0 where nothing is told of them."""
    if not one.shape[1]:
        return np.zeros((len(one), len(other)))
    squares = np.square(one).mean(axis=1)[:, np.newaxis] + np.square(other).mean(axis=1)
    found: FloatArray = np.sqrt(np.maximum(squares - 2 * one @ other.T / one.shape[1], 0))
    return found
