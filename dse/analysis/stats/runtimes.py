"""Fixed-target runtimes: how many samples a run takes to get its loss down to a target.

As in COCO (Hansen et al., "COCO: A Platform for Comparing Continuous Optimizers in a Black-Box
Setting", Optimization Methods and Software, 2021).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from dse.analysis.stats.bootstrap import middle_places
from dse.support.arrays import CountArray, FloatArray, IntArray

TOLERANCE = 1e-9
"""Losses that differ by less than this share of themselves are equal: one design priced in another order."""

TAUS = (1.0, *(1 + np.geomspace(0.01, 10, 50)).tolist())
"""The targets of the ECDF, as multiples of the best known loss: exactly that, and 1.01 to 11 times it."""
GRID_POINTS = 120


def samples_to_targets(index: ArrayLike, loss: ArrayLike, targets: ArrayLike) -> FloatArray:
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
    """`samples_to_targets` of several runs: (targets, runs)."""
    return np.stack([samples_to_targets(run.index, run.loss, targets) for run in runs], axis=-1)


def sample_grid(budget: int) -> IntArray:
    """Up to GRID_POINTS numbers of samples, about evenly spaced on a log axis, from 1 to the budget."""
    return np.unique(np.rint(np.geomspace(1, budget, GRID_POINTS)).astype(np.int64))


def best_so_far(index: ArrayLike, loss: ArrayLike, samples: ArrayLike) -> FloatArray:
    """The lowest loss after so many `samples`, from a run's improvements; `inf` before the first.

    Improvement i came with sample `index[i]`, counted from 0, and brought the loss down to `loss[i]`.
    """
    before = np.searchsorted(np.asarray(index, np.int64), np.asarray(samples), side="left")
    return np.concatenate([[np.inf], np.asarray(loss, np.float64)])[before]


def part_ends(samples: int, parts: int) -> IntArray:
    """Where the parts end that `numpy.array_split` makes of so many samples."""
    sizes = np.full(parts, samples // parts, np.int64)
    sizes[: samples % parts] += 1
    return np.cumsum(sizes)


def runtime_speedup(mine: Sequence[Run], theirs: Sequence[Run], budget: int) -> float:
    """Their expected running time to the median of their final losses, over mine to the same.

    0 where no run of mine gets there. Where half of theirs or more have found nothing feasible, the target
    is anything feasible; NaN where neither has found that. Both sides are measured alike, so that two
    searchers of the same distribution are at 1 but for chance. (The budget that they were given would be a
    wrong measure of theirs: they may have been where they ended long before.)
    """
    every = [np.ones((1, len(runs)), np.int32) for runs in (mine, theirs)]
    return float(resampled_speedup(mine, theirs, budget, every[0], every[1])[0])


def resampled_speedup(
    mine: Sequence[Run], theirs: Sequence[Run], budget: int, my_counts: CountArray, their_counts: CountArray
) -> FloatArray:
    """`runtime_speedup` in each resample, the target taken anew; counts,
    (resamples, runs), say who was drawn."""
    final = np.array([run.final for run in theirs])
    order = np.argsort(final, kind="stable")
    # The target is one of few: the middle of two final losses.
    places, which = np.unique(middle_places(their_counts[:, order]), axis=0, return_inverse=True)
    ends = final[order][places]
    targets = np.where(ends[:, 0] == ends[:, 1], ends[:, 0], ends.sum(axis=1) / 2)
    my_time, their_time = (
        expected_running_time(times_to(runs, targets)[which.ravel()], budget, counts)
        for runs, counts in ((mine, my_counts), (theirs, their_counts))
    )
    with np.errstate(invalid="ignore"):
        return np.asarray(their_time / my_time, np.float64)


def typical_ratio(ratios: FloatArray) -> FloatArray:
    """The median of ratios over the last axis (the geometric mean of two middle ones); 0 if one is.

    NaN, where neither of two has reached anything, counts as a draw: 1.
    """
    ordered = np.sort(np.where(np.isnan(ratios), 1.0, ratios), axis=-1)
    count = ordered.shape[-1]
    low, high = ordered[..., (count - 1) // 2], ordered[..., count // 2]
    with np.errstate(invalid="ignore"):
        middle = np.where(low == high, low, np.sqrt(low) * np.sqrt(high))
    return np.asarray(np.where(low == 0, 0.0, middle), np.float64)
