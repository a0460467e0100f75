"""Confidence intervals and verdicts of all studies: one way to compute them, one way to say them.

What is compared is few (three seeds, six or twelve problems), so intervals are Student's: a percentile
bootstrap of six values covers 86 % where it says 95 %. Runs that share something (the seeds of a problem, the
policies of a task) are averaged first, and the interval is over these means, so that a group counts once.
tests/experiments/test_intervals.py shows by simulation what the intervals cover.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from typing import Literal, NamedTuple, Protocol

import numpy as np
from scipy.stats import t, ttest_ind

from dse.support.arrays import FloatArray
from learners.profiling import ratio_of_means

Verdict = Literal["borne out", "not borne out", "inconclusive", "not tested"]
"""`not tested`: what was run is not the setting of the claim, whatever came out there."""

LEAST_RUNS = 3
"""Fewer values have no interval that says anything."""


class Estimate(NamedTuple):
    """A mean of `count` independent values, and the ends of its 95 % confidence interval.

    The ends are infinite where there are fewer than LEAST_RUNS values.
    """

    value: float
    low: float
    high: float
    count: int

    def shown(self, digits: int = 2, scale: float = 1.0) -> str:
        """The mean with its interval, or alone where it has none."""
        mean, low, high = (f"{scale * value:.{digits}f}" for value in self[:3])
        return mean if np.isinf(self.low) else f"{mean} [{low}, {high}]"

    def exp(self) -> Estimate:
        """A geometric mean and its interval, of an estimate of logarithms."""
        return Estimate(*(float(np.exp(value)) for value in self[:3]), self.count)


def mean_of(values: Iterable[float] | FloatArray) -> Estimate:
    """The mean of independent values, with Student's interval."""
    found = np.asarray(list(values), np.float64)
    mean = float(found.mean())
    if len(found) < LEAST_RUNS:
        return Estimate(mean, -np.inf, np.inf, len(found))
    half = float(t.ppf(0.975, len(found) - 1) * found.std(ddof=1) / np.sqrt(len(found)))
    return Estimate(mean, mean - half, mean + half, len(found))


def mean_over_groups(values: Sequence[float], groups: Sequence[Hashable]) -> Estimate:
    """The mean of the groups' means: what holds for groups like these. `count` is of groups."""
    by_group: dict[Hashable, list[float]] = {}
    for value, group in zip(values, groups, strict=True):
        by_group.setdefault(group, []).append(value)
    return mean_of([float(np.mean(found)) for found in by_group.values()])


def apart(ours: FloatArray, theirs: FloatArray) -> Estimate:
    """The difference of the means of runs that are not paired, with Welch's interval; `count` of fewer."""
    difference, fewer = float(ours.mean() - theirs.mean()), min(len(ours), len(theirs))
    if fewer < LEAST_RUNS:
        return Estimate(difference, -np.inf, np.inf, fewer)
    ends = ttest_ind(ours, theirs, equal_var=False).confidence_interval()
    return Estimate(difference, float(ends.low), float(ends.high), fewer)


def ratio_of_sums(ours: FloatArray, theirs: FloatArray) -> Estimate:
    """The sum of `ours` over that of `theirs`, paired, with the interval of the delta method."""
    return Estimate(*ratio_of_means(ours, theirs), len(ours))


class Ends(Protocol):
    """A figure with its confidence interval."""

    @property
    def value(self) -> float: ...
    @property
    def low(self) -> float: ...
    @property
    def high(self) -> float: ...


def at_least(claimed: float, found: Ends | None) -> Verdict:
    """Of a claim that a figure is `claimed` or more."""
    if found is None or not math.isfinite(found.value):
        return "inconclusive"
    if found.low >= claimed:
        return "borne out"
    return "not borne out" if found.high < claimed else "inconclusive"


def at_most(claimed: float, found: Ends | None) -> Verdict:
    """Of a claim that a figure is `claimed` or less."""
    if found is None or not math.isfinite(found.value):
        return "inconclusive"
    if found.high <= claimed:
        return "borne out"
    return "not borne out" if found.low > claimed else "inconclusive"


def overall(verdicts: Sequence[Verdict]) -> Verdict:
    """Of a claim with parts: borne out if all are, not borne out if one is not."""
    if all(verdict == "borne out" for verdict in verdicts):
        return "borne out"
    return "not borne out" if "not borne out" in verdicts else "inconclusive"
