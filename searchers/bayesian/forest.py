"""Random forests by scikit-learn, and posteriors of how their trees differ.

As in SMAC (Hutter, Hoos and Leyton-Brown, LION 5, 2011): the mean of the trees' answers is what is expected,
their variance how uncertain it is. How two points vary together is how the trees do.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestRegressor

from dse.support.arrays import FloatArray

TREES, FEATURES = 30, 5 / 6
"""Trees, and the share of the features that a split looks at: SMAC's, with more trees."""
_LENGTH = 4.0
_LEAST_VARIANCE = 1e-10


class Forest:
    """A figure of designs as a random forest, with the methods of `gaussian.Surrogate`."""

    def __init__(self, width: int, seed: int) -> None:
        """Of `width` features; the trees are drawn by the `seed`."""
        self._seed = seed
        self.lengths: FloatArray = np.full(width, _LENGTH)
        """A forest has no length scales: all features count alike where samples near another are sought."""
        self._model: Any = None

    def fit(self, features: FloatArray, targets: FloatArray, steps: int) -> None:
        """Nothing: there are no hyperparameters to adapt, and `update` learns all anew."""

    def update(self, features: FloatArray, targets: FloatArray) -> None:
        """Learn from data (n, width) and (n,), instead of what was learned before."""
        self._model = RandomForestRegressor(
            TREES, max_features=FEATURES, random_state=self._seed, n_jobs=1
        ).fit(features, targets)

    def at(self, features: FloatArray) -> Answers:
        """What the trees say of n other points."""
        if not len(features):  # scikit-learn refuses to say nothing of nothing
            return Answers(np.empty((TREES, 0)))
        return Answers(np.array([tree.predict(features) for tree in self._model.estimators_]))


class Answers:
    """What trees say of n points, (trees, n): `mean` and `variance`, (n,) each."""

    def __init__(self, answers: FloatArray) -> None:
        self.mean: FloatArray = answers.mean(axis=0)
        self._apart = answers - self.mean
        self.variance: FloatArray = np.maximum(np.square(self._apart).mean(axis=0), _LEAST_VARIANCE)

    def covariance(self) -> FloatArray:
        """Between the points: (n, n)."""
        joint: FloatArray = self._apart.T @ self._apart / len(self._apart)
        return joint
