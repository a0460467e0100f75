"""Whether columns depend on each other, tested for all pairs at once by permutation.

Shuffling each column by itself makes columns that are independent and otherwise as they were. A pair must
exceed what the most extreme of all pairs reaches in such shuffles (Westfall and Young, "Resampling-Based
Multiple Testing", 1993): if all columns are independent, no more than a share `alpha` of such analyses call
even one pair dependent, however many pairs, however uneven the columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from dse.support.arrays import FloatArray, IntArray

SHUFFLES = 999


@dataclass(frozen=True)
class PairTest:
    """A test of every pair of columns.

    `p` (columns, columns) is corrected for the number of pairs and 1 on the diagonal. `extremes` are what
    the most extreme pair reached in each shuffle.
    """

    p: FloatArray
    extremes: FloatArray

    def critical(self, alpha: float = 0.05) -> float:
        """What a pair's statistic must exceed for its p to be below `alpha`."""
        return float(np.quantile(self.extremes, 1 - alpha, method="higher"))


def correlation_test(points: IntArray, rng: np.random.Generator, shuffles: int = SHUFFLES) -> PairTest:
    """Pearson's r, of either sign, of `points` (n, columns); that of a constant column is 0."""
    columns = _standardised(points)
    extremes = np.array([_largest(rng.permuted(columns, axis=0)) for _ in range(shuffles)])
    return PairTest(_corrected(np.abs(columns.T @ columns), extremes), extremes)


def association_test(points: IntArray, rng: np.random.Generator, shuffles: int = SHUFFLES) -> PairTest:
    """Mutual information of `points` (n, columns): dependence of any kind, also of values in no order.

    Pairs differ in how many values they have, so that each counts by how many deviations it is above its own
    mean over the shuffles.
    """
    codes = np.stack([np.unique(column, return_inverse=True)[1] for column in points.T])
    pairs = np.array(list(combinations(range(len(codes)), 2)), np.int64).reshape(-1, 2)
    sizes = codes.max(axis=1, initial=0) + 1
    found = _joint_information(codes, pairs, sizes)
    shuffled = np.array(
        [_joint_information(rng.permuted(codes, axis=1), pairs, sizes) for _ in range(shuffles)]
    )
    mean, deviation = shuffled.mean(axis=0), shuffled.std(axis=0)
    # The information of a pair with a constant column is the same in all shuffles, but for rounding.
    scale = np.where(deviation > 1e-9 * np.maximum(mean, 1.0), deviation, np.inf)
    extremes = ((shuffled - mean) / scale).max(axis=1, initial=0.0)
    matrix = np.zeros((len(codes), len(codes)))
    matrix[pairs[:, 0], pairs[:, 1]] = matrix[pairs[:, 1], pairs[:, 0]] = (found - mean) / scale
    return PairTest(_corrected(matrix, extremes), extremes)


def _standardised(points: IntArray) -> FloatArray:
    """Columns with mean 0 and length 1; 0 where they are constant."""
    centred = points - points.mean(axis=0)
    length = np.sqrt((centred * centred).sum(axis=0))
    varied = np.ptp(points, axis=0) > 0
    return np.where(varied, centred / np.where(varied, length, 1.0), 0.0)


def _largest(columns: FloatArray) -> float:
    products = np.abs(columns.T @ columns)
    np.fill_diagonal(products, 0.0)
    return float(products.max(initial=0.0))


def _joint_information(codes: IntArray, pairs: IntArray, sizes: IntArray) -> FloatArray:
    """The sum of c log c over the counts c of each pair's joint values: (pairs,).

    This is the mutual information times n, but for what no shuffle changes.
    """
    first, second = pairs.T
    cells = sizes[first] * sizes[second]
    starts = np.concatenate([[0], np.cumsum(cells)])
    joint = codes[first] * sizes[second, np.newaxis] + codes[second] + starts[:-1, np.newaxis]
    counts = np.bincount(joint.ravel(), minlength=int(starts[-1])).astype(np.float64)
    terms = counts * np.log(np.maximum(counts, 1.0))
    return np.asarray(np.add.reduceat(terms, starts[:-1]), np.float64)


def _corrected(statistic: FloatArray, extremes: FloatArray) -> FloatArray:
    """For each pair, the share of shuffles (and of the data, once) that reach its statistic anywhere."""
    ordered = np.sort(extremes)
    # Equal but for rounding counts as reached.
    reached = len(ordered) - np.searchsorted(ordered, statistic * (1 - 1e-12) - 1e-12)
    p: FloatArray = (1 + reached) / (1 + len(ordered))
    np.fill_diagonal(p, 1.0)
    return p
