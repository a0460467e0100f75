"""Curves and their bootstrap intervals, against brute force, SciPy and values worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from dse.analysis.stats.bootstrap import (
    Redraw,
    confidence_interval,
    draw_resamples,
    interquartile_curve,
    interquartile_mean,
    median_curve,
    named_generator,
    share_curve,
    side_by_side,
    tail_share,
)
from dse.analysis.stats.runtimes import best_so_far, part_ends, sample_grid

INF = np.inf


def losses(runs: int, points: int = 3, barren: int = 0) -> np.ndarray:
    """Losses of some runs, (runs, points), the last `barren` of which have found nothing feasible."""
    values = np.random.default_rng(runs).lognormal(size=(runs, points))
    values[runs - barren :] = INF
    return values


def drawn(values: np.ndarray, counts: np.ndarray) -> list[np.ndarray]:
    """Each resample written out: every run as often as it was drawn."""
    return [np.repeat(values, row, axis=0) for row in counts]


# Curves


def test_the_best_so_far_is_the_running_minimum() -> None:
    run = np.random.default_rng(3).lognormal(size=200)
    run[:5] = INF
    running = np.minimum.accumulate(run)
    better = np.flatnonzero(run < np.concatenate([[INF], running[:-1]]))
    samples = np.arange(1, 201)
    np.testing.assert_array_equal(best_so_far(better, run[better], samples), running)


def test_nothing_is_best_before_the_first_feasible_sample_and_in_a_run_without_one() -> None:
    assert best_so_far([9], [4.0], [9, 10]).tolist() == [INF, 4.0]
    assert best_so_far([], [], [1, 100]).tolist() == [INF, INF]


@pytest.mark.parametrize("budget", [1, 2, 7, 100, 20_000])
def test_the_grid_rises_from_one_sample_to_the_budget(budget: int) -> None:
    grid = sample_grid(budget)
    assert (grid[0], grid[-1]) == (1, budget)
    assert (np.diff(grid) > 0).all()
    assert len(grid) <= 200


@pytest.mark.parametrize("samples", [100, 101, 199, 1234])
def test_the_parts_of_a_run_end_where_numpy_splits_it(samples: int) -> None:
    parts = np.array_split(np.arange(samples), 100)
    assert part_ends(samples, 100).tolist() == [part[-1] + 1 for part in parts]


# Resamples


def test_resamples_depend_on_what_is_named_and_on_nothing_else() -> None:
    np.random.seed(1)  # noqa: NPY002
    one = draw_resamples(named_generator("gap", "marl"), 10, 50)
    np.random.seed(2)  # noqa: NPY002
    assert (one == draw_resamples(named_generator("gap", "marl"), 10, 50)).all()
    assert (one != draw_resamples(named_generator("gap", "ppo"), 10, 50)).any()
    assert (one.sum(axis=1) == 10).all()


def test_an_interval_of_many_holds_95_percent_and_does_not_interpolate() -> None:
    assert confidence_interval(np.arange(1.0, 1001.0), 1_000_000) == (25.0, 976.0)
    assert confidence_interval(np.array([1.0] * 900 + [INF] * 100), 10_000) == (1.0, INF)


def test_an_interval_of_few_is_as_much_wider_as_students_is() -> None:
    # Resamples of six normal values have 5 / 6 of their variance, of three 2 / 3.
    normal = stats.norm.ppf((np.arange(100_000) + 0.5) / 100_000)
    six, three = normal * np.sqrt(5 / 6), normal * np.sqrt(2 / 3)
    assert confidence_interval(six, 6)[1] == pytest.approx(stats.t.ppf(0.975, 5), rel=1e-3)
    assert confidence_interval(three, 3, groups=2)[1] == pytest.approx(stats.t.ppf(0.975, 4), rel=1e-3)


def test_what_is_drawn_of_one_is_itself() -> None:
    assert confidence_interval(np.full(100, 3.0), 1) == (3.0, 3.0)


# Medians


@pytest.mark.parametrize("runs", [6, 7, 10])
@pytest.mark.parametrize("barren", [0, 1])
def test_medians_and_their_intervals_are_those_of_the_resamples_written_out(runs: int, barren: int) -> None:
    values = losses(runs, barren=barren)
    counts = draw_resamples(named_generator("medians", str(runs)), runs, 400)
    centre, low, high = median_curve(values, counts)
    np.testing.assert_allclose(centre, np.median(values, axis=0))
    # Which column is which run makes no difference to a median: columns count the sorted values.
    medians = np.array([np.median(sample, axis=0) for sample in drawn(np.sort(values, axis=0), counts)])
    beyond = tail_share(runs)
    np.testing.assert_allclose(low, np.quantile(medians, beyond, axis=0, method="inverted_cdf"))
    np.testing.assert_allclose(high, np.quantile(medians, 1 - beyond, axis=0, method="inverted_cdf"))


def test_a_median_of_nine_seeds_has_the_interval_that_the_binomial_gives_it() -> None:
    # A resample's median is the lowest of nine with 0.0017 only, and the second lowest or it with 0.036.
    assert stats.binom.sf(4, 9, 1 / 9) < tail_share(9) < stats.binom.sf(4, 9, 2 / 9)
    centre, low, high = median_curve(
        np.arange(1.0, 10.0)[:, None], draw_resamples(named_generator("nine"), 9, 20_000)
    )
    assert (centre[0], low[0], high[0]) == (5, 2, 8)


def test_a_median_of_few_seeds_has_students_interval_of_logarithms() -> None:
    values = np.array([[1.0], [4.0], [2.0]])
    centre, low, high = median_curve(values, draw_resamples(named_generator("three"), 3, 400))
    theirs = stats.ttest_1samp(np.log(values[:, 0]), 0).confidence_interval()
    assert centre[0] == 2
    np.testing.assert_allclose((low[0], high[0]), np.exp((theirs.low, theirs.high)))


@pytest.mark.parametrize(
    ("values", "ends"),
    [
        ([1.0], (1, 1)),
        ([1.0, 2.0], (1.5, 1.5)),
        ([2.0, 2.0, 2.0], (2, 2)),
        ([1.0, 2.0, INF], (1, INF)),
        ([0.0, 1.0, 2.0], (0, 2)),
        ([INF, INF, INF], (INF, INF)),
    ],
)
def test_seeds_without_an_interval(values: list[float], ends: tuple[float, float]) -> None:
    column = np.array(values)[:, None]
    _, low, high = median_curve(column, draw_resamples(named_generator("few"), len(values), 100))
    assert (low[0], high[0]) == ends


def test_half_of_the_runs_without_anything_feasible_make_the_median_infinite() -> None:
    counts = draw_resamples(named_generator("half"), 4, 100)
    assert median_curve(np.array([[1.0], [2.0], [INF], [INF]]), counts)[0][0] == INF
    assert median_curve(np.array([[1.0], [2.0], [4.0], [INF]]), counts)[0][0] == 3


# Interquartile means


@pytest.mark.parametrize("runs", range(1, 14))
def test_the_interquartile_mean_is_scipys_trimmed_mean(runs: int) -> None:
    values = losses(runs)
    np.testing.assert_allclose(interquartile_mean(values), stats.trim_mean(values, 0.25))


def test_a_quarter_of_the_runs_may_be_infeasible_and_no_more() -> None:
    two, three = ([[float(value)] for value in range(runs)] + [[INF]] * (8 - runs) for runs in (6, 5))
    # Of 0 1 2 3 4 5 inf inf, the middle four are 2 3 4 5.
    assert interquartile_mean(np.array(two))[0] == 3.5
    assert interquartile_mean(np.array(three))[0] == INF


@pytest.mark.parametrize("runs", [1, 3, 4, 8, 11])
@pytest.mark.parametrize("barren", [0, 1, 2])
def test_interquartile_intervals_are_those_of_the_resamples_written_out(runs: int, barren: int) -> None:
    values = losses(runs, barren=min(barren, runs))
    counts = draw_resamples(named_generator("means", str(runs)), runs, 300)
    centre, low, high = interquartile_curve(values, counts)
    means = np.array([interquartile_mean(sample) for sample in drawn(values, counts)])
    np.testing.assert_array_equal(centre, interquartile_mean(values))
    beyond = tail_share(runs)
    np.testing.assert_allclose(low, np.quantile(means, beyond, axis=0, method="inverted_cdf"))
    np.testing.assert_allclose(high, np.quantile(means, 1 - beyond, axis=0, method="inverted_cdf"))


def test_the_interval_agrees_with_scipys_bootstrap() -> None:
    values = losses(24, points=1)
    _, low, high = interquartile_curve(values, draw_resamples(named_generator("scipy"), 24, 20_000))
    theirs = stats.bootstrap(
        (values[:, 0],), lambda x, axis: stats.trim_mean(x, 0.25, axis=axis), n_resamples=20_000,
        method="percentile", rng=np.random.default_rng(0), confidence_level=1 - 2 * tail_share(24),
    ).confidence_interval  # fmt: skip
    width = theirs.high - theirs.low
    assert low[0] == pytest.approx(theirs.low, abs=0.05 * width)
    assert high[0] == pytest.approx(theirs.high, abs=0.05 * width)


def test_runs_are_drawn_within_their_problem_only() -> None:
    # Every run of the easy problem ends at 0 and of the hard one at 1: which seeds are drawn changes nothing.
    values = np.array([[0.0]] * 5 + [[1.0]] * 5)
    strata = side_by_side([draw_resamples(named_generator(name), 5, 200) for name in ("easy", "hard")])
    assert [float(part[0]) for part in interquartile_curve(values, strata)] == [0.5, 0.5, 0.5]
    pooled = draw_resamples(named_generator("pooled"), 10, 200)
    _, low, high = interquartile_curve(values, pooled)
    assert low[0] < 0.5 < high[0]


# Shares


def test_shares_and_their_intervals() -> None:
    holds = np.array([[True, False], [True, True], [True, False], [True, False]])
    centre, low, high = share_curve(holds, draw_resamples(named_generator("share"), 4, 4000))
    assert centre.tolist() == [1, 0.25]
    # Resampled, one in four is drawn k times of four: none with 0.32, three or more with 0.051, four with
    # 0.0039.
    assert tail_share(4) < 1 / 256
    assert (low.tolist(), high.tolist()) == ([1, 0], [1, 1])


# Problems drawn too


def test_problems_are_drawn_with_the_runs_of_each() -> None:
    counts = [draw_resamples(named_generator("a"), 4, 300), draw_resamples(named_generator("b"), 6, 300)]
    redraw = Redraw(2, 300)
    drawn = redraw.counts(counts)
    places = (redraw.problem == 0).sum(axis=1)
    assert drawn.shape == (300, 10)
    assert np.array_equal(drawn[:, :4].sum(axis=1), 4 * places)
    assert np.array_equal(drawn[:, 4:].sum(axis=1), 6 * (2 - places))
    assert {0, 1, 2} == set(places)


def test_figures_of_problems_that_differ_vary_as_problems_do() -> None:
    draws = np.repeat([[1.0], [2.0], [6.0]], 4000, axis=1)
    means = Redraw(3, 4000).figures(draws).mean(axis=1)
    by_hand = np.mean([[a, b, c] for a in (1, 2, 6) for b in (1, 2, 6) for c in (1, 2, 6)], axis=1)
    assert np.mean(means) == pytest.approx(by_hand.mean(), rel=0.03)
    assert np.std(means) == pytest.approx(by_hand.std(), rel=0.05)


def test_a_problem_drawn_twice_brings_two_resamples_of_its_runs() -> None:
    draws = np.arange(5000.0)[None]
    pairs = Redraw(2, 5000).figures(np.concatenate([draws, draws]))
    assert (pairs[:, 0] == pairs[:, 1]).mean() < 0.01
