"""A campaign of several objectives: its regret is what each run's front lacks of the exact one."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np
import pytest

from dse.analysis.analysis import analyse_study
from dse.analysis.sources import read_cell
from dse.analysis.study import load_study
from dse.campaign.config import Shard
from dse.campaign.executors import InProcess
from dse.campaign.merging import merge_folders
from dse.campaign.progress import LineDisplay
from dse.campaign.reading import load_campaign
from dse.campaign.runner import run_campaign
from dse.campaign.store import Store
from dse.campaign.worker import RECORDS
from dse.cli.commands.run import find_layers
from dse.optimum.front import certify_front, front_regret
from dse.report.conclusions import conclude_study
from dse.report.plots.convergence import fronts_figure
from dse.report.writing import make_report, table_files
from dse.search.fronts import front_of
from tests.conftest import Dse
from tests.report.rendering import render_page

PLAN = """
name = "both"
budget = 100
seeds = 2
cost_model = "loopnest"
objectives = ["{objectives}"]
accelerators = ["edge"]
layers = ["resnet18:11"]
[searchers.{searcher}]
[searchers.random]
"""


def write(folder: Path, objectives: str = "latency,energy", searcher: str = "nsga2") -> str:
    path = folder / "both.toml"
    path.write_text(PLAN.format(objectives=objectives, searcher=searcher))
    return str(path)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Both shards of the campaign, put together."""
    home = tmp_path_factory.mktemp("both")
    plan, shards = load_campaign(write(home), find_layers), [home / "1", home / "2"]
    for number, shard in enumerate(shards, 1):
        with Store(shard, plan, Shard(number, 2)) as store:
            run_campaign(store, LineDisplay(io.StringIO()), workers=1, make_executor=InProcess)
    merge_folders(shards, home / "all")
    return home / "all"


def test_the_loss_of_a_run_is_what_its_record_lacks_of_the_exact_front(folder: Path) -> None:
    study = load_study(folder)
    (problem,) = study.problems
    assert study.target(problem) == (1.0, True)
    assert len(study.summaries) == 4
    for cell in study.summaries:
        made, record = read_cell(folder / RECORDS / f"{cell.key}.parquet")
        after = [1, 10, 50, 100]
        lacks = front_regret(certify_front(made), made, record, after)
        told = np.array([cell.at(samples)["loss"] for samples in after]) - 1.0
        assert np.minimum(told, 1.0) == pytest.approx(lacks, abs=1e-12)
        genes = np.array(cell.genes).reshape(-1, len(made.space.sizes))
        assert set(map(tuple, genes)) == set(map(tuple, record.genes()[front_of(made, record)[0]]))


def test_the_table_has_it_over_samples_with_intervals(folder: Path) -> None:
    rows = list(csv.DictReader(table_files(make_report(folder))["fronts.csv"].splitlines()))
    assert {row["searcher"] for row in rows} == {"nsga2", "random"}
    assert {row["proven"] for row in rows} == {"True"}
    assert all(0 <= float(row["low"]) <= float(row["missing"]) <= float(row["high"]) <= 1 for row in rows)
    finals = [cell.best - 1 for cell in load_study(folder).summaries if cell.searcher == "random"]
    (last,) = (r for r in rows if (r["problem"], r["searcher"], r["budget"]) == ("all", "random", "100"))
    assert float(last["missing"]) == pytest.approx(np.mean(finals))


def test_the_headline_says_what_is_missing_and_names_no_ratio_to_an_optimum(folder: Path) -> None:
    study = load_study(folder)
    findings = analyse_study(study, 10)
    said = conclude_study(study, findings).headline
    best = min(band.at(study.budget).value for band in findings.fronts.values())
    assert f"nearest to the exact front after 100 samples, with {best:.1%} of its hypervolume missing" in said
    assert "times" not in said


def test_a_figure_shows_it(folder: Path) -> None:
    study = load_study(folder)
    figure = fronts_figure(study, analyse_study(study, 10))
    assert figure.axes[0].get_ylabel() == "regret"


def test_the_page_has_the_fronts_with_their_mappings(folder: Path) -> None:
    study = load_study(folder)
    page = render_page(study, analyse_study(study, 10))
    exact = study.about["optima"][study.label(study.problems[0])]["front"]
    assert page.count("<title>exact front: ") == len(exact)
    assert "<title>nsga2, seed " in page
    assert "parallel" in page.partition("<title>exact front: ")[2].partition("</title>")[0]


@pytest.mark.parametrize(
    ("objectives", "searcher", "said"),
    [
        ("latency, area", "nsga2", "of several objectives a campaign takes 'latency, energy'"),
        ("latency, energy", "genetic", "searcher 'genetic' minimises one objective"),
        ('latency, energy", "edp', "nsga2", "'energy, latency' and 'edp' need one campaign each"),
    ],
)
def test_what_has_no_exact_front_is_refused(
    tmp_path: Path, dse: Dse, objectives: str, searcher: str, said: str
) -> None:
    plan = write(tmp_path, objectives, searcher)
    assert said in dse("run", plan, "--out", str(tmp_path / "out")).refused()
