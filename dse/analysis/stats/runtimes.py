"""Fixed-target runtimes: how many samples a run takes to get its loss down to a target.

As in COCO (Hansen et al., "COCO: A Platform for Comparing Continuous Optimizers in a Black-Box
Setting", Optimization Methods and Software, 2021).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from dse.support.arrays import CountArray, FloatArray, IntArray

TOLERANCE = 1e-9
"""Losses that differ by less than this share of themselves are equal: one design priced in another order."""

TAUS = (1.0, *(1 + np.geomspace(0.01, 10, 50)).tolist())
"""The targets of the ECDF, as multiples of the best known loss: exactly that, and 1.01 to 11 times it."""


def runtimes(index: ArrayLike, loss: ArrayLike, targets: ArrayLike) -> FloatArray:
    """Samples until the loss was at or below each target, `inf` where it never was.

    `index` (from 0) and the falling `loss` are a run's improvements.
    """
    aims = np.asarray(targets, np.float64)
    reached = np.searchsorted(-np.asarray(loss, np.float64), -aims * (1 + TOLERANCE), side="left")
    return np.concatenate([np.asarray(index, np.float64) + 1, [np.inf]])[reached]


def expected_running_time(times: FloatArray, budget: int, counts: CountArray | None = None) -> FloatArray:
    """COCO's ERT over the last axis of `times`: all samples spent, in vain too, over the runs that succeeded.

    `inf` where none did. `counts`, broadcast against `times`, says how often each run was drawn.
    """
    weights = np.ones(times.shape[-1]) if counts is None else counts
    spent = (np.minimum(times, budget) * weights).sum(axis=-1)
    successes = (np.isfinite(times) * weights).sum(axis=-1)
    with np.errstate(divide="ignore"):
        return np.asarray(spent / successes, np.float64)


def time_within(times: FloatArray, budget: int, counts: CountArray | None = None) -> FloatArray:
    """`expected_running_time` of runs cut at `budget`: what they reach later counts as not reached."""
    return expected_running_time(np.where(times <= budget, times, np.inf), budget, counts)


def share_reached(times: FloatArray, samples: IntArray) -> FloatArray:
    """The share of all `times` (any shape) that are at most each of `samples`: their ECDF."""
    return np.searchsorted(np.sort(times, axis=None), samples, side="right") / times.size


@dataclass(frozen=True)
class Run:
    """One run's improvements: sample `index` (from 0) brought the loss down to `loss`."""

    index: FloatArray
    loss: FloatArray

    @property
    def final(self) -> float:
        """The lowest loss, `inf` where there is none."""
        return float(self.loss[-1]) if len(self.loss) else np.inf


def times_to(runs: Sequence[Run], targets: ArrayLike) -> FloatArray:
    """`runtimes` of several runs: (targets, runs)."""
    return np.stack([runtimes(run.index, run.loss, targets) for run in runs], axis=-1)
