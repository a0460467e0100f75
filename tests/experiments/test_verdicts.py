"""The verdicts on the paper's claims: what they are judged by, on campaigns made by hand."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from dse.analysis.findings import Interval
from dse.analysis.study import load_study
from tests.analysis.report_cases import A, B, campaign, cell
from tests.experiments.verdict_cases import Steps, study

MODULES = ("measures", "claims", "figure6", "lines", "parameters", "verdicts")


@pytest.fixture(scope="module")
def paper() -> dict[str, ModuleType]:
    """The modules behind the verdicts, by name."""
    import importlib

    return {name: importlib.import_module(f"experiments.paper.{name}") for name in MODULES}


# What claims are judged by


def test_samples_are_counted_with_and_without_what_the_other_wastes(paper: Any, tmp_path: Path) -> None:
    runs: dict[str, Steps] = {"marl": [(0, 9.0), (17, 2.0)], "ppo": [(0, 8.0), (197, 2.0)]}
    found = study(tmp_path, runs, (A, B))
    # Of 1,000 samples marl's seeds need 18 to 21; ppo's 198 to 201, and it stands still after that.
    as_paper = paper["measures"].budget_over_samples(found, "marl", "ppo")
    assert as_paper.value.value == pytest.approx(1000 / 19.5)
    assert 1000 / 21 <= as_paper.value.low <= as_paper.value.value <= as_paper.value.high <= 1000 / 18
    alike = paper["measures"].fewer_samples(found, "marl", "ppo")
    assert alike.value.value == pytest.approx(199.5 / 19.5)
    assert (alike.seeds, alike.problems) == (4, 2)
    back = paper["measures"].fewer_samples(found, "ppo", "marl")
    assert back.value.value == pytest.approx(19.5 / 199.5)


def test_who_never_gets_there_saves_nothing(paper: Any, tmp_path: Path) -> None:
    found = study(tmp_path, {"marl": [(0, 5.0)], "ppo": [(0, 4.0)]})
    assert paper["measures"].budget_over_samples(found, "marl", "ppo").value == Interval(0.0, 0.0, 0.0)
    assert paper["measures"].fewer_samples(found, "marl", "ppo").value is None
    claim = paper["claims"].samples_claim(found, "marl", "ppo", "test")
    assert claim.verdict == "not borne out"


def test_losses_are_compared_by_medians_over_problems_and_at_any_number_of_samples(
    paper: Any, tmp_path: Path
) -> None:
    cells = [
        cell(name, [(0, start), (500, end * (1 + seed))], problem, seed=seed)
        for problem, end in ((A, 2.0), (B, 8.0))
        for name, start, end in (("marl", 30.0, 1.0), ("ppo", 60.0, end))
        for seed in range(3)
    ]
    found = load_study(campaign(tmp_path, cells, seeds=3))
    ratio = paper["measures"].loss_ratio
    assert ratio(found, "ppo", "marl", 1000).value.value == pytest.approx(4.0)
    assert ratio(found, "marl", "ppo", 1000).value.value == pytest.approx(0.25)
    assert ratio(found, "ppo", "marl", 400).value == Interval(*[pytest.approx(2.0)] * 3)
    wide = ratio(found, "ppo", "marl", 1000).value
    assert wide.low < 4 < wide.high


def test_where_neither_has_anything_feasible_neither_is_better(paper: Any, tmp_path: Path) -> None:
    found = study(tmp_path, {"marl": [(600, 5.0)], "ppo": [(600, 5.0)]})
    assert paper["measures"].loss_ratio(found, "marl", "ppo", 10).value.value == 1.0


def test_steps_are_a_lower_bound_where_the_single_agent_never_is_there(
    paper: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs: dict[str, Steps] = {
        "marl": [(0, 9.0), (49, 2.0)],
        "ppo": [(0, 8.0), (396, 2.0)],
        "slow": [(0, 8.0)],
    }
    found = study(tmp_path, runs)
    times, censored = paper["measures"].steps_to(found, "marl", "ppo", 100)
    assert (times.value.value, censored) == (pytest.approx(math.sqrt(3.98 * 3.99), rel=1e-3), 0)
    times, censored = paper["measures"].steps_to(found, "marl", "slow", 100)
    assert (times.value.value, censored) == (pytest.approx(10.0), 1)
    monkeypatch.setattr(paper["lines"], "CONVERGED", 100)
    told = [paper["lines"].steps(found, "slow", "marl", times)[1] for times in (30, 9)]
    assert told == ["not tested", "borne out"]


def test_arms_that_disagree_leave_a_claim_inconclusive(paper: Any) -> None:
    line = paper["lines"].Line
    told = {"yes": ("2.00", "borne out"), "no": ("0.50", "not borne out")}
    verdicts = {
        arms: line("claim", "2", (*(told.get(arm) for arm in arms), told["no"]), "a").row[4]
        for arms in (("yes", "yes"), ("yes", "no"), ("no", ""), ("", ""))
    }
    assert list(verdicts.values()) == ["borne out", "inconclusive", "not borne out", "not tested"]
    assert line("claim", "2", (told["yes"],), "a").row == ("claim", "2", "2.00", "borne out", "a")


def test_what_is_possible_at_most_is_the_way_to_the_best_known(paper: Any, tmp_path: Path) -> None:
    found = study(tmp_path, {"marl": [(0, 2.0)], "random": [(0, 6.0)]}, (A, B))
    possible = paper["measures"].most_possible
    assert possible(found, "random", found.problems) == pytest.approx(3.0)
    assert possible(found, "marl", found.problems) == pytest.approx(1.0)
    assert math.isnan(possible(found, "absent", found.problems))


@pytest.mark.parametrize(
    ("ends", "verdict"),
    [
        ((1.2, 1.1, 1.3), "borne out"),
        ((1.2, 1.0, 1.3), "inconclusive"),
        ((1.0, 1.0, 1.0), "inconclusive"),
        ((0.9, 0.8, 0.99), "not borne out"),
    ],
)
def test_to_be_level_is_not_to_be_better(paper: Any, ends: Any, verdict: str) -> None:
    assert paper["measures"].above_one(Interval(*ends)) == verdict
    assert paper["measures"].above_one(None) == "inconclusive"


@pytest.mark.parametrize(
    ("ratios", "verdict"),
    [
        ({"few": (0.8, 0.9), "many": (0.7, 0.95)}, "borne out"),
        ({"few": (0.8, 0.9), "many": (0.7, 1.05)}, "inconclusive"),
        ({"few": (0.8, 0.9), "many": (1.1, 1.3)}, "not borne out"),
    ],
)
def test_the_best_number_of_agents_is_one_that_beats_all_others(
    paper: Any, ratios: dict[str, tuple[float, float]], verdict: str
) -> None:
    given = {("six", name): Interval(1.0, *ends) for name, ends in ratios.items()}
    assert paper["measures"].best_numbers(("six",), ("few", "many"), given) == verdict


# The claims


def test_a_table_of_reductions_is_borne_out_only_if_every_part_is(paper: Any, tmp_path: Path) -> None:
    problem = ("vgg16:conv1_2", "eyeriss-small", "latency")
    runs: dict[str, Steps] = {
        "marl": [(0, 1.0)],
        "random": [(0, 5.0)],
        "bayesian": [(0, 0.5)],
        "genetic": [(0, 1.5)],
    }
    (claim,) = paper["claims"].reduction_claims(study(tmp_path, runs, (problem,)))
    parts = {row[0]: (row[2], row[3], row[4]) for row in claim.rows}
    assert parts["random"] == ("5.00", "10.00", "borne out")
    assert parts["bayesian"] == ("0.50", "1.00", "not borne out")
    assert parts["genetic"] == ("1.50", "3.00", "borne out")
    assert claim.verdict == "not borne out"
    assert "better than random, genetic, and significantly worse than bayesian" in claim.why


def test_independence_takes_the_larger_set_of_samples(paper: Any) -> None:
    line = {"genes": "13", "pairs": "78", "weak_pairs": "39", "critical_r": "0.3", "weak": "9"}
    line |= {"layer": "a:1", "objective": "edp", "uncorrelated": "12"}
    few = line | {"samples": "1000", "unrelated": "12"}
    judged = paper["parameters"].independence_claim
    assert judged([few, line | {"samples": "20000", "unrelated": "10"}]).verdict == "borne out"
    lost = line | {"samples": "20000", "uncorrelated": "1", "unrelated": "1"}
    assert judged([few, lost]).verdict == "not borne out"
    assert "below 0.2: 50% of them" in judged([few, lost]).why
    assert "92% of genes show no dependence on any other among 1,000 samples" in judged([few, lost]).why
    assert judged([few, lost]).why.endswith("and 8% among as many as give 1,000 good ones")


def test_weak_pairs_k_with_c_and_the_thresholds_are_judged_on_every_problem(paper: Any) -> None:
    def line(layer: str, weak: int, k_with_c: float, *agents: int, samples: int = 20_000) -> dict[str, str]:
        cuts = dict(zip(paper["parameters"].CUTS, map(str, agents), strict=True))
        named = {"layer": layer, "objective": "edp", "samples": str(samples), "largest_r": "0.5"}
        shares = {"pairs": "10", "weak_pairs": str(weak), "k_with_c": str(k_with_c), "choices": "17"}
        return named | cuts | shares

    good = line("a:1", 9, 0.3, 17, 17, 4, 2, 1)
    few = line("a:1", 1, 0.0, 3, 2, 2, 2, 2, samples=1_000)
    judges = [paper["parameters"].__dict__[f"{name}_claim"] for name in ("weak", "strong_pair", "thresholds")]
    assert [judge([few, good]).verdict for judge in judges] == ["borne out"] * 3
    bad = line("b:2", 5, 0.1, 17, 17, 4, 2, 2)
    assert [judge([good, bad]).verdict for judge in judges] == ["not borne out"] * 3
    assert judges[2]([good, bad]).rows[1] == ("b:2, edp", "17", "17", "4", "2", "2")
    assert "on 1 of 2 problems" in judges[1]([good, bad]).why


def test_parameters_settle_sooner_and_alike_only_if_whole_intervals_say_so(paper: Any) -> None:
    def lines(theirs: int, end: int) -> list[dict[str, str]]:
        named = ("layer", "gene", "searcher", "seed", "settled", "ends")
        return [
            dict(zip(named, ("a:1", gene, name, str(seed), str(at), str(to)), strict=True))
            for name, at, to in (("marl", 10, 1), ("ppo", theirs, end))
            for seed in range(4)
            for gene in ("order", "tile")
        ]

    sooner, alike = paper["parameters"].sooner_claim, paper["parameters"].alike_claim
    assert [sooner(lines(at, 1)).verdict for at in (40, 10, 5)] == [
        "borne out",
        "inconclusive",
        "not borne out",
    ]
    assert sooner(lines(40, 1)).rows == (("a:1", "4.00", "borne out"),)
    assert [alike(lines(40, end)).verdict for end in (1, 2)] == ["borne out", "not borne out"]
    half = lines(40, 1)
    for line in half:
        line["ends"] = str(int(line["searcher"] == "ppo" and line["gene"] == "tile"))
    assert alike(half).verdict == "inconclusive"
    assert "of two runs of marl itself 1.00 on a:1" in alike(half).why
    scattered = lines(40, 1)
    for line in scattered:
        line["ends"] = line["seed"]
    assert alike(scattered).verdict == "inconclusive"


def test_six_to_nine_agents_are_compared_with_all_other_numbers(paper: Any, tmp_path: Path) -> None:
    runs: dict[str, Steps] = {
        "marl": [(0, 3.0)], "marl-9": [(0, 1.0)], "marl-6": [(0, 2.0)],
        "marl-3": [(0, 3.0)], "marl-2": [(0, 3.0)], "marl-1": [(0, 4.0)],
    }  # fmt: skip
    claim = paper["claims"].agents_claim(study(tmp_path, runs))
    assert claim.verdict == "borne out"
    assert [row[0] for row in claim.rows] == list(runs)[1:]
    assert claim.rows[0][-1] == "0.333"
    partial = study(tmp_path / "partial", {name: runs[name] for name in ("marl", "marl-6")})
    assert paper["claims"].agents_claim(partial).verdict == "inconclusive"


def test_each_objective_is_judged_by_its_own_problems(paper: Any, tmp_path: Path) -> None:
    cells = [
        cell(name, [(0, loss)], ("net:a", "edge", objective), seed=seed)
        for objective, losses in (("latency", (2.0, 6.0, 2.0, 4.0)), ("area", (5.0, 5.0, 5.0, 5.0)))
        for name, loss in zip(("marl", "ppo", "marl-plain", "ppo-plain"), losses, strict=True)
        for seed in range(3)
    ]
    claim = paper["claims"].objectives_claim(load_study(campaign(tmp_path, cells, seeds=3)))
    assert claim.rows == (
        ("latency", "ppo / marl", "3.000", "borne out"),
        ("latency", "ppo-plain / marl-plain", "2.000", "borne out"),
        ("area", "ppo / marl", "1.000", "inconclusive"),
        ("area", "ppo-plain / marl-plain", "1.000", "inconclusive"),
    )
    assert claim.verdict == "inconclusive"
    assert "than latency of ppo, latency of ppo-plain;" in claim.why


def test_many_agents_make_the_difference_only_if_they_do_against_every_control(
    paper: Any, tmp_path: Path
) -> None:
    ahead: dict[str, Steps] = {"marl": [(9, 2.0)], "factored-ppo": [(99, 2.0)]}
    level: dict[str, Steps] = {"marl": [(9, 2.0)], "single-agent": [(9, 2.0)]}
    one = (study(tmp_path / "one", ahead), "factored-ppo")
    other = (study(tmp_path / "other", level), "single-agent")
    judged = paper["claims"].many_agents_claim
    assert judged([one]).verdict == "borne out"
    both = judged([one, other])
    assert both.verdict == "inconclusive"
    assert [row[-1] for row in both.rows] == ["borne out", "inconclusive"]
    assert both.rows[0][2] == "1.000"


def test_a_table_of_reductions_names_what_has_not_run_and_who_had_fewer_samples(
    paper: Any, tmp_path: Path
) -> None:
    problem = ("vgg16:conv1_2", "eyeriss-small", "latency")
    runs: dict[str, Steps] = {"marl": [(0, 2.0), (700, 1.0)], "random": [(0, 5.0)], "bayesian": [(0, 4.0)]}
    found = study(tmp_path, runs, (problem,))
    found = replace(found, about=found.about | {"searchers": [*runs, "ppo"], "limits": {}})
    (claim,) = paper["claims"].reduction_claims(found)
    assert [(row[0], row[2], row[4]) for row in claim.rows][-1] == ("ppo", "no runs yet", "inconclusive")
    nothing = replace(found, summaries=())
    assert [c.verdict for c in paper["claims"].reduction_claims(nothing)] == ["inconclusive"]


def test_a_seed_or_two_are_inconclusive(paper: Any, tmp_path: Path) -> None:
    from experiments.paper.setting import settled

    problem = ("vgg16:conv1_2", "eyeriss-small", "latency")
    runs: dict[str, Steps] = {"marl": [(0, 1.0)], "random": [(0, 50.0)]}
    expected = ((2, "inconclusive", "2 seeds so far"), (3, "borne out", "marl is significantly better"))
    for seeds, verdict, words in expected:
        found = study(tmp_path / str(seeds), runs, (problem,), seeds=seeds)
        here = {"budget": 20_000, "cost_model": "maestro", "definitions": {}}
        own = replace(found, about=found.about | here)
        (claim,) = paper["claims"].reduction_claims(found)
        told = settled(claim, own)
        assert (told.verdict, told.rows[0][-1]) == (verdict, verdict)
        assert told.why.startswith(words)


def test_figure_6_tells_two_from_one_the_best_number_and_what_is_as_good(paper: Any, tmp_path: Path) -> None:
    ends = {"marl-1": 4.0, "marl": 2.0}
    grouped = {"marl-2": 2.0, "kc-rest": 5.0, "marl-3": 3.0, "marl-6": 1.0, "marl-9": 2.0, "marl-10": 2.1}
    own = study(tmp_path / "own", {name: [(0, loss)] for name, loss in ends.items()})
    six = study(tmp_path / "six", {name: [(0, loss)] for name, loss in (grouped | {"kc": 2.05}).items()})
    told = {line.claim: line.row[2:4] for line in paper["figure6"].figure6(own, six)}
    assert told["even 2 agents beat 1: latency of marl-1 over marl-2's"] == ("2.000", "borne out")
    assert told["even 2 agents beat 1: latency of marl-1 over kc-rest's"] == ("0.800", "not borne out")
    assert told["6 or 9 are best: latencies over marl-6's"][1] == "borne out"
    assert told["6 or 9 are best: latencies over marl-9's"][1] == "inconclusive"
    as_good = "clustered is as good as an agent a parameter: latency of {} over marl's".format
    assert told[as_good("kc")] == ("1.025", "borne out")
    assert told[as_good("marl-6")] == ("0.500", "not borne out")


def test_loss_over_the_best_known_is_1_for_who_found_it(paper: Any, tmp_path: Path) -> None:
    found = study(tmp_path, {"marl": [(0, 2.0)], "random": [(0, 9.0), (500, 6.0)]}, (A, B))
    over = paper["measures"].over_best_known
    assert over(found, "marl", 10).value.value == pytest.approx(1.0)
    assert [over(found, "random", n).value.value for n in (10, 1000)] == pytest.approx([4.5, 3.0])
