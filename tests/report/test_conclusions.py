"""What is said of a study: the headline, sample efficiency in words, where the evidence is thin."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from dse.analysis.analysis import analyse_study
from dse.analysis.findings import Efficiency
from dse.campaign.summary import Summary
from dse.report.conclusions import Conclusions, conclude_study, efficiency_sentence
from dse.report.warnings import refuted_bounds
from tests.analysis.report_cases import A, B, cell
from tests.analysis.test_findings import OPTIMA, RESAMPLES, seeds, study


def concluded(cells: Sequence[Summary], **about: Any) -> Conclusions:
    """What is said of a study of those cells."""
    made = study(cells, **about)
    return conclude_study(made, analyse_study(made, RESAMPLES))


def efficiencies(cells: Sequence[Summary]) -> tuple[tuple[Efficiency, ...], list[str]]:
    """The sample efficiencies of a study of those cells, and what is said of each."""
    made = study(cells)
    rows = analyse_study(made, RESAMPLES).efficiency
    return rows, [efficiency_sentence(made, row) for row in rows]


def test_a_certificate_that_is_beaten_is_said_first() -> None:
    beaten = study(seeds("walk", [0.5]), optima=OPTIMA)
    (said,) = refuted_bounds(beaten)
    assert said.startswith("CERTIFICATE BEATEN: walk found 0.5 on net:a on edge, latency, below 1.0")
    assert concluded(beaten.summaries, optima=OPTIMA).warnings[0] == said


def test_it_is_said_where_a_dataflow_has_no_fit() -> None:
    cells = [*seeds("marl", [1.0] * 5), *seeds("marl", [1.0] * 5, B)]
    made = study(cells)
    first, second = (made.label(problem) for problem in made.problems)
    point = {"repeats": 1, "loss": 1.0, "seconds": 1.0, "joules": 1.0}
    fitted = {first: point, second: point}
    templates = {"nvdla": fitted, "eyeriss": {first: point}, "shidiannao": {}}
    said = [text for text in concluded(cells, templates=templates).warnings if "dataflow" in text]
    assert said[0].startswith(f"The dataflow eyeriss has no fit on 1 of 2 problems: {second}. ")
    assert said[1] == "The dataflow shidiannao has no fit on any problem: as fitted, not feasible."
    assert len(said) == 2
    none = concluded(cells, templates={"nvdla": {}, "eyeriss": {}}).warnings
    assert "The dataflows nvdla and eyeriss have no fit on any problem: as fitted, not feasible." in none
    assert not any("dataflow" in text for text in concluded(cells, templates={"nvdla": fitted}).warnings)


def test_the_headline_says_where_a_fixed_dataflow_beats_the_leader() -> None:
    cells = [*seeds("marl", [1.0, 3.0, 4.0]), *seeds("marl", [1.0] * 3, B), *seeds("ppo", [9.0] * 3)]
    cells += seeds("ppo", [9.0] * 3, B)
    first, second = map(study(cells).label, study(cells).problems)
    points = [{"repeats": 1, "loss": loss, "seconds": 1.0, "joules": 1.0} for loss in (2.5, 2.0, 1.5)]
    templates = {"nvdla": {first: points[0], second: points[2]}, "eyeriss": {first: points[1]}}
    said = "On 1 of 2 problems a fixed dataflow (eyeriss) is better than the median run of marl."
    assert said in concluded(cells, templates=templates).headline
    assert "dataflow" not in concluded(cells, templates={"nvdla": {second: points[2]}}).headline


# Sample efficiency in words


def test_efficiency_is_told_in_both_directions() -> None:
    cells = [*seeds("marl", [1.0] * 6, at=9), *seeds("ppo", [2.0] * 6, at=399)]
    (there, back), said = efficiencies(cells)
    assert (there.ratio.value, there.censored) == (40, False)
    assert said[0] == (
        "ppo needs 40 times as many samples as marl to reach ppo's median final loss: significant"
    )
    assert (back.ratio, back.censored, back.reached) == (None, True, 0)
    assert said[1] == (
        "ppo does not reach marl's median final loss: no run of ppo reaches it on the problem (censored)"
    )


def test_an_efficiency_that_may_be_chance_is_not_significant() -> None:
    cells = [cell("marl", [(sample, 1.0)], seed=seed) for seed, sample in enumerate([9, 90, 900, 90])]
    cells += [cell("ppo", [(sample, 1.0)], seed=seed) for seed, sample in enumerate([99, 100, 400, 100])]
    (there, _), said = efficiencies(cells)
    assert there.ratio.low < 1 < there.ratio.high
    assert said[0].startswith("ppo needs 0.64 times as many samples as marl to reach ppo's median final loss")
    assert said[0].endswith("): not significant")
    assert said[1].startswith("marl needs 1.6 times as many samples as ppo")


def test_an_efficiency_of_two_runs_is_inconclusive() -> None:
    _, said = efficiencies([*seeds("marl", [1.0] * 2, at=9), *seeds("ppo", [2.0] * 2, at=399)])
    assert said[0].endswith("as marl to reach ppo's median final loss: inconclusive")


def test_a_problem_that_is_never_reached_is_counted_and_told() -> None:
    third = ("net:a", "cloud", "latency")
    cells = [*seeds("marl", [1.0] * 5), *seeds("ppo", [2.0] * 5, at=99)]
    cells += [*seeds("marl", [1.0] * 5, B), *seeds("ppo", [2.0] * 5, B, at=99)]
    cells += [*seeds("marl", [9.0] * 5, third), *seeds("ppo", [2.0] * 5, third)]
    (there, _), said = efficiencies(cells)
    assert (there.ratio.value, there.reached, there.problems, there.censored) == (100, 2, 3, True)
    assert said[0].endswith("; no run of marl reaches it on 1 of 3 problems")


def test_who_finds_anything_is_beyond_compare_with_who_finds_nothing() -> None:
    (_, back), said = efficiencies([*seeds("marl", [1.0] * 3), *seeds("ppo", [math.inf] * 3)])
    assert said[0] == "marl finds feasible mappings where ppo finds none"
    assert back.ratio is None


# The headline and the warnings


def test_the_headline_names_the_nearest_how_sure_that_is_and_the_reference() -> None:
    cells = [*seeds("cem", [1.01, 1.02, 1.03, 1.02]), *seeds("marl", [2.0] * 4, at=9)]
    cells += seeds("ppo", [4.0] * 4, at=99)
    conclusions = concluded(cells, optima=OPTIMA, reference="marl", baseline="ppo")
    assert [sentence.text for sentence in conclusions.sentences] == [
        "On 1 problem, cem is nearest to the proven optimum after 1,000 samples, at 1.020 times it "
        "(interquartile mean, 95 % confidence interval 1.010 to 1.030); next is marl, the reference, "
        "at 2.000 times it.",
        "The lead of cem is significant over both others.",
        "ppo needs 10 times as many samples as marl to reach ppo's median final loss: significant.",
    ]
    assert conclusions.headline == " ".join(sentence.text for sentence in conclusions.sentences)


def test_a_reference_that_nobody_named_is_said_to_be_the_first_searcher() -> None:
    cells = [*seeds("walk", [3.0] * 4), *seeds("cem", [1.0] * 4), *seeds("grid", [2.0] * 4)]
    assert concluded(cells).sentences[-1].text == "walk, the reference, is at 3.000 times the best known."


def test_a_lead_is_not_significant_where_runs_overlap_and_inconclusive_where_they_are_few() -> None:
    cells = [*seeds("walk", [1.0, 2.0, 3.0, 4.0]), *seeds("cem", [1.5, 2.5, 3.5, 4.5])]
    cells += [*seeds("grid", [9.0] * 4), *seeds("ppo", [9.0] * 2)]
    assert concluded(cells, optima=OPTIMA).sentences[1].text == (
        "The lead of walk is significant over grid, not significant over cem and inconclusive, for want of "
        "runs, over ppo."
    )


def test_a_lead_in_the_mean_may_be_reversed_in_the_runs() -> None:
    # cem is far behind on one problem, and a little ahead on the two others.
    third = ("net:a", "cloud", "latency")
    cells = [*seeds("walk", [1.0] * 6), *seeds("cem", [1.5] * 6)]
    for problem in (B, third):
        cells += [*seeds("walk", [1.01] * 6, problem), *seeds("cem", [1.0] * 6, problem)]
    conclusions = concluded(cells)
    assert "On 3 problems, walk is nearest" in conclusions.headline
    assert conclusions.sentences[1].text == "The lead of walk is significantly reversed over cem."


def test_those_who_end_alike_share_the_headline() -> None:
    cells = [*seeds("walk", [1.0] * 5), *seeds("cem", [1.0] * 5), *seeds("marl", [3.0] * 5)]
    conclusions = concluded(cells, optima=OPTIMA, reference="marl")
    assert [sentence.text for sentence in conclusions.sentences] == [
        "On 1 problem, walk and cem are nearest to the proven optimum after 1,000 samples, both at 1.000 "
        "times it (interquartile mean); next is marl, the reference, at 3.000 times it.",
        "The lead of walk is significant over marl and not significant over cem.",
    ]


def test_without_a_proof_the_headline_speaks_of_the_best_known() -> None:
    conclusions = concluded(seeds("walk", [1.0] * 5))
    assert "nearest to the best known after" in conclusions.headline
    assert any("On the problem no optimum is proven:" in text for text in conclusions.warnings)
    begun = concluded(seeds("walk", [1.0] * 5), seeds=6)
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
            "So far (3 of 4 cells), on 1 problem, marl is nearest to the best known after 1,000 samples, at",
        ),
        (
            [*seeds("walk", [2.0, math.inf, math.inf])],
            {},
            "In the end no searcher's typical run has found a feasible mapping.",
        ),
        (
            [*seeds("walk", [2.0] * 5), *seeds("marl", [math.inf] * 5)],
            {"reference": "marl"},
            "marl, the reference, has found nothing feasible in its typical run.",
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
    assert said in concluded(cells, **about).headline


def test_thin_evidence_is_warned_of() -> None:
    wasteful = [replace(one, infeasible={"l1_too_small": 900}) for one in seeds("walk", [1.0, math.inf])]
    failed = {"net_a--edge--latency--cem--s0": "RuntimeError: no", "net_a--edge--latency--cem--s1": "again"}
    warnings = concluded(
        [*wasteful, *seeds("marl", [2.0, 2.0])], searchers=["walk", "marl", "cem"], failed=failed
    ).warnings
    said = "\n".join(warnings)
    assert "Cells not done: 2 of cem." in said
    assert "Failed: net_a--edge--latency--cem--s0 (RuntimeError: no), and 1 more cell." in said
    assert "Only 2 seeds a problem" in said
    assert "Infeasible samples: 90% of walk's." in said
    assert "Runs that found nothing feasible: 1 of walk's 2." in said
    assert (
        "The signed-rank test over problems is inconclusive: with 1 problem and 1 comparison, no corrected p "
        "value can be below 1. Leads are judged by confidence intervals, not by this test." in said
    )


def test_one_seed_makes_no_interval() -> None:
    conclusions = concluded([*seeds("marl", [1.0]), *seeds("walk", [2.0])])
    assert "interval" not in conclusions.headline
    assert "The lead of marl is inconclusive, for want of runs, over walk." in conclusions.headline
    assert (
        "Only 1 seed a problem, so there is no confidence interval, and every comparison is inconclusive."
        in conclusions.warnings
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
    assert concluded(cells, optima=optima).warnings == ()
