"""A searcher with fewer seeds or samples is in a report as far as it goes, and no further."""

from __future__ import annotations

import io
import itertools
import json
import shutil
import sqlite3
from pathlib import Path

import numpy as np
import pytest

from dse.analysis.analysis import analyse_study
from dse.analysis.repriced import reprice_winners
from dse.analysis.sources import LEDGER, RECORDS
from dse.analysis.study import load_study, make_problems
from dse.campaign.config import Campaign
from dse.campaign.curves import CURVES, read_curves, write_curves
from dse.campaign.progress import LineDisplay
from dse.campaign.reading import load_campaign
from dse.campaign.runner import run_campaign
from dse.campaign.store import Store
from dse.cli.commands.run import find_layers
from dse.report.conclusions import conclude_study
from dse.report.page.commands import campaign_toml
from dse.report.page.standing import standings_table
from dse.report.plots.drawing import draw_figures
from dse.report.writing import Report, make_report, table_files
from tests.conftest import Dse

RESAMPLES = 100
PLAN = """
name = "limited"
budget = 600
seeds = 4
reference = "walk"
reprice = ["loopnest"]
cost_model = "maestro"
objectives = ["edp"]
accelerators = ["eyeriss-small"]
layers = ["alexnet:conv2", "resnet18:3"]

[searchers.random]
[searchers.walk]
[searchers.genetic]
population = 40
seeds = 2
budget = 300
"""


def plan(folder: Path, text: str = PLAN) -> Campaign:
    """The campaign in a file."""
    file = folder / "limited.toml"
    file.write_text(text)
    return load_campaign(str(file), find_layers)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a campaign of two layers in which one searcher has half of the seeds and samples."""
    folder = tmp_path_factory.mktemp("limited")
    with Store(folder / "campaign", plan(folder)) as store:
        run_campaign(store, LineDisplay(io.StringIO()), workers=1)
    return folder / "campaign"


@pytest.fixture(scope="module")
def report(whole: Path) -> Report:
    """Its report."""
    return make_report(whole)


def copied(whole: Path, folder: Path, *names: str) -> Path:
    """A folder with only some of what is in the whole one."""
    folder.mkdir(exist_ok=True)
    for name in names:
        (shutil.copytree if (whole / name).is_dir() else shutil.copy)(whole / name, folder / name)
    return folder


# What the folder says


@pytest.mark.parametrize("kept", [(CURVES,), (LEDGER,), (RECORDS,), (CURVES, LEDGER, RECORDS)])
def test_each_part_of_a_folder_tells_what_each_searcher_has(
    whole: Path, tmp_path: Path, kept: tuple[str, ...]
) -> None:
    found = load_study(copied(whole, tmp_path / "part", *kept))
    assert (found.budget, found.seeds, found.budgets) == (600, 4, (300, 500, 600))
    assert {name: (found.seeds_of(name), found.budget_of(name)) for name in found.searchers} == {
        "random": (4, 600),
        "walk": (4, 600),
        "genetic": (2, 300),
    }
    assert (found.planned, len(found.summaries), found.missing) == (20, 20, {})
    assert found.cut == ("genetic",)
    figures = analyse_study(found, RESAMPLES)
    assert figures.gap["genetic"].samples[-1] == 300
    assert not conclude_study(found, figures).headline.startswith("So far")


def test_a_campaign_under_way_lacks_only_what_was_planned(whole: Path, tmp_path: Path) -> None:
    folder = copied(whole, tmp_path / "part", LEDGER)
    with sqlite3.connect(folder / LEDGER) as database:
        database.execute(
            "UPDATE cells SET state = 'pending', summary = NULL, checksum = NULL "
            "WHERE key LIKE '%genetic--s1'"
        )
    database.close()
    found = load_study(folder)
    assert found.missing == {"genetic": 2}
    assert found.seeds_of("genetic") == 2
    assert found.planned == 20


def test_more_seeds_in_the_ledger_than_in_the_curves_are_the_searchers(whole: Path, tmp_path: Path) -> None:
    folder = copied(whole, tmp_path / "part", CURVES, LEDGER)
    more = PLAN.replace("seeds = 2\nbudget = 300", "seeds = 3\nbudget = 300")
    with Store(folder, plan(tmp_path, more)):
        pass
    found = load_study(folder)
    assert (found.seeds_of("genetic"), found.budget_of("genetic")) == (3, 300)
    assert found.missing == {"genetic": 2}


def test_limits_that_make_no_sense_are_refused_in_one_line(whole: Path, tmp_path: Path, dse: Dse) -> None:
    cells, about = read_curves(whole / CURVES)
    for limits in ([], {"genetic": {"budget": "many"}}, {"genetic": 3}):
        write_curves(tmp_path / CURVES, cells, about | {"limits": limits})
        assert ": the campaign: limits" in dse("report", str(tmp_path)).refused()


def test_the_pages_campaign_file_makes_the_same_cells(whole: Path, tmp_path: Path) -> None:
    found = load_study(whole)
    text = campaign_toml(found, make_problems(found)) or ""
    again = plan(tmp_path, text)
    assert {named.cell.fingerprint for named in again.cells()} == {one.fingerprint for one in found.summaries}
    assert again.showing == {"reference": "walk", "reprice": ["loopnest"]}


# How far figures go


def test_curves_end_at_the_searchers_own_budget(report: Report) -> None:
    figures = report.findings
    for bands in (figures.gap, *figures.convergence.values(), *figures.mean_losses.values()):
        assert {name: int(band.samples[-1]) for name, band in bands.items()} == {
            "random": 600,
            "walk": 600,
            "genetic": 300,
        }
    assert {name: int(grid[-1]) for name, (grid, _) in figures.ecdf.items()} == {
        "random": 600,
        "walk": 600,
        "genetic": 300,
    }


def test_figures_of_ends_leave_out_who_ends_before(report: Report) -> None:
    figures, found = report.findings, report.study
    both = ["random", "walk"]
    assert list(figures.profiles) == both
    assert list(figures.improvement.searchers) == both
    assert [row.searcher for row in figures.comparisons] == ["random"]
    assert np.isnan(figures.gap_seeds["genetic"]).all()
    assert not np.isnan(figures.gap_seeds["walk"]).any()
    assert "genetic" not in report.conclusions.headline
    assert {row.searcher for row in standings_table(found, figures).rows} == set(both)
    assert standings_table(found, figures).lacking == "genetic (300 samples a run)"
    overall = reprice_winners(found, RESAMPLES)[0].overall
    assert overall is not None
    assert {row.searcher for row in overall.rows} == set(both)


def test_rows_go_up_to_the_searchers_own_budget(report: Report) -> None:
    figures, found = report.findings, report.study
    for rows in (figures.layers, figures.standing, report.rows):
        budgets = {name: {row.budget for row in rows if row.searcher == name} for name in found.searchers}
        assert budgets == {"random": {300, 500, 600}, "walk": {300, 500, 600}, "genetic": {300}}
    assert {(row.searcher, row.budget) for row in figures.versus} == {
        ("random", 300), ("random", 500), ("random", 600), ("genetic", 300),
    }  # fmt: skip
    assert {row.seeds for row in figures.layers if row.searcher == "genetic"} == {2}
    assert {(row.seeds, row.other_seeds) for row in figures.versus if row.searcher == "genetic"} == {(4, 2)}
    assert {row.budget for row in figures.efficiency if "genetic" in (row.searcher, row.other)} == {300}
    assert {row.budget for row in figures.targets if row.searcher == "genetic"} == {300}
    assert {row.ratio_median for row in report.rows if row.searcher == "walk"} == {1.0}


def test_tables_have_a_dash_beyond_and_say_why(report: Report) -> None:
    files = table_files(report)
    for name in ("standing", "versus"):
        line = next(line for line in files[f"{name}.md"].splitlines() if line.startswith("| genetic"))
        assert "| - | - |" in line
        assert "A dash: beyond the budget of genetic (300 samples a run)." in files[f"{name}.md"]
    assert "| genetic | - | 4 : 2 | 0" in files["versus.md"]
    for name in ("layers", "reduction", "versus"):
        assert "Without genetic (300 samples a run)." in files[f"{name}.md"]
    after = files["layers.md"].split("after 500 samples")[1]
    assert "walk |" in after
    assert "genetic |" not in after
    assert "2 to 4 seeds" in files["standing.md"]
    assert "over 2 problems and 4 seeds" in files["repriced.md"]
    narrow = (
        "Only 2 to 4 seeds a problem, so confidence intervals of single problems assume log-normal losses, "
        "and two seeds have none."
    )
    assert narrow in report.conclusions.warnings
    note = next(note for note in report.conclusions.warnings if note.startswith("genetic"))
    assert note.startswith("genetic has 300 of 600 samples a run, and 2 of 4 seeds, as the campaign says")


def test_every_figure_draws_and_names_where_a_curve_ends(report: Report) -> None:
    drawings = draw_figures(report.study, report.findings)
    for name, drawing in drawings.items():
        words = [text.get_text() for axes in drawing.build().axes for text in axes.texts]
        named = name in ("gap", "convergence", "ecdf", "time", "returns")
        assert ("genetic to 300" in words) == named, name
    assert "Without genetic (300 samples a run)." in drawings["profiles"].caption


def test_nothing_lies_beyond_the_end_of_a_shorter_curve(report: Report) -> None:
    for name in ("gap", "ecdf"):
        axes = draw_figures(report.study, report.findings)[name].build().axes[0]
        in_data = [line for line in axes.lines if line.get_transform() == axes.transData]
        ends = sorted(max(line.get_xdata()) for line in in_data if len(line.get_xdata()) > 10)
        assert ends == [300, 600, 600]


def test_the_command_prints_and_tells_programs(whole: Path, tmp_path: Path, dse: Dse) -> None:
    folder = copied(whole, tmp_path / "part", CURVES)
    outcome = dse("report", str(folder), "--tables-only", "--table", "versus")
    assert outcome.code == 0, outcome
    assert "walk against" in outcome.out
    told = json.loads((folder / "summary.json").read_text())
    assert told["limits"] == {"genetic": {"seeds": 2, "budget": 300}}
    assert told["reference"] == "walk"
    assert set(told["standing"]) == {"random", "walk"}
    assert (told["planned"], told["cells"]) == (20, 20)


# What the figures are


def test_the_chance_at_each_budget_counts_pairs_of_runs(report: Report) -> None:
    found = report.study
    for row in report.findings.versus:
        wins = []
        for problem in found.problems:
            pairs = itertools.product(*(found.cells(problem, name) for name in ("walk", row.searcher)))
            losses = [(a.at(row.budget)["loss"], b.at(row.budget)["loss"]) for a, b in pairs]
            wins.append(np.mean([0.5 if a == b else float(a < b) for a, b in losses]))
        assert row.chance.value == pytest.approx(np.mean(wins), abs=1e-9)
        assert 0 <= row.chance.low <= row.chance.value <= row.chance.high <= 1


def test_the_mean_of_medians_is_geometric(report: Report) -> None:
    found = report.study
    for row in report.findings.standing:
        medians = [
            np.median([one.at(row.budget)["loss"] for one in found.cells(problem, row.searcher)])
            / found.target(problem)[0]
            for problem in found.problems
        ]
        assert row.median.value == pytest.approx(np.sqrt(medians[0] * medians[1]))
        assert row.median.low <= row.median.value <= row.median.high
        assert row.seeds == (2 if row.searcher == "genetic" else 4)
