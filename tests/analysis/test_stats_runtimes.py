"""Fixed-target runtimes and sample efficiency, worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from dse.analysis.stats.bootstrap import draw_resamples, named_generator
from dse.analysis.stats.runtimes import (
    Run,
    expected_running_time,
    resampled_speedup,
    runtime_speedup,
    samples_to_targets,
    share_reached,
    times_to,
    typical_ratio,
)

INF = np.inf
BUDGET = 100


def run(*steps: tuple[int, float]) -> Run:
    """A run that improved with these samples (counted from 1) to these losses."""
    return Run(np.array([sample - 1.0 for sample, _ in steps]), np.array([loss for _, loss in steps]))


def reaching(loss: float, *samples: int) -> list[Run]:
    """Runs that begin at a loss of 100 and get to `loss` with these samples."""
    return [run((1, 100.0), (sample, loss)) for sample in samples]


# Runtimes


def test_a_runtime_is_the_sample_that_first_brings_the_loss_to_the_target() -> None:
    one = run((1, 10.0), (5, 5.0), (100, 1.0))
    times = samples_to_targets(one.index, one.loss, [11.0, 10.0, 7.0, 5.0, 1.0, 0.5, INF])
    assert times.tolist() == [1, 1, 5, 5, 100, INF, 1]


def test_nothing_is_reached_without_a_feasible_sample() -> None:
    assert samples_to_targets([], [], [1.0, INF]).tolist() == [INF, INF]
    assert run().final == INF


def test_a_loss_that_differs_in_its_last_digits_only_reaches_the_target() -> None:
    assert samples_to_targets([6.0], [1.0 + 1e-12], [1.0]).tolist() == [7]
    assert samples_to_targets([6.0], [1.0 + 1e-6], [1.0]).tolist() == [INF]


def test_several_runs_make_a_row_a_target() -> None:
    times = times_to(reaching(5.0, 20, 40), [100.0, 5.0])
    assert times.tolist() == [[1, 1], [20, 40]]


def test_the_expected_running_time_counts_what_failed_runs_have_spent() -> None:
    times = np.array([[10.0, 30.0, INF], [10.0, 20.0, 30.0], [INF, INF, INF]])
    # Two successes: (10 + 30 + 100) / 2; three: 60 / 3; none.
    assert expected_running_time(times, BUDGET).tolist() == [70, 20, INF]
    counts = np.array([[2, 0, 1], [0, 0, 3]])
    assert expected_running_time(times[0], BUDGET, counts).tolist() == [60, INF]


def test_the_ecdf_is_the_share_of_runtimes_up_to_a_sample() -> None:
    times = np.array([[1.0, 10.0], [10.0, INF]])
    assert share_reached(times, np.array([1, 9, 10, 1000])).tolist() == [0.25, 0.25, 0.75, 0.75]


# Sample efficiency


def test_a_speedup_is_a_ratio_of_expected_running_times_to_the_others_median_final_loss() -> None:
    # Theirs: (80 + 40) / 2 = 60; mine: (20 + 40) / 2 = 30.
    assert runtime_speedup(reaching(4.0, 20, 40), reaching(5.0, 80, 40), BUDGET) == 2
    # Mine, one failing: (20 + 100) / 1 = 120.
    mine = [*reaching(4.0, 20), run((1, 100.0))]
    assert runtime_speedup(mine, reaching(5.0, 80, 40), BUDGET) == 0.5


def test_what_no_run_of_mine_reaches_is_never_reached() -> None:
    assert runtime_speedup(reaching(6.0, 2, 2), reaching(5.0, 80, 40), BUDGET) == 0


def test_the_same_runs_need_the_same_samples() -> None:
    runs = [run((1, 9.0), (20, 5.0)), run((3, 7.0)), run((50, 4.0)), run((9, 6.0), (90, 1.0))]
    assert runtime_speedup(runs, runs, BUDGET) == 1


def test_samples_spent_after_the_last_improvement_are_nobodys_gain() -> None:
    # They were there after 10 of 100 samples and stayed; mine needs 20: not 5 times fewer but twice as many.
    assert runtime_speedup(reaching(5.0, 20, 20), reaching(5.0, 10, 10), BUDGET) == 0.5


def test_where_half_of_theirs_are_infeasible_the_target_is_anything_feasible() -> None:
    theirs = [run((40, 5.0)), run(), run()]
    # Theirs: (40 + 100 + 100) / 1; mine: 4.
    assert runtime_speedup([run((4, 90.0))], theirs, BUDGET) == 60
    assert runtime_speedup([run((4, 90.0))], [run(), run()], BUDGET) == INF
    assert np.isnan(runtime_speedup([run()], [run()], BUDGET))


@pytest.mark.parametrize("seeds", [3, 4])
def test_resampled_speedups_are_those_of_the_resamples_written_out(seeds: int) -> None:
    rng = np.random.default_rng(seeds)
    mine, theirs = (
        [run((1, 50.0 + rng.random()), (int(rng.integers(2, 100)), end + rng.random())) for _ in range(seeds)]
        for end in (4.5, 5.0)
    )
    counts = [draw_resamples(named_generator(name), seeds, 40) for name in ("mine", "theirs")]
    found = resampled_speedup(mine, theirs, BUDGET, *counts)
    for mine_drawn, theirs_drawn, value in zip(*counts, found, strict=True):
        written = [
            [one for one, times in zip(runs, drawn, strict=True) for _ in range(times)]
            for runs, drawn in ((mine, mine_drawn), (theirs, theirs_drawn))
        ]
        assert value == pytest.approx(runtime_speedup(*written, BUDGET))


def test_a_typical_ratio_is_a_median_in_which_never_counts_as_zero() -> None:
    assert typical_ratio(np.array([9.0, 0.0, 3.0])) == 3
    assert typical_ratio(np.array([1.0, 4.0])) == 2
    assert typical_ratio(np.array([0.0, 4.0])) == 0
    assert typical_ratio(np.array([0.0, INF])) == 0
    assert typical_ratio(np.array([2.0, INF, INF])) == INF
    assert typical_ratio(np.array([[np.nan, 1.0, 7.0], [0.0, 0.0, 5.0]])).tolist() == [1, 0]
