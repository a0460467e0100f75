"""Who ends lower: probability of improvement, Wilcoxon's signed-rank test, Holm's correction."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dse.analysis.stats.runtimes import TOLERANCE
from dse.support.arrays import FloatArray, IntArray


def order_of(mine: ArrayLike, theirs: ArrayLike) -> NDArray[np.int8]:
    """-1 where `mine` is the lower loss, 1 where it is the higher, 0 where they tie, also both infinite."""
    a, b = np.broadcast_arrays(np.asarray(mine, np.float64), np.asarray(theirs, np.float64))
    # An infinite loss is no tie with a finite one, though it is within any share of itself.
    margin = TOLERANCE * np.minimum(np.abs(a), np.abs(b))
    with np.errstate(invalid="ignore"):
        order: NDArray[np.int8] = np.greater(a, b + margin).astype(np.int8) - np.less(a, b - margin)
    return order


def victories(mine: FloatArray, theirs: FloatArray) -> FloatArray:
    """For each pair of my runs and theirs, (mine, theirs): 1 if mine is lower, 0.5 if they tie, else 0.

    Their mean is the probability of improvement: the Mann-Whitney U statistic over the number of pairs.
    """
    return (1.0 - order_of(mine[:, None], theirs[None, :])) / 2


def resampled_improvement(won: FloatArray, mine: IntArray, theirs: IntArray) -> FloatArray:
    """The mean of `victories` in each resample; `mine` and `theirs` count how often each run was drawn."""
    weighed = (mine.astype(np.float64) @ won) * theirs
    return np.asarray(weighed.sum(axis=1) / won.size, np.float64)


def signed_rank_p(order: ArrayLike, size: ArrayLike) -> float:
    """The exact two-sided p value of Wilcoxon's signed-rank test; NaN where all pairs tie.

    `order` is the sign of each pair's difference, `size` its magnitude (`inf` ranks highest). Pairs with
    sign 0 are dropped; equal magnitudes share their mean rank. The distribution is that of the ranks at
    hand with each sign a fair coin, so that ties cost no approximation.
    """
    # SciPy's wilcoxon is exact where nothing ties, or by trying all signs, 2 ** n of them.
    signs, sizes = np.asarray(order), np.asarray(size, np.float64)
    sizes, signs = sizes[signs != 0], signs[signs != 0]
    if not len(signs):
        return float("nan")
    _, place, shared = np.unique(sizes, return_inverse=True, return_counts=True)
    # Twice the mean rank of those that share it: a whole number.
    ranks = (2 * np.cumsum(shared) - shared + 1)[place]
    ways = np.zeros(ranks.sum() + 1)
    ways[0] = 1.0
    for rank in ranks:
        ways[rank:] = (ways[rank:] + ways[:-rank]) / 2
        ways[:rank] /= 2
    positive = int(ranks[signs > 0].sum())
    tail = min(ways[: positive + 1].sum(), ways[positive:].sum())
    return float(min(1.0, 2 * tail))


def holm(p_values: ArrayLike) -> FloatArray:
    """Holm's step-down correction of p values that are tested together; NaN stays NaN and is not counted."""
    # SciPy corrects for false discoveries alone, and statsmodels would be a dependency for five lines.
    p = np.asarray(p_values, np.float64)
    corrected = np.full(len(p), np.nan)
    tested = np.flatnonzero(np.isfinite(p))
    order = tested[np.argsort(p[tested], kind="stable")]
    factors = len(order) - np.arange(len(order))
    corrected[order] = np.minimum(np.maximum.accumulate(p[order] * factors), 1.0)
    return corrected
