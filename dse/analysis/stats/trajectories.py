"""Best-so-far curves, read at chosen numbers of samples from the steps at which a run improved."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from dse.support.arrays import FloatArray, IntArray

GRID_POINTS = 120


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
