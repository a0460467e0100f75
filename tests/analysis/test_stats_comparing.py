"""Who ends lower: against SciPy, all sign flips written out, and values worked out by hand."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from scipy import stats

from dse.analysis.stats import comparing
from dse.analysis.stats.bootstrap import draw_resamples, named_generator
from dse.analysis.stats.comparing import chances_of_ending_lower, holm_corrected, order_of, signed_rank_p

INF = np.inf


def test_lower_wins_and_last_digits_tie() -> None:
    assert order_of([1.0, 2.0, 3.0], [2.0, 2.0, 2.0]).tolist() == [-1, 0, 1]
    assert order_of([1.0, 1e-9], [1.0 + 1e-12, 1e-9 * (1 + 1e-6)]).tolist() == [0, -1]
    assert order_of([INF, INF, 5.0], [INF, 5.0, INF]).tolist() == [0, 1, -1]


def once(mine: np.ndarray, theirs: np.ndarray) -> float:
    """The probability that a run of mine is lower, of the runs as they are."""
    counts = np.ones((1, len(mine)), np.int64), np.ones((1, len(theirs)), np.int64)
    return float(chances_of_ending_lower(mine, theirs, counts)[0])


def test_the_probability_of_improvement_is_the_mann_whitney_statistic() -> None:
    rng = np.random.default_rng(0)
    mine, theirs = rng.integers(1, 6, 9).astype(float), rng.integers(2, 7, 7).astype(float)
    expected = stats.mannwhitneyu(theirs, mine).statistic / (9 * 7)
    assert once(mine, theirs) == pytest.approx(expected)


def test_improvement_worked_out_by_hand() -> None:
    # 1 beats both, 3 ties with one and beats the other, inf loses to both.
    assert once(np.array([1.0, 3.0, INF]), np.array([4.0, 3.0])) == (2 + 1.5 + 0) / 6
    assert once(np.array([INF, 2.0]), np.array([INF, 2.0 * (1 + 1e-12)])) == (0.5 + 0 + 1 + 0.5) / 4


def test_resampled_improvement_is_that_of_the_resamples_written_out(monkeypatch: pytest.MonkeyPatch) -> None:
    mine, theirs = np.array([5.0, 1.0, 3.0]), np.array([2.0, INF, 3.0, 9.0])
    counts = draw_resamples(named_generator("mine"), 3, 30), draw_resamples(named_generator("theirs"), 4, 30)
    pairs = -order_of(mine[:, None], theirs[None, :]) / 2 + 0.5
    written = [m @ pairs @ t / 12 for m, t in zip(*counts, strict=True)]
    assert chances_of_ending_lower(mine, theirs, counts).tolist() == written
    monkeypatch.setattr(comparing, "AT_ONCE", 50)
    assert chances_of_ending_lower(mine, theirs, counts).tolist() == written


@pytest.mark.parametrize("problems", [1, 5, 8, 12, 25])
def test_without_ties_the_p_value_is_scipys_exact_one(problems: int) -> None:
    differences = np.random.default_rng(problems).normal(0.3, size=problems)
    found = signed_rank_p(np.sign(differences), np.abs(differences))
    assert found == pytest.approx(stats.wilcoxon(differences, method="exact").pvalue)


def test_with_ties_the_p_value_is_that_of_all_sign_flips() -> None:
    order, size = np.array([-1, -1, 1, -1, 0, -1, 1, -1]), np.array([2.0, 2.0, 1.0, 3.0, 0.0, INF, 3.0, 1.0])
    ranks = stats.rankdata(size[order != 0])
    flips = np.array(list(product((0, 1), repeat=7))) @ ranks
    positive = ranks[order[order != 0] > 0].sum()
    expected = 2 * min((flips <= positive).mean(), (flips >= positive).mean())
    assert signed_rank_p(order, size) == pytest.approx(min(expected, 1))


def test_winning_everywhere_on_five_problems_has_a_p_value_of_one_in_sixteen() -> None:
    assert signed_rank_p([-1] * 5, [1.0, 2.0, 3.0, 4.0, INF]) == 2 / 2**5


def test_nothing_can_be_tested_where_all_tie() -> None:
    assert math.isnan(signed_rank_p([0, 0], [0.0, 0.0]))
    assert math.isnan(signed_rank_p([], []))


def test_hundreds_of_problems_are_no_trouble() -> None:
    assert 0 < signed_rank_p([-1] * 180 + [1] * 120, np.arange(300.0)) < 1


def test_holms_correction_worked_out_by_hand() -> None:
    # Sorted 0.01 0.03 0.04: times 3, 2, 1, and never falling.
    assert holm_corrected([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm_corrected([0.5, 0.6]) == pytest.approx([1.0, 1.0])


def test_holms_correction_does_not_count_what_was_not_tested() -> None:
    found = holm_corrected([math.nan, 0.02, 0.03])
    assert math.isnan(found[0])
    assert found[1:] == pytest.approx([0.04, 0.04])
    assert len(holm_corrected([])) == 0
