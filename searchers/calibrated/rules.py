"""Which rules a judge may have for what it refuses, given what it refused and what it ran."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from dse.support.arrays import BoolArray, FloatArray

MOST, KEPT = 3, 300
"""Rules that are looked for together, and sets of them that are kept: the likeliest."""
UNEXPLAINED = 1e-3
"""Chance of a refusal that none of the rules says."""


class Rules:
    """Sets of traits that a judge may refuse, as likely as they are by its answers."""

    def __init__(self, shown: BoolArray, refused: BoolArray, chances: FloatArray) -> None:
        """Of the traits (n, t) of n samples; a judge refuses a trait always, or never."""
        live = ~shown[~refused].any(axis=0)
        self._live = np.flatnonzero(live & (chances > 0))
        odds = np.log(chances[self._live] / (1 - chances[self._live]))
        seen = shown[refused][:, self._live]
        suspects = np.flatnonzero(seen.any(axis=0))
        # What no refusal has is independent of all that is known: its chance stays.
        self._others = np.setdiff1d(np.arange(len(self._live)), suspects)
        self._prior = np.log1p(-chances[self._live[self._others]])
        self._suspects = suspects
        sets = [each for size in range(MOST + 1) for each in combinations(range(len(suspects)), size)]
        member = np.zeros((len(sets), len(suspects)), np.bool_)
        for place, each in enumerate(sets):
            member[place, list(each)] = True
        explained = (member.astype(np.float32) @ seen[:, suspects].T.astype(np.float32)) > 0
        weights = member @ odds[suspects] + (~explained).sum(axis=1) * np.log(UNEXPLAINED)
        best = np.argsort(-weights, kind="stable")[:KEPT]
        self._member = member[best].astype(np.float64)
        weights = np.exp(weights[best] - weights[best[0]])
        self._weights = weights / weights.sum()

    def log_chance(self, shown: BoolArray) -> FloatArray:
        """The log of the chance that the judge runs points of these traits (m, t): (m,)."""
        live = shown[:, self._live].astype(np.float64)
        broken = (live[:, self._suspects] @ self._member.T) > 0
        runs = np.maximum(~broken @ self._weights, UNEXPLAINED)
        found: FloatArray = np.log(runs) + live[:, self._others] @ self._prior
        return found
