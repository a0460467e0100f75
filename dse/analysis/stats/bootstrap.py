"""Seeded bootstrap intervals of medians, interquartile means and shares, over runs in strata.

A resample is told by how often it drew each run: `counts`, (resamples, runs). A stratum's runs (those of a
searcher on one problem) are drawn with replacement among themselves, so strata keep their sizes. Intervals
are percentiles of the resampled figure, without interpolation: infinite losses, which stand for runs that
found nothing feasible, pass through as what they are.

The 2.5 % and 97.5 % percentiles of a mean of six cover it 86 times in 100: a resample of n varies less than
n values, by (n - 1) / n, and their own spread is not known. Percentiles further out make up for both (the
expanded percentile interval of Hesterberg, "What Teachers Should Know About the Bootstrap", The American
Statistician 2015): as far out as Student's interval is. A median of fewer than six lies outside of all of
them too often for any percentile; it has Student's interval of the logarithms.
tests/analysis/test_coverage.py shows by simulation what intervals cover.

Such an interval is about these problems. One about problems like them (`Redraw`) draws the problems with
replacement too, and the runs of each problem drawn, so that a problem drawn twice has two resamples of runs.

The interquartile mean over runs of all strata, with such intervals, is what Agarwal et al. recommend for
few runs ("Deep Reinforcement Learning at the Edge of the Statistical Precipice", NeurIPS 2021).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np

from dse.support.arrays import BoolArray, CountArray, FloatArray, IntArray
from dse.support.hashing import digest
from dse.support.jit import load_kernels

TAIL = 0.025
"""What a 95 % confidence interval leaves out at either end."""
LEAST_ORDERED = 6
"""Of so many values the lowest and the highest have the median between them 95 times in 100; not of fewer."""
LEAST_SEEDS = 3
"""Fewer runs of a problem have no interval worth the name."""
TRIMMED = 0.25
"""The share of runs that the interquartile mean leaves out at either end."""

MAX_DRAWS, LEAST_RESAMPLES = 20_000_000, 200
"""Of runs in all resamples: beyond ten thousand runs there are fewer resamples, but never fewer than that."""

Curve = tuple[FloatArray, FloatArray, FloatArray]
"""A figure and the ends of its interval, at each of some points."""


def named_generator(*words: str) -> np.random.Generator:
    """The generator for what `words` name: a figure's interval does not depend on what else is reported."""
    return np.random.Generator(np.random.PCG64(int(digest(list(words)), 16)))


def affordable_resamples(runs: int, resamples: int) -> int:
    """How many of so many resamples are drawn of so many runs: intervals of many are small."""
    return min(resamples, max(LEAST_RESAMPLES, MAX_DRAWS // max(runs, 1)))


def draw_resamples(rng: np.random.Generator, runs: int, resamples: int) -> CountArray:
    """How often each of a stratum's runs is drawn: (resamples, runs), each row summing to `runs`."""
    if not runs:
        return np.zeros((resamples, 0), np.int32)
    return rng.multinomial(runs, np.full(runs, 1 / runs), size=resamples).astype(np.int32)


class Redraw:
    """Resamples of problems, each with a resample of its runs: what is said of problems not seen.

    `problem` and `resample`, both (resamples, problems), say which problem stands at each place and which of
    its stratum's resamples it brings.
    """

    def __init__(self, problems: int, resamples: int) -> None:
        """Draw them; they depend on the two numbers alone."""
        rng = named_generator("problems", str(problems), str(resamples))
        self.problem = rng.integers(problems, size=(resamples, problems))
        self.resample = rng.integers(resamples, size=(resamples, problems))

    def figures(self, draws: FloatArray) -> FloatArray:
        """Figures at the places drawn, (resamples, problems), of each problem's (problems, resamples)."""
        return np.asarray(draws[self.problem, self.resample])

    def counts(self, strata: Sequence[CountArray]) -> CountArray:
        """How often each run is drawn, the strata side by side: (resamples, runs)."""
        found = []
        for place, counts in enumerate(strata):
            rows, slots = np.nonzero(self.problem == place)
            drawn = np.zeros_like(counts)
            np.add.at(drawn, rows, counts[self.resample[rows, slots]])
            found.append(drawn)
        return side_by_side(found)


@cache
def tail_share(drawn: int, groups: int = 1) -> float:
    """The share of resamples beyond either end of a 95 % interval, of so many `drawn` in each of `groups`.

    What is drawn are a problem's runs, or problems: of those there is one group.
    """
    if drawn < 2:
        return TAIL
    # Imported here: it takes as long as all the rest.
    from scipy.special import ndtr, stdtrit

    student = stdtrit(groups * (drawn - 1), 1 - TAIL)
    return float(ndtr(-np.sqrt(drawn / (drawn - 1)) * student))


def confidence_interval(values: FloatArray, drawn: int, groups: int = 1) -> tuple[float, float]:
    """The 95 % confidence interval of a figure's resampled `values`, of so many drawn (see `tail_share`)."""
    beyond = tail_share(drawn, groups)
    low, high = np.quantile(values, (beyond, 1 - beyond), method="inverted_cdf")
    return float(low), float(high)


def interval_over_problems(values: FloatArray, problems: int) -> tuple[float, float]:
    """The interval of a figure of which problems were drawn too; NaN of one, which says nothing of others."""
    return confidence_interval(values, problems) if problems > 1 else (np.nan, np.nan)


def middle_places(counts: CountArray) -> IntArray:
    """The sorted places of each resample's two middle values, (resamples, 2), equal for an odd number.

    Column i of `counts` says how often the i-th smallest value was drawn.
    """
    runs = counts.shape[1]
    drawn = np.cumsum(counts, axis=1)
    return np.stack(
        [np.argmax(drawn > (runs - 1) // 2, axis=1), np.argmax(drawn > runs // 2, axis=1)], axis=1
    )


def median_curve(values: FloatArray, counts: CountArray) -> Curve:
    """Medians over runs, with intervals, of `values` (runs, points); `counts` is of one stratum."""
    ordered = np.sort(values, axis=0)
    if len(ordered) < LEAST_ORDERED:
        centre = _middle(ordered[(len(ordered) - 1) // 2], ordered[len(ordered) // 2])
        return (centre, *_students(ordered, centre))
    beyond = tail_share(len(ordered))
    # A resampled median is a mean of two of the sorted values: few pairs, each drawn so many times.
    pairs, drawn = np.unique(middle_places(counts), axis=0, return_counts=True)
    medians = _middle(ordered[pairs[:, 0]], ordered[pairs[:, 1]])
    places = np.argsort(medians, axis=0, kind="stable")
    share = np.cumsum(drawn[places], axis=0) / len(counts)
    sorted_medians = np.take_along_axis(medians, places, axis=0)
    low, high = (
        np.take_along_axis(sorted_medians, np.argmax(share >= end - 1e-12, axis=0)[None], axis=0)[0]
        for end in (beyond, 1 - beyond)
    )
    return _middle(ordered[(len(ordered) - 1) // 2], ordered[len(ordered) // 2]), low, high


def _students(ordered: FloatArray, centre: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Student's interval of the logarithms of few sorted values (runs, points); none of fewer than three."""
    runs = len(ordered)
    if runs < LEAST_SEEDS:
        return centre, centre
    from scipy.special import stdtrit

    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(ordered)
        half = stdtrit(runs - 1, 1 - TAIL) * logs.std(axis=0, ddof=1) / np.sqrt(runs)
        low, high = np.exp(logs.mean(axis=0) - half), np.exp(logs.mean(axis=0) + half)
    # With a value that is infinite, or none at all, there are no logarithms: the range, and no end above.
    known = np.isfinite(half)
    above = np.where(np.isinf(ordered[-1]), np.inf, ordered[-1])
    alike = ordered[0] == ordered[-1]
    low = np.where(alike, ordered[0], np.where(known, low, ordered[0]))
    return low, np.where(alike, ordered[-1], np.where(known, high, above))


def median_draws(values: FloatArray, counts: CountArray) -> FloatArray:
    """The median of each resample of `values` (runs,); `counts` is of one stratum."""
    order = np.argsort(values, kind="stable")
    middle = values[order][middle_places(counts[:, order])]
    return _middle(middle[:, 0], middle[:, 1])


def interquartile_mean(values: FloatArray) -> FloatArray:
    """The mean over runs without the lowest and the highest quarter of them, of `values` (runs, points).

    A quarter of n runs is n // 4 of them, as in `scipy.stats.trim_mean(values, 0.25)`. `inf` where an
    infinite value is among those left.
    """
    ordered = np.sort(values, axis=0)
    cut = int(TRIMMED * len(ordered))
    with np.errstate(invalid="ignore"):
        return np.asarray(ordered[cut : len(ordered) - cut].mean(axis=0), np.float64)


def interquartile_curve(values: FloatArray, counts: CountArray, groups: int = 1) -> Curve:
    """Interquartile means over runs, with intervals, of `values` (runs, points).

    `counts` has the strata of the runs, `groups` of them, side by side: (resamples, runs).
    """
    by_row, columns = np.ascontiguousarray(counts), np.ascontiguousarray(values.T)
    drawn = len(values) // groups
    ends = [confidence_interval(_resampled_iqm(column, by_row), drawn, groups) for column in columns]
    low, high = np.array(ends).reshape(-1, 2).T
    return interquartile_mean(values), low, high


def resampled_interquartile_means(values: FloatArray, counts: CountArray) -> FloatArray:
    """The interquartile mean of each resample of `values` (runs,); `counts` is as in the curve's."""
    return _resampled_iqm(np.ascontiguousarray(values), np.ascontiguousarray(counts))


def share_curve(holds: BoolArray, counts: CountArray, groups: int = 1) -> Curve:
    """The share of runs, in so many `groups`, for which something `holds` (runs, points), with intervals."""
    shares = counts.astype(np.float64) @ holds / len(holds)
    beyond = tail_share(len(holds) // groups, groups)
    low, high = np.quantile(shares, (beyond, 1 - beyond), axis=0, method="inverted_cdf")
    return holds.mean(axis=0), low, high


def side_by_side(strata: Sequence[CountArray]) -> CountArray:
    """The counts of all strata as those of one pool of runs."""
    return np.concatenate(strata, axis=1)


def _resampled_iqm(values: FloatArray, counts: CountArray) -> FloatArray:
    """The interquartile mean of each resample of `values` (runs,); rows of `counts` lie one after another."""
    order = np.argsort(values, kind="stable")
    means = np.empty(len(counts))
    kernel = load_kernels("dse.analysis.stats.kernels").trimmed_means
    kernel(values, order, counts, int(TRIMMED * len(values)), means)
    return means


def _middle(low: FloatArray, high: FloatArray) -> FloatArray:
    # Half of each, since the sum of two large losses could overflow; equal ones stay exactly as they are.
    middle: FloatArray = np.where(low == high, low, low / 2 + high / 2)
    return middle
