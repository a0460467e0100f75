"""Sums of terms that what was measured leaves possible: constants of a machine, drawn many times."""

from __future__ import annotations

import numpy as np
from scipy.optimize import nnls

from dse.support.arrays import FloatArray

MEMBERS = 24
SPARSE, USUAL, FACTOR = 0.4, 0.25, 0.3
"""Chance of a term to cost anything, the part of a usual mapping's figure that it then is on average, and the
spread of what is left of the adviser's own figure, in log."""
ERROR = 0.05
"""Of what is measured, relative: what no sum of terms explains."""
PULL = 0.4
"""How far weights may be from what was drawn, in parts of a usual mapping's figure."""
LEAST = 0.2
"""The weight of a sample however bad it is: those near the best count most."""
TINY = 1e-300


class Usual:
    """What the terms of a usual mapping are, as parts of the adviser's own figure, which is the first."""

    def __init__(self, terms: FloatArray) -> None:
        """Of n usual mappings (n, t)."""
        self.parts = np.maximum(np.median(terms / np.maximum(terms[:, :1], TINY), axis=0), 1e-9)

    def expected(self, terms: FloatArray) -> FloatArray:
        """What mappings of these terms (n, t) are expected to cost before anything is measured: (n,)."""
        others: FloatArray = SPARSE * USUAL * (terms[:, 1:] / self.parts[1:]).sum(axis=1)
        return others + terms[:, 0] / 2


class Ensemble:
    """Weights (members, t) of at least 0: each of some that were drawn, as near to them as the samples allow.

    To draw what is expected, and the errors of what was measured, draws from what is possible given both
    (randomised maximum likelihood; Osband et al., "Randomized Prior Functions for Deep Reinforcement
    Learning", NeurIPS 2018).
    """

    def __init__(
        self, usual: Usual, terms: FloatArray, measured: FloatArray, rng: np.random.Generator
    ) -> None:
        """Fit to the terms (n, t) of n samples and what was measured (n,), above 0."""
        count, width = terms.shape
        worth = np.sqrt(np.maximum(measured.min() / measured, LEAST))
        parts = terms / measured[:, np.newaxis]
        ratio = float(np.exp(-np.average(np.log(np.maximum(parts[:, 0], TINY)), weights=worth)))
        scale: FloatArray = usual.parts / ratio
        weights = np.empty((MEMBERS, width))
        for member in range(MEMBERS):
            drawn: FloatArray = np.asarray(rng.exponential(USUAL, width)) * (rng.random(width) < SPARSE)
            drawn[0] = np.exp(FACTOR * rng.standard_normal()) * rng.random()
            error = 1 + ERROR * rng.standard_normal(count) / worth
            rows = np.concatenate([parts / scale * (worth / ERROR)[:, np.newaxis], np.eye(width) / PULL])
            found, _ = nnls(rows, np.concatenate([error * worth / ERROR, drawn / PULL]), maxiter=50 * width)
            weights[member] = found / scale
        self.weights = weights

    def logs(self, terms: FloatArray) -> FloatArray:
        """The log of what each member makes of the terms (n, t): (n, members)."""
        found: FloatArray = np.log(np.maximum(terms @ self.weights.T, TINY))
        return found
