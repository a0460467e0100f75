"""Intervals of the studies cover what they say, and verdicts follow from them."""

from __future__ import annotations

import numpy as np
import pytest

from experiments.intervals import (
    Estimate,
    apart,
    at_least,
    at_most,
    mean_of,
    mean_over_groups,
    overall,
    ratio_of_sums,
)

DRAWS = 1000


def covered(estimates: list[Estimate], truth: float) -> float:
    return float(np.mean([one.low <= truth <= one.high for one in estimates]))


@pytest.mark.parametrize("count", [3, 6, 12])
def test_an_interval_of_few_problems_covers_the_mean_in_95_of_100_draws(count: int) -> None:
    rng = np.random.default_rng(count)
    assert 0.935 < covered([mean_of(rng.normal(size=count)) for _ in range(DRAWS)], 0.0) < 0.965
    # A percentile bootstrap, which it replaces, does not: 86 % of 95 with six problems.
    if count == 6:
        values = rng.normal(size=(DRAWS, count))
        picks = rng.integers(count, size=(500, count))
        ends = np.percentile(values[:, picks].mean(axis=2), (2.5, 97.5), axis=1)
        assert np.mean((ends[0] <= 0) & (ends[1] >= 0)) < 0.9


def test_losses_of_problems_that_are_skewed_are_covered_nearly_as_well() -> None:
    rng = np.random.default_rng(5)
    excess = rng.gamma(1.0, size=(2 * DRAWS, 12))
    assert 0.88 < covered([mean_of(row) for row in excess], 1.0) < 0.96


def test_runs_that_share_a_problem_count_once() -> None:
    """Six problems differ, their twenty seeds hardly: taken for independent, they cover a third."""
    rng = np.random.default_rng(1)
    problems = np.repeat(np.arange(6), 20)
    grouped, pooled = [], []
    for _ in range(DRAWS):
        runs = rng.normal(size=6)[problems] + 0.1 * rng.normal(size=120)
        grouped.append(mean_over_groups(list(runs), list(problems)))
        pooled.append(mean_of(runs))
    assert 0.935 < covered(grouped, 0.0) < 0.965
    assert covered(pooled, 0.0) < 0.5
    assert grouped[0].count == 6


def test_runs_that_are_not_paired_and_ratios_of_paired_times_are_covered() -> None:
    rng = np.random.default_rng(2)
    unequal = [apart(rng.normal(1, 1, 5), rng.normal(0, 3, 5)) for _ in range(DRAWS)]
    assert 0.935 < covered(unequal, 1.0) < 0.97
    ratios = []
    for _ in range(DRAWS):
        theirs = rng.normal(10, 2, 8)
        ratios.append(ratio_of_sums(theirs / 2 + rng.normal(0, 0.3, 8), theirs))
    assert 0.93 < covered(ratios, 0.5) < 0.97


def test_a_ratio_of_times_is_of_pairs() -> None:
    theirs = np.array([1.0, 10.0, 100.0])
    assert ratio_of_sums(theirs / 2, theirs) == pytest.approx((0.5, 0.5, 0.5, 3))


def test_two_runs_have_no_interval_and_no_verdict() -> None:
    found = mean_of([1.0, 2.0])
    assert found.shown() == "1.50"
    assert at_least(0, found) == at_most(9, found) == "inconclusive"


@pytest.mark.parametrize(
    ("ends", "more", "less"),
    [
        ((3, 2.5, 4), "borne out", "not borne out"),
        ((1, 0.5, 1.9), "not borne out", "borne out"),
        ((2, 1.5, 2.5), "inconclusive", "inconclusive"),
        ((np.inf, 2.5, np.inf), "inconclusive", "inconclusive"),
    ],
)
def test_a_figure_is_judged_by_its_whole_interval(ends: tuple[float, ...], more: str, less: str) -> None:
    found = Estimate(*ends, 5)
    assert (at_least(2, found), at_most(2, found)) == (more, less)
    assert at_least(2, None) == at_most(2, None) == "inconclusive"


def test_a_claim_of_parts_is_as_good_as_the_worst_of_them() -> None:
    assert overall(["borne out", "borne out"]) == "borne out"
    assert overall(["borne out", "inconclusive"]) == "inconclusive"
    assert overall(["inconclusive", "not borne out"]) == "not borne out"
