"""What a study comes to: figures worked out by hand, and what is said where the evidence is thin."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dse.analysis.findings import Findings, find
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
    return find(study(cells, **about), RESAMPLES)


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
    assert find(beaten, RESAMPLES).warnings[0].startswith("CERTIFICATE BEATEN")


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
    cells = [replace(one, returns=[10.0, one.best]) for one in seeds("walk", [1.0, 2.0, 9.0])]
    band = found(cells).returns[A]["walk"]
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
    at = {row.tau: row for row in found(cells, optima=OPTIMA).runtimes}
    assert (at[1.0].successes, at[1.0].expected) == (1, 10 + 1000 + 1000)
    assert (at[2.0].successes, at[2.0].expected, at[2.0].median) == (2, (10 + 1000 + 1) / 2, 10)


def test_layers_have_their_median_best_and_worst_at_every_budget() -> None:
    rows = {
        row.budget: row for row in found(seeds("walk", [2.0, 3.0, math.inf], at=499), optima=OPTIMA).layers
    }
    assert sorted(rows) == [500, 1000]
    last = rows[1000]
    assert (last.best, last.median, last.worst, last.feasible, last.seeds) == (2, 3, math.inf, 2, 3)
    assert (last.target, last.proven, last.ratio) == (1, True, 3)


def test_the_ledger_adds_up_cells() -> None:
    cells = [replace(one, infeasible={"l2_too_small": 7}, elsewhere=40) for one in seeds("walk", [1.0, 2.0])]
    cells += seeds("walk", [1.0], B)
    (row,) = found(cells).ledger
    assert (row.cells, row.samples, row.elsewhere) == (3, 3000, 80)
    assert row.infeasible == {"l1_too_small": 3, "l2_too_small": 14}
    assert row.searcher_seconds == 1.5


# Sample efficiency in words


def test_efficiency_is_told_in_both_directions() -> None:
    cells = [*seeds("marl", [1.0] * 6, at=9), *seeds("ppo", [2.0] * 6, at=399)]
    there, back = found(cells).efficiency
    assert (there.ratio.value, there.censored) == (40, False)
    assert there.sentence == "marl needs 40x fewer samples than ppo to reach ppo's final figure"
    assert (back.ratio, back.censored, back.reached) == (None, True, 0)
    assert back.sentence == (
        "ppo does not reach marl's final figure: no run of ppo reaches it on the problem (censored)"
    )


def test_an_efficiency_that_may_be_chance_says_so() -> None:
    cells = [cell("marl", [(sample, 1.0)], seed=seed) for seed, sample in enumerate([9, 90, 900])]
    cells += [cell("ppo", [(sample, 1.0)], seed=seed) for seed, sample in enumerate([99, 100, 400])]
    there, back = found(cells).efficiency
    assert there.ratio.low < 1 < there.ratio.high
    assert "marl needs 1.7x more samples than ppo" in there.sentence
    assert there.sentence.endswith("], an interval that includes 1")
    assert "ppo needs 1.7x fewer samples than marl" in back.sentence


def test_a_problem_that_is_never_reached_is_counted_and_told() -> None:
    third = ("net:a", "cloud", "latency")
    cells = [*seeds("marl", [1.0] * 5), *seeds("ppo", [2.0] * 5, at=99)]
    cells += [*seeds("marl", [1.0] * 5, B), *seeds("ppo", [2.0] * 5, B, at=99)]
    cells += [*seeds("marl", [9.0] * 5, third), *seeds("ppo", [2.0] * 5, third)]
    there = found(cells).efficiency[0]
    assert (there.ratio.value, there.reached, there.problems, there.censored) == (100, 2, 3, True)
    assert there.sentence.endswith("; no run of marl reaches it on 1 of 3 problems")


def test_who_finds_anything_is_beyond_compare_with_who_finds_nothing() -> None:
    there, back = found([*seeds("marl", [1.0] * 3), *seeds("ppo", [math.inf] * 3)]).efficiency
    assert there.sentence == "marl finds feasible mappings where ppo finds none"
    assert back.ratio is None


# The headline and the warnings


def test_the_headline_names_the_nearest_and_the_reference() -> None:
    cells = [*seeds("cem", [1.01, 1.02, 1.03]), *seeds("marl", [2.0, 2.0, 2.0], at=9)]
    cells += seeds("ppo", [4.0, 4.0, 4.0], at=99)
    assert found(cells, optima=OPTIMA).headline == (
        "cem ends nearest to the proven optimum: 1.020 times it [1.010, 1.030] over 1 problem; marl ends at "
        "2.000 times it; marl needs 10x fewer samples than ppo to reach ppo's final figure."
    )


def test_the_headline_does_not_tell_apart_what_overlaps() -> None:
    cells = [*seeds("walk", [1.0, 2.0, 3.0]), *seeds("cem", [1.5, 2.5, 3.5]), *seeds("grid", [9.0] * 3)]
    findings = found(cells, optima=OPTIMA)
    assert "walk ends nearest" in findings.headline
    assert ", not told apart from cem" in findings.headline
    assert any("The interval of the best, walk, overlaps with cem's" in text for text in findings.warnings)


def test_those_who_end_alike_share_the_headline() -> None:
    cells = [*seeds("walk", [1.0] * 5), *seeds("cem", [1.0] * 5), *seeds("marl", [3.0] * 5)]
    headline = found(cells, optima=OPTIMA).headline
    assert headline.startswith(
        "walk and cem end nearest to the proven optimum: 1.000 times it over 1 problem"
    )
    assert "; marl ends at 3.000 times it" in headline


def test_without_a_proof_the_headline_speaks_of_the_best_known() -> None:
    findings = found(seeds("walk", [1.0] * 5))
    assert "nearest to the best known:" in findings.headline
    assert any("On the problem no optimum is proven:" in text for text in findings.warnings)
    begun = found(seeds("walk", [1.0] * 5), seeds=6)
    assert any("On the problem no optimum is proven yet (a campaign" in text for text in begun.warnings)


@pytest.mark.parametrize(
    ("cells", "about", "said"),
    [
        ([], {"searchers": ["marl"], "problems": [A], "seeds": 2}, "0 of 2 cells are done."),
        (
            seeds("walk", [1.0]),
            {"problems": [A, B]},
            "No searcher has a run on every problem yet: 1 of 2 cells are done.",
        ),
        (
            [*seeds("marl", [2.0]), *seeds("walk", [math.inf, math.inf])],
            {},
            "So far (3 of 4 cells): marl ends nearest to the best known: 1.000 times it",
        ),
        (
            [*seeds("walk", [2.0, math.inf, math.inf])],
            {},
            "No searcher's typical run has found a feasible mapping.",
        ),
        (
            [*seeds("walk", [2.0] * 5), *seeds("marl", [math.inf] * 5)],
            {},
            "; marl's typical run has found nothing feasible.",
        ),
        (
            [*seeds("walk", [math.inf])],
            {},
            "1 of 1 cells are done, and none has found a feasible mapping.",
        ),
    ],
)
def test_the_headline_of_a_campaign_with_little_in_it(
    cells: list[Summary], about: dict[str, Any], said: str
) -> None:
    assert said in found(cells, **about).headline


def test_thin_evidence_is_warned_of() -> None:
    wasteful = [replace(one, infeasible={"l1_too_small": 900}) for one in seeds("walk", [1.0, math.inf])]
    failed = {"net_a--edge--latency--cem--s0": "RuntimeError: no", "net_a--edge--latency--cem--s1": "again"}
    warnings = found(
        [*wasteful, *seeds("marl", [2.0, 2.0])], searchers=["walk", "marl", "cem"], failed=failed
    ).warnings
    said = "\n".join(warnings)
    assert "Cells not done: 2 of cem." in said
    assert "Failed: net_a--edge--latency--cem--s0 (RuntimeError: no), and 1 more cell." in said
    assert "Only 2 seeds a problem" in said
    assert "90% of walk's samples are infeasible." in said
    assert "1 of walk's 2 runs have found nothing feasible." in said
    assert (
        "With 1 problem and 1 comparison, no corrected p value of the signed-rank test can be below 1" in said
    )


def test_one_seed_makes_no_interval() -> None:
    findings = found([*seeds("marl", [1.0]), *seeds("walk", [2.0])])
    assert "[" not in findings.headline
    assert (
        "Only 1 seed a problem: there are no intervals, and any difference may be chance."
        in findings.warnings
    )


def test_solid_evidence_is_not_warned_of() -> None:
    problems = [(f"net:{name}", f"machine{place}", "latency") for name in "ab" for place in range(4)]
    cells = [
        one
        for place, problem in enumerate(problems)
        for name, loss in (("marl", 1.0), ("walk", 2.0 + place))
        for one in seeds(name, [loss] * 5, problem)
    ]
    optima = {
        f"{p[0]} on {p[1]}, {p[2]}": {"status": "optimal", "lower_bound": 1.0, "loss": 1.0} for p in problems
    }
    assert found(cells, optima=optima).warnings == ()


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
