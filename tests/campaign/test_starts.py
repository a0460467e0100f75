"""A campaign's searchers begin alike unless it says otherwise, and everybody is told with what they begin."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import dse as package
from dse.analysis.analysis import analyse_study
from dse.analysis.study import load_study, make_problems
from dse.campaign.config import Campaign, NamedCell
from dse.campaign.reading import load_campaign
from dse.cli.commands.run import find_layers
from dse.core.domains import load_hardware, make_problem
from dse.domains.clustered.accelerator import PRESETS
from dse.domains.clustered.problem import Problem
from dse.report.conclusions import conclude_study
from dse.report.page.commands import campaign_toml, search_command
from dse.report.writing import make_report, table_files
from dse.search.evaluator import Evaluator
from dse.search.run import run_cell
from dse.search.searcher import make_searcher, searchers
from dse.search.start import RANDOM, random_settings, start_in_words, start_points, start_words
from dse.support.errors import InputError
from tests.analysis.report_cases import campaign as folder_of
from tests.analysis.report_cases import cell
from tests.conftest import Dse
from tests.report.page_cases import run_small_campaign
from workloads import load_layer

PROBLEM = Problem(load_layer("alexnet:conv2"), PRESETS["eyeriss-small"], "edp")
TEMPLATES = [
    tuple(row) for row in PROBLEM.space.canonical(np.array(start_points(PROBLEM, "templates"))).tolist()
]
KNOWING = ("generative",)
"""Ours that know something whatever their settings are, and those that do not say with what they begin."""
SILENT = ("nevergrad",)

PLAN = """
name = "starts"
budget = 12
seeds = 1
objectives = ["edp"]
accelerators = ["eyeriss-small"]
layers = ["alexnet:conv2"]
"""
BOTH = "[searchers.team]\n[searchers.genetic]\npopulation = 4\n"


def read(tmp_path: Path, text: str) -> Campaign:
    path = tmp_path / "campaign.toml"
    path.write_text(PLAN + text)
    return load_campaign(str(path), find_layers)


def cells(plan: Campaign) -> dict[str, NamedCell]:
    return {named.variant.name: named for named in plan.cells()}


def first_samples(plan: Campaign, count: int = 3) -> dict[str, list[tuple[int, ...]]]:
    """By searcher, the designs that it draws first."""
    found = {}
    for name, named in cells(plan).items():
        genes = run_cell(named.cell).genes(0, count)
        found[name] = [tuple(row) for row in named.problem.problem.space.canonical(genes).tolist()]
    return found


def test_searchers_begin_at_random_points_unless_the_campaign_says_otherwise(tmp_path: Path) -> None:
    plan = read(tmp_path, BOTH)
    assert plan.begins == {"team": "random", "genetic": "random"}
    assert not set(first_samples(plan)["team"]) & set(TEMPLATES)
    own = read(tmp_path, 'start = "own"\n' + BOTH)
    assert own.begins == {"team": "templates, expectations", "genetic": "random"}
    assert first_samples(own)["team"][:2] == TEMPLATES[:2]
    # Those that begin at random points by themselves have the cells that they have had.
    assert cells(plan)["genetic"].cell.fingerprint == cells(own)["genetic"].cell.fingerprint


def test_at_the_templates_all_draw_the_same_first_samples_and_know_no_more(tmp_path: Path) -> None:
    plan = read(tmp_path, 'start = "templates"\n' + BOTH)
    assert plan.begins == {"team": "templates", "genetic": "templates"}
    first = first_samples(plan)
    assert first["team"] == first["genetic"] == TEMPLATES
    assert not cells(plan)["team"].cell.settings["expert_prior"]


def test_what_is_set_by_hand_stays_and_is_told(tmp_path: Path) -> None:
    plan = read(tmp_path, "[searchers.team]\nexpects = true\n[searchers.own]\ntype = 'team'\nstart = 'own'")
    assert cells(plan)["team"].cell.settings["initial_design"] == "random"
    assert plan.begins == {"team": "random, expectations", "own": "templates, expectations"}
    plan = read(tmp_path, 'start = "templates"\n[searchers.team]\nexpects = true\n')
    assert plan.begins == {"team": "templates, expectations"}


def test_a_searcher_at_random_points_is_that_of_a_single_search(tmp_path: Path, dse: Dse) -> None:
    named = cells(read(tmp_path, BOTH))["team"]
    searched = package.search(PROBLEM, "team", budget=12, start="random")
    assert searched.cell.fingerprint == named.cell.fingerprint
    assert package.search(PROBLEM, "team", budget=4).cell.settings["initial_design"] == "templates"
    words = ("search", "--layer", "alexnet:conv2", "--accelerator", "eyeriss-small", "--objective", "edp")
    found = dse(*words, "--searcher", "team", "--budget", "12", "--start", "random", "--json").json
    assert searched.best is None or found["best"]["loss"] == searched.best.loss


@pytest.mark.parametrize("name", searchers())
def test_every_searcher_of_ours_can_begin_with_nothing_or_says_what_it_knows(name: str) -> None:
    told = start_in_words(make_searcher(name, random_settings(name, None)), PROBLEM.space)
    expected = "own" if name in SILENT else "taught mappings" if name in KNOWING else RANDOM
    assert told == ("optimum of loopnest" if name == "calibrated" else expected)


@dataclass(frozen=True)
class Foreign:
    """A searcher of somebody else's, which says nothing of its start."""

    def search(self, evaluate: Evaluator, rng: np.random.Generator) -> None:
        while evaluate.remaining:
            evaluate(evaluate.space.sample(rng, 1))


def test_a_searcher_that_says_nothing_begins_on_its_own() -> None:
    space = PROBLEM.space
    assert start_words(Foreign(), space, "random") == start_words(Foreign(), space, "own") == "own"
    # Its first samples are given to it all the same.
    assert start_words(Foreign(), space, "templates") == "templates"
    assert start_words(Foreign(), space, "some/mine.json") == "mine.json"


def test_a_declared_start_that_is_no_table_is_refused() -> None:
    class Odd(Foreign):
        random_start: ClassVar[Any] = "random"

    with pytest.raises(InputError, match="random_start must be a table of settings, got 'random'"):
        start_in_words(Odd(), PROBLEM.space)


def test_on_a_machine_of_levels_nobody_has_templates_or_expectations() -> None:
    machine = load_hardware("eyeriss_like", "timeloop")
    problem = make_problem(load_layer("alexnet:conv2"), machine, "edp", "timeloop")
    assert start_in_words(make_searcher("team"), problem.space) == "random"


@pytest.mark.parametrize(
    ("start", "words"),
    [
        ("template", "did you mean 'templates'"),
        ("none", "expected one of random, templates, own, FILE.json"),
        ("", "expected one of random, templates, own, FILE.json"),
    ],
)
def test_a_start_that_there_is_not_is_refused(tmp_path: Path, start: str, words: str) -> None:
    with pytest.raises(InputError, match=f"unknown start '{start}'; {words}"):
        read(tmp_path, f'start = "{start}"\n' + BOTH)


def test_a_comparison_from_python_begins_alike_too() -> None:
    options: dict[str, Any] = {"budget": 4, "seeds": 1, "workers": 1}
    team = make_searcher("team")
    study = package.compare(PROBLEM, {"team": "team", "mine": team, "any": "random"}, **options).study
    told = {name: study.begins(name) for name in study.searchers}
    assert told == {"team": "random", "mine": "templates, expectations", "any": "random"}
    study = package.compare(PROBLEM, ["team", "random"], start="templates", **options).study
    assert {study.begins(name) for name in study.searchers} == {"templates"}
    with pytest.raises(InputError, match="unknown start 'nowhere'"):
        package.compare(PROBLEM, ["team"], start="nowhere", **options)


SMALL = """
name = "small"\nbudget = 12\nseeds = 2\ncost_model = "maestro"\nstart = "templates"
[[problems]]\nlayer = "resnet18:fc"\naccelerator = "edge"\nobjective = "edp"
[searchers.walk]\nwalkers = 4
[searchers.team]
[searchers.chance]\ntype = "random"\nstart = "own"
[searchers.knowing]\ntype = "team"\nstart = "own"
"""


def test_the_report_names_each_start_and_its_commands_begin_there(tmp_path: Path, dse: Dse) -> None:
    folder = run_small_campaign(tmp_path, SMALL, prove=False)
    study = load_study(folder)
    report = make_report(folder)
    starts = {"walk": "templates", "team": "templates", "chance": "random"}
    starts["knowing"] = "templates, expectations"
    standing = next(table for table in report.tables if table.name == "standing")
    assert {row[0]: row[standing.columns.index("start")] for row in standing.rows} == starts
    assert "| knowing | templates, expectations |" in table_files(report)["standing.md"]
    (said,) = (text for text in report.conclusions.warnings if "begin alike" in text)
    assert "walk and team with templates; chance with random; knowing with templates, expectations" in said

    file = tmp_path / "again.toml"
    file.write_text(campaign_toml(study, make_problems(study)) or "", encoding="utf-8")
    again = {named.key: named.cell.fingerprint for named in load_campaign(str(file), find_layers).cells()}
    assert again == {one.key: one.fingerprint for one in study.summaries}
    problem = study.make_problem(study.problems[0])
    assert problem is not None
    for one in study.summaries:
        if one.seed == 0:
            found = dse(*shlex.split(search_command(study, one, problem))[1:], "--json").json
            assert found["best"]["loss"] == one.best


def test_nothing_is_said_where_all_begin_alike_or_nobody_knows(tmp_path: Path) -> None:
    runs = [cell("walk", [(0, 2.0)]), cell("marl", [(0, 1.0)])]
    for name, begun in (("silent", {}), ("alike", {"walk": "random", "marl": "random"})):
        (tmp_path / name).mkdir()
        study = load_study(folder_of(tmp_path / name, runs, begins=begun))
        said = conclude_study(study, analyse_study(study, 50)).warnings
        assert not any("begin alike" in text for text in said)


def test_samples_spent_elsewhere_are_warned_of_beside_those_who_had_none(tmp_path: Path) -> None:
    runs = [replace(cell("taught", [(0, 2.0)]), elsewhere=900), cell("marl", [(0, 1.0)])]
    study = load_study(folder_of(tmp_path, runs))
    (said,) = (
        text
        for text in conclude_study(study, analyse_study(study, 50)).warnings
        if "outside the budget" in text
    )
    assert "900 by taught. The others have had none." in said
