"""The verdicts on claims of a paper as a file: what is missing, and what stands in it."""

from __future__ import annotations

import csv
import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from dse.domains.clustered.accelerator import PRESETS
from dse.domains.clustered.space.parts import SPACES
from experiments.paper import verdicts
from tests import ROOT
from tests.analysis.report_cases import A, B
from tests.experiments.verdict_cases import Steps, study

# The script


def test_what_is_not_there_is_named_and_the_rest_is_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    vgg = ("vgg16:conv1_2", "eyeriss-small", "latency")
    runs: dict[str, Steps] = {name: [(9, 2.0)] for name in ("marl", "ppo", "factored-ppo", "random")}
    study(tmp_path / "table3", runs, (vgg,))
    study(tmp_path / "ablations", {"marl": [(0, 1.0)], "no-entropy": [(0, 1.25)]}, (A, B))
    asked = ["verdicts", "--out", str(tmp_path / "out")]
    for name in (
        "table3",
        "ablations",
        "figure5",
        "agents",
        "own",
        "factors",
        "layers",
        "clustered",
        "longer",
        "loopnest",
    ):
        asked += [f"--{name}", str(tmp_path / name)]
    monkeypatch.setattr(sys, "argv", asked)
    verdicts.main()
    data = json.loads((tmp_path / "out" / "verdicts.json").read_text())
    page = (tmp_path / "out" / "verdicts.md").read_text()
    assert len(data["claims"]) == len(capsys.readouterr().out.splitlines())
    assert [text.split(" ")[0] for text in data["missing"]] == [
        "paper-figure5",
        "paper-agents",
        "paper-table3-any",
        "paper-table3",
        "paper-layers-any",
        "paper-clustered",
        "paper-steps-seeds",
        "table3-loopnest",
    ]
    assert "| bayesian optimisation" not in page.lower().split("departures that remain")[0]
    assert "## Departures that remain" in page
    assert "| no-entropy | 1.250 |" in page
    assert "significantly worse than marl: no-entropy; better: none." in page
    for claim in data["claims"]:
        assert f"**Verdict: {claim['verdict']}.**" in page
        assert f"## {claim['claim']}" in page


def test_only_the_papers_own_setting_puts_its_claims_to_the_test(tmp_path: Path) -> None:
    from experiments.paper.own_problem import own_claims

    problems = [("vgg16:conv1_2", machine, "latency") for machine in ("eyeriss-small", "paper")]
    runs: dict[str, Steps] = {"marl": [(0, 1.0)], "ppo": [(0, 8.0), (500, 1.0)], "random": [(0, 4.0)]}
    runs |= {f"marl-{number}": [(0, 2.0 / number)] for number in (1, 2, 3, 6, 9)}
    found = study(tmp_path, runs, problems)
    figures = {machine: PRESETS[machine].to_dict() for _, machine, _ in problems}
    parts = SPACES["paper"].to_dict()
    definitions = {
        found.label(problem): {"parts": parts, "accelerator": figures[problem[1]], "tiles": "any"}
        for problem in problems
    }
    whole = replace(found, about=found.about | {"definitions": definitions, "budget": 20_000})
    claims = list(own_claims(replace(whole, about=whole.about | {"cost_model": "maestro"})))
    assert [claim.claim.endswith("on paper)") for claim in claims] == sorted(
        (claim.claim.endswith("on paper)") for claim in claims), reverse=True
    )
    verdicts = {claim.claim: claim.verdict for claim in claims}
    even = "Even 2 agents are better than 1 (the paper's problem, on {})"
    assert verdicts[even.format("paper")] == "not tested"  # Its data set of 20,000 samples was not charged.
    sooner = "Many agents converge 30 times sooner on vgg16, latency (the paper's problem, on {})"
    assert verdicts[sooner.format("paper")] == "borne out"
    assert verdicts[sooner.format("eyeriss-small")] == "not tested"
    (other,) = (claim for claim in claims if claim.claim == even.format("eyeriss-small"))
    assert other.why.startswith("in another setting (an accelerator with limits")
    assert {row[-1] for row in other.rows} == {"not tested"}
    for missing in ({"parts": None}, {"tiles": "factors"}):
        other_space = {label: made | missing for label, made in definitions.items()}
        for claim in own_claims(replace(whole, about=whole.about | {"definitions": other_space})):
            assert claim.verdict == "not tested"


def test_plain_searchers_are_judged_by_the_names_that_the_paper_has(tmp_path: Path) -> None:
    from experiments.paper.own_problem import plain

    runs: dict[str, Steps] = {
        "random": [(0, 4.0)], "marl": [(0, 1.0)], "ppo": [(0, 2.0)], "marl-2": [(0, 3.0)],
        "marl-plain": [(0, 5.0)], "ppo-plain": [(0, 6.0)],
    }  # fmt: skip
    found = study(tmp_path, runs)
    as_written = plain(found)
    assert as_written is not None
    assert set(as_written.searchers) == {"random", "marl", "ppo"}
    losses = {cell.searcher: cell.best for cell in as_written.summaries if not cell.seed}
    assert losses["marl"] == pytest.approx(5.0)
    assert losses["ppo"] == pytest.approx(6.0)
    assert plain(as_written) is None


def test_resnet18_is_judged_by_its_own_times_where_a_campaign_has_it(tmp_path: Path) -> None:
    from experiments.paper.own_problem import claims_of

    runs: dict[str, Steps] = {"marl": [(0, 1.0)], "ppo": [(0, 8.0), (600, 1.4)]}
    found = study(tmp_path, runs, [("resnet18:conv1_2", "paper", "latency")])
    parts = {"parts": SPACES["paper"].to_dict(), "accelerator": PRESETS["paper"].to_dict(), "tiles": "any"}
    about = {"definitions": dict.fromkeys(map(found.label, found.problems), parts), "cost_model": "maestro"}
    claims = claims_of(replace(found, about=found.about | about | {"budget": 20_000}), "here")
    verdicts = {claim.claim: claim.verdict for claim in claims}
    assert verdicts == {
        "Many agents converge 120 times sooner on resnet18, latency (here)": "borne out",
        "Many agents come to up to 1.5 times lower latency on resnet18 (here)": "not borne out",
    }


def test_the_committed_table_of_correlations_is_of_both_numbers_of_samples() -> None:
    lines = list(csv.DictReader((ROOT / "results" / "paper" / "correlations.csv").read_text().splitlines()))
    assert {line["samples"] for line in lines} == {"20000", "200000"}
    problems = {(line["campaign"], line["layer"], line["objective"]): int(line["points"]) for line in lines}
    assert len(problems) == 8 + 12
    assert min(problems.values()) > 800
    for line in lines:
        genes = 17 if line["campaign"].startswith("paper-table3") else 13
        choices = int(line["choices"])
        assert int(line["unrelated"]) <= int(line["uncorrelated"]) <= int(line["genes"]) <= choices <= genes
        assert choices - 1 <= int(line["agents_0.5"]) <= choices
