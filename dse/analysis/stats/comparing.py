"""Who ends lower: probability of improvement, Wilcoxon's signed-rank test, Holm's correction."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dse.analysis.stats.runtimes import TOLERANCE
from dse.support.arrays import CountArray, FloatArray, IntArray

AT_ONCE = 4_000_000
"""Numbers in memory at a time."""


def order_of(mine: ArrayLike, theirs: ArrayLike) -> NDArray[np.int8]:
    """-1 where `mine` is the lower loss, 1 where it is the higher, 0 where they tie, also both infinite."""
    a, b = np.broadcast_arrays(np.asarray(mine, np.float64), np.asarray(theirs, np.float64))
    # An infinite loss is no tie with a finite one, though it is within any share of itself.
    margin = TOLERANCE * np.minimum(np.abs(a), np.abs(b))
    with np.errstate(invalid="ignore"):
        order: NDArray[np.int8] = np.greater(a, b + margin).astype(np.int8) - np.less(a, b - margin)
    return order


def chances_of_ending_lower(
    mine: FloatArray, theirs: FloatArray, counts: tuple[CountArray, CountArray]
) -> FloatArray:
    """The probability that one of my runs ends lower than one of theirs, ties half, in each resample.

    Both are losses at the end, (runs,); the counts say how often each of mine and of theirs was drawn,
    (resamples, runs). It is the Mann-Whitney U statistic over the number of pairs, which may be a billion:
    no pair is looked at.
    """
    order = np.argsort(theirs, kind="stable")
    # Of theirs, in order: the first that is not lower than mine, and the first that is higher.
    level, higher = (_first(mine, theirs[order], sign) for sign in (0, -1))
    found = []
    for start in range(0, len(counts[0]), step := max(1, AT_ONCE // (len(mine) + len(theirs)))):
        drawn_mine, drawn_theirs = (each[start : start + step] for each in counts)
        below = np.pad(np.cumsum(drawn_theirs[:, order], axis=1), ((0, 0), (1, 0)))
        twice = 2 * below[:, -1:] - below[:, level] - below[:, higher]
        found.append((drawn_mine * twice).sum(axis=1) / 2)
    return np.asarray(np.concatenate(found) / (len(mine) * len(theirs)), np.float64)


def _first(mine: FloatArray, theirs: FloatArray, sign: int) -> IntArray:
    """For each of mine, the first place in ascending `theirs` where `order_of` is at most `sign`."""
    low, high = np.zeros(len(mine), np.int64), np.full(len(mine), len(theirs), np.int64)
    while (searching := low < high).any():
        middle = (low + high) // 2
        reached = order_of(mine, theirs[np.minimum(middle, len(theirs) - 1)]) <= sign
        high = np.where(searching & reached, middle, high)
        low = np.where(searching & ~reached, middle + 1, low)
    return low


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


def holm_corrected(p_values: ArrayLike) -> FloatArray:
    """Holm's step-down correction of p values that are tested together; NaN stays NaN and is not counted."""
    # SciPy corrects for false discoveries alone, and statsmodels would be a dependency for five lines.
    p = np.asarray(p_values, np.float64)
    corrected = np.full(len(p), np.nan)
    tested = np.flatnonzero(np.isfinite(p))
    order = tested[np.argsort(p[tested], kind="stable")]
    factors = len(order) - np.arange(len(order))
    corrected[order] = np.minimum(np.maximum.accumulate(p[order] * factors), 1.0)
    return corrected
