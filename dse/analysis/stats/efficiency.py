"""Sample efficiency: how many times fewer samples one searcher needs to reach what another ends with."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dse.analysis.stats.bootstrap import middle_places
from dse.analysis.stats.runtimes import Run, expected_running_time, times_to
from dse.support.arrays import CountArray, FloatArray


def speedup(mine: Sequence[Run], theirs: Sequence[Run], budget: int) -> float:
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
    """`speedup` in each resample, the target taken anew; counts, (resamples, runs), say who was drawn."""
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


def typical(ratios: FloatArray) -> FloatArray:
    """The median of ratios over the last axis (the geometric mean of two middle ones); 0 if one is.

    NaN, where neither of two has reached anything, counts as a draw: 1.
    """
    ordered = np.sort(np.where(np.isnan(ratios), 1.0, ratios), axis=-1)
    count = ordered.shape[-1]
    low, high = ordered[..., (count - 1) // 2], ordered[..., count // 2]
    with np.errstate(invalid="ignore"):
        middle = np.where(low == high, low, np.sqrt(low) * np.sqrt(high))
    return np.asarray(np.where(low == 0, 0.0, middle), np.float64)
