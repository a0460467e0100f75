"""What a study comes to: figures worked out by hand."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dse.analysis.analysis import analyse_study
from dse.analysis.findings import TABLE_TAUS, Findings
from dse.analysis.study import Study
from dse.campaign.summary import Summary
from tests.analysis.report_cases import A, B, cell

RESAMPLES = 200


def study(cells: Sequence[Summary], **about: Any) -> Study:
    """A study of finished cells; what is not said of the campaign follows from them."""
    known: dict[str, Any] = {
        "campaign": "test",
        "budget": 1000,
        "cost_model": "maestro",
        "seeds": len({one.seed for one in cells}),
        "searchers": list(dict.fromkeys(one.searcher for one in cells)),
        "problems": list(dict.fromkeys((one.layer, one.accelerator, one.objective) for one in cells)),
    }
    return Study(Path("test"), known | about, tuple(cells))


def seeds(
    searcher: str, losses: Sequence[float], problem: tuple[str, str, str] = A, at: int = 0
) -> list[Summary]:
    """Runs of which each begins at 64 times its final loss and gets there with one sample."""
    found = []
    for seed, loss in enumerate(losses):
        steps = [(0, 64 * loss), (at, loss)] if at else [(0, loss)]
        found.append(cell(searcher, [] if math.isinf(loss) else steps, problem, seed=seed))
    return found


def found(cells: Sequence[Summary], **about: Any) -> Findings:
    """The findings of such a study."""
    return analyse_study(study(cells, **about), RESAMPLES)


OPTIMA = {"net:a on edge, latency": {"status": "optimal", "lower_bound": 1.0, "loss": 1.0}}


# Targets


def test_the_target_is_the_proven_optimum_or_else_the_best_that_is_known() -> None:
    cells = [*seeds("walk", [3.0, 2.0]), *seeds("walk", [8.0, 9.0], B)]
    bounded = {"net:b on edge, latency": {"status": "bounded", "lower_bound": 2.0, "loss": 5.0}}
    assert study(cells, optima=OPTIMA).target(A) == (1.0, True)
    assert study(cells, optima=OPTIMA).target(B) == (8.0, False)
    assert study(cells, optima=bounded).target(B) == (5.0, False)
    assert study(seeds("walk", [math.inf])).target(A) == (math.inf, False)


def test_a_certificate_that_is_beaten_is_no_target() -> None:
    beaten = study(seeds("walk", [0.5]), optima=OPTIMA)
    assert beaten.target(A) == (0.5, False)
    assert beaten.beaten == beaten.summaries


# Figures


def test_the_gap_is_the_interquartile_mean_of_log_ratios_over_problems_and_seeds() -> None:
    # Ratios 2 4 8 16 on one problem and 1 2 2 64 on the other: of 1 2 2 2 4 8 16 64, the middle four are
    # 2 2 4 8, with logs of base two 1 1 2 3.
    cells = [*seeds("walk", [2.0, 4.0, 8.0, 16.0]), *seeds("walk", [3.0, 6.0, 6.0, 192.0], B)]
    gap = found(cells, optima=OPTIMA).gap["walk"]
    assert gap.centre[-1] == pytest.approx(2 ** (7 / 4))
    assert gap.low[-1] < gap.centre[-1] < gap.high[-1]
    assert gap.samples[-1] == 1000


def test_the_gap_is_infinite_until_enough_runs_have_found_something() -> None:
    late = [cell("walk", [(99, 2.0)], seed=seed) for seed in range(4)]
    gap = found(late, optima=OPTIMA).gap["walk"]
    assert (gap.centre[gap.samples < 100] == math.inf).all()
    np.testing.assert_allclose(gap.centre[gap.samples >= 100], 2.0)


def test_final_ratios_are_kept_run_by_run() -> None:
    cells = [*seeds("walk", [2.0, 4.0]), *seeds("grid", [math.inf])]
    ratios = found(cells, optima=OPTIMA).gap_seeds
    assert ratios["walk"].tolist() == [[2, 4]]
    assert ratios["grid"][0, 0] == math.inf
    assert math.isnan(ratios["grid"][0, 1])


def test_curves_of_a_problem_are_medians_over_its_seeds() -> None:
    band = found(seeds("walk", [1.0, 2.0, 9.0], at=499)).convergence[A]["walk"]
    at = dict(zip(band.samples.tolist(), band.centre.tolist(), strict=True))
    assert (at[1], at[500], at[1000]) == (128, 2, 2)


def test_mean_losses_are_medians_over_seeds_at_the_end_of_each_part() -> None:
    cells = [replace(one, mean_losses=[10.0, one.best]) for one in seeds("walk", [1.0, 2.0, 9.0])]
    band = found(cells).mean_losses[A]["walk"]
    assert (band.samples.tolist(), band.centre.tolist()) == ([500, 1000], [10, 2])


def test_profiles_begin_at_the_share_of_runs_that_are_at_the_best_known() -> None:
    profile = found(seeds("walk", [1.0, 1.0, 2.0, math.inf]), optima=OPTIMA).profiles["walk"]
    assert (profile.at[0], profile.centre[0]) == (1, 0.5)
    assert profile.centre[-1] == 0.75


def test_the_ecdf_counts_targets_of_all_problems() -> None:
    # 64 is further than any target, 1 is every target.
    samples, share = found(seeds("walk", [1.0, 1.0], at=499), optima=OPTIMA).ecdf["walk"]
    assert set(share[samples < 500]) == {0}
    assert set(share[samples >= 500]) == {1}


def test_improvement_is_a_mean_over_problems_and_adds_up_to_one() -> None:
    cells = [*seeds("marl", [1.0, 2.0]), *seeds("walk", [2.0, 3.0])]
    cells += [*seeds("marl", [9.0, 9.0], B), *seeds("walk", [8.0, 8.0], B)]
    improvement = found(cells).improvement
    # On the first, three of four pairs are won and one ties; on the second, none.
    assert improvement.probability[0, 1] == (3.5 / 4 + 0) / 2
    assert improvement.probability[1, 0] == 1 - improvement.probability[0, 1]
    assert improvement.low[0, 1] == pytest.approx(1 - improvement.high[1, 0])


def test_wins_ties_and_losses_are_by_median_final_loss() -> None:
    third = ("net:a", "cloud", "latency")
    cells = [*seeds("marl", [1.0, 1.0, 9.0]), *seeds("walk", [2.0, 2.0, 2.0])]
    cells += [*seeds("marl", [5.0, 5.0, 5.0], B), *seeds("walk", [5.0, 5.0, 5.0], B)]
    cells += [*seeds("marl", [math.inf] * 3, third), *seeds("walk", [5.0] * 3, third)]
    (row,) = found(cells).comparisons
    assert (row.reference, row.searcher, row.wins, row.ties, row.losses) == ("marl", "walk", 1, 1, 1)
    assert row.p == row.p_holm == 1


def test_expected_running_times_count_failed_runs() -> None:
    cells = [cell("walk", [(9, 1.0)]), cell("walk", [(0, 4.0)], seed=1), cell("walk", [(0, 1.5)], seed=2)]
    cells.append(cell("walk", [(700, 1.0)], seed=3))
    early, whole = found(cells, optima=OPTIMA).layers
    # After 500 samples the last run has failed so far, too.
    assert early.samples_to[TABLE_TAUS.index(1.0)] == 10 + 500 + 500 + 500
    assert whole.samples_to[TABLE_TAUS.index(1.0)] == (10 + 1000 + 1000 + 701) / 2
    assert whole.samples_to[TABLE_TAUS.index(2.0)] == (10 + 1000 + 1 + 701) / 3


def test_layers_have_their_median_best_and_worst_at_every_budget() -> None:
    rows = {
        row.budget: row for row in found(seeds("walk", [2.0, 3.0, math.inf], at=499), optima=OPTIMA).layers
    }
    assert sorted(rows) == [500, 1000]
    last = rows[1000]
    assert (last.best, last.median, last.worst, last.feasible, last.seeds) == (2, 3, math.inf, 2, 3)
    assert (last.target, last.proven, last.ratio) == (1, True, 3)


def test_no_interval_of_few_seeds_reaches_below_what_is_proven() -> None:
    optima = {"net:a on edge, latency": {"status": "optimal", "lower_bound": 2.0, "loss": 2.0}}
    cells = seeds("walk", [2.0, 9.0, 2.1])
    assert found(cells).layers[-1].low < 1
    proven = found(cells, optima=optima)
    assert proven.layers[-1].low == 2
    assert proven.layers[-1].median == 2.1
    assert proven.convergence[A]["walk"].low.min() == 2


def test_a_bound_that_is_refuted_bounds_no_interval() -> None:
    row = found(seeds("walk", [0.5, 0.6, 0.55]), optima=OPTIMA).layers[-1]
    assert row.low <= row.median == 0.55


def test_the_ledger_adds_up_cells() -> None:
    cells = [replace(one, infeasible={"l2_too_small": 7}, elsewhere=40) for one in seeds("walk", [1.0, 2.0])]
    cells += seeds("walk", [1.0], B)
    (row,) = found(cells).ledger
    assert (row.cells, row.samples, row.elsewhere) == (3, 3000, 80)
    assert row.infeasible == {"l1_too_small": 3, "l2_too_small": 14}
    assert row.searcher_seconds == 1.5


# All of it


def test_findings_repeat_themselves_and_do_not_depend_on_who_else_is_there() -> None:
    rng = np.random.default_rng(0)
    marl, walk, cem = (seeds(name, 1 + rng.lognormal(size=6)) for name in ("marl", "walk", "cem"))
    whole, again = found([*marl, *walk, *cem], optima=OPTIMA), found([*marl, *walk, *cem], optima=OPTIMA)
    assert _same(whole, again)
    alone = found(marl, optima=OPTIMA)
    assert _same(whole.gap["marl"], alone.gap["marl"])
    assert _same(whole.convergence[A]["marl"], alone.convergence[A]["marl"])


def _same(one: object, other: object) -> bool:
    if is_dataclass(one):
        return all(_same(getattr(one, item.name), getattr(other, item.name)) for item in fields(one))
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, np.ndarray | float):
        return bool(np.array_equal(one, other, equal_nan=True))
    return one == other


def test_intervals_over_problems_are_wider_where_problems_differ() -> None:
    small = [1.0 + place / 100 for place in range(6)]
    near = [*seeds("team", small), *seeds("b", [1.3] * 6)]
    far = [*seeds("team", [1 + loss for loss in small], B), *seeds("b", [1.0] * 6, B)]
    findings = found([*near, *far])
    row = findings.standing[0]
    assert row.median.high - row.median.low < 0.05
    assert row.median_over_problems.low < 1.1 < 1.9 < row.median_over_problems.high
    (versus,) = [row for row in findings.versus if row.budget == 1000]
    assert (versus.chance.low, versus.chance.high) == (0.5, 0.5)
    assert (versus.over_problems.low, versus.over_problems.high) == (0.0, 1.0)
    (standing, _) = [row for row in findings.standing if row.budget == 1000]
    assert standing.over_problems.high > standing.ratio.high
    assert (standing.own_seconds, standing.model_seconds) == (0.5, 0.25)


def test_targets_that_no_run_reaches_are_named() -> None:
    cells = [*seeds("team", [1.0, 1.0]), *seeds("b", [3.0, 3.0])]
    row = next(row for row in found(cells).targets if row.tau == 1.5)
    assert row.missed == ()
    assert row.other_missed == (A,)
    assert (row.reached, row.other_reached) == (1, 0)
