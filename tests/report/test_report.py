"""The report that is written from a campaign's folder: whole or partial, from curves, ledger or samples."""

from __future__ import annotations

import itertools
import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
from matplotlib.figure import Figure

from dse.campaign.curves import CURVES, write_curves
from dse.report.page.page import Page
from dse.report.pictures import write_pictures
from dse.report.plots.drawing import Drawing
from dse.report.tables import NAMES
from dse.report.writing import make_report, table_files, tables_scope, write_report
from dse.support.errors import InputError, StorageError
from tests.analysis.report_cases import A, campaign, cell
from tests.conftest import Dse

COLUMNS = "network,objective,budget,searcher,median,best,ratio_median,ratio_best,seeds,low,high"


@pytest.fixture
def bare_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is drawn: these tests are about when and where figures are written."""
    monkeypatch.setattr(Drawing, "build", lambda *_: Figure(figsize=(2, 1)))


def test_the_report_is_made_of_the_curves_alone(tmp_path: Path) -> None:
    cells = [cell("walk", [(0, 6.0)]), cell("marl", [(0, 4.0), (700, 2.0)]), cell("grid", [])]
    point = {"repeats": 2, "loss": 8.0, "seconds": 8.0, "joules": 1.0}
    templates = {"nvdla": {"net:a on edge, latency": point}, "eyeriss": {}}
    report, path = write_report(
        campaign(tmp_path, cells, templates=templates, reference="marl"), pictures=False
    )
    text = (tmp_path / "tables" / "reduction.csv").read_text()
    assert text == (
        f"{COLUMNS}\n"
        "net:a,latency,500,walk,6.0,6.0,1.5,1.5,1,,\n"
        "net:a,latency,500,marl,4.0,4.0,1.0,1.0,1,,\n"
        "net:a,latency,500,grid,inf,inf,inf,inf,1,,\n"
        "net:a,latency,500,nvdla dataflow,8.0,8.0,2.0,2.0,0,,\n"
        "net:a,latency,1000,walk,6.0,6.0,3.0,3.0,1,,\n"
        "net:a,latency,1000,marl,2.0,2.0,1.0,1.0,1,,\n"
        "net:a,latency,1000,grid,inf,inf,inf,inf,1,,\n"
        "net:a,latency,1000,nvdla dataflow,8.0,8.0,4.0,4.0,0,,\n"
    )
    markdown = path.read_text()
    assert path == tmp_path / "tables" / "reduction.md"
    assert "## net:a: latency (s) after 1,000 samples" in markdown
    assert "| walk | 1 | 6 | 6 | 3 | 3 |" in markdown
    assert "| grid | 1 | infeasible | infeasible | - | - |" in markdown
    # A dataflow draws no samples: it is shown once, and not at each budget.
    assert markdown.count("| nvdla dataflow |") == 1
    assert report.missing == {}
    assert "3 cells of 1,000 samples a layer, 1 seed, cost model maestro" in tables_scope(report)
    names = {path.name for path in (tmp_path / "tables").iterdir()}
    assert names == {*table_files(report)}
    assert {
        "reduction.csv",
        "reduction.md",
        "standing.csv",
        "ledger.csv",
        "layers.md",
    } <= names


@pytest.mark.usefixtures("bare_figures")
def test_what_an_earlier_report_has_written_and_this_one_does_not_goes(tmp_path: Path) -> None:
    folder = campaign(tmp_path, [cell("walk", [(0, 6.0)])])
    write_report(folder, latex=True)
    pictures, tables = folder / "figures", folder / "tables"
    assert {path.stem for path in tables.glob("*.tex")} == {*NAMES} - {"fronts", "repriced"}
    assert {path.stem for path in pictures.glob("*.pdf")} == {path.stem for path in pictures.glob("*.png")}
    for name in ("geomean.md", "regret.csv", "repriced.md", "mine.md"):
        (tables / name).write_text("old")
    write_report(folder)
    assert not [*tables.glob("*.tex"), *pictures.glob("*.pdf")]
    assert {path.name for path in tables.iterdir() if path.read_text() == "old"} == {"mine.md"}


def test_the_report_says_which_cells_are_not_done(tmp_path: Path, dse: Dse) -> None:
    cells = [cell("marl", [(0, 1.0)]), cell("marl", [(0, 1.0)], seed=1), cell("walk", [(0, 1.0)])]
    campaign(tmp_path, cells, seeds=2, searchers=["marl", "walk", "broken"])
    report = make_report(tmp_path)
    assert report.missing == {"walk": 1, "broken": 2}
    assert report.conclusions.warnings[0].startswith("Cells not done: 1 of walk, 2 of broken.")
    assert report.conclusions.headline.startswith(
        "So far (3 of 6 cells), on 1 problem, marl and walk are nearest to the best"
    )
    told = dse("report", str(tmp_path), "--tables-only", "--json").json
    assert (told["cells"], told["missing"]) == (3, 3)
    assert told["report"] == str(tmp_path / "tables" / "reduction.md")
    assert told["reduction"][0] == {
        "network": "net:a", "objective": "latency", "budget": 500, "searcher": "marl", "median": 1.0,
        "best": 1.0, "ratio_median": 1.0, "ratio_best": 1.0, "seeds": 2, "low": None, "high": None,
    }  # fmt: skip


def test_a_campaign_with_nothing_done_has_an_empty_table(tmp_path: Path, dse: Dse) -> None:
    campaign(tmp_path, [], searchers=["marl"], problems=[A], seeds=2)
    outcome = dse("report", str(tmp_path), "--tables-only")
    assert outcome.code == 0
    assert "Cells not done: 2 of marl." in outcome.out
    assert (tmp_path / "tables" / "reduction.csv").read_text() == f"{COLUMNS}\n"


def test_the_table_at_the_full_budget_is_printed(tmp_path: Path, dse: Dse) -> None:
    out = dse("report", str(campaign(tmp_path, [cell("walk", [(0, 6.0)])])), "--tables-only").out
    ratios = "Ratios to the reference: a searcher's figure divided by that of walk. Above 1, walk is better."
    assert ratios in out
    assert "net:a: latency (s) after 1,000 samples" in out
    assert "after 500 samples" not in out
    assert out.endswith(f"report: {tmp_path / 'tables' / 'reduction.md'}\n")


def test_a_report_written_again_takes_the_place_of_the_old(tmp_path: Path) -> None:
    write_report(campaign(tmp_path, [cell("walk", [(0, 6.0)])]), pictures=False)
    write_report(campaign(tmp_path, [cell("walk", [(0, 5.0)])]), pictures=False)
    assert ",5.0," in (tmp_path / "tables" / "reduction.csv").read_text()


# What is wrong with a folder


def test_a_folder_without_a_campaign_is_refused(tmp_path: Path, dse: Dse) -> None:
    for folder in (tmp_path, tmp_path / "absent"):
        message = dse("report", str(folder)).refused()
        assert message == (
            f"'{folder}' holds no {CURVES} (nor ledger.sqlite, nor cells/); "
            "name a folder that `dse run` has written"
        )


@pytest.mark.parametrize("damage", ["cut", "text", "empty", "other"])
def test_damaged_curves_are_refused_in_one_line(tmp_path: Path, dse: Dse, damage: str) -> None:
    path = campaign(tmp_path, [cell("walk", [(0, 6.0)])]) / CURVES
    whole = path.read_bytes()
    if damage == "other":
        import pyarrow as pa
        import pyarrow.parquet as pq

        pq.write_table(pa.table({"loss": [1.0]}), path)
    else:
        path.write_bytes({"cut": whole[: len(whole) // 2], "text": b"curves", "empty": b""}[damage])
    message = dse("report", str(tmp_path)).refused()
    assert f"'{path}'" in message
    assert not (tmp_path / "tables").exists()


def test_curves_that_do_not_say_what_the_campaign_was_are_refused(tmp_path: Path, dse: Dse) -> None:
    write_curves(tmp_path / CURVES, [cell("walk", [(0, 6.0)])], {"campaign": "test"})
    assert (
        "the campaign lacks 'budget', 'cost_model', 'seeds', 'searchers', 'problems'"
        in dse("report", str(tmp_path)).refused()
    )


def test_a_cell_that_the_campaign_does_not_have_is_refused(tmp_path: Path, dse: Dse) -> None:
    for stranger in (cell("other", []), replace(cell("walk", []), accelerator="egde")):
        campaign(tmp_path, [stranger], searchers=["walk"], problems=[A])
        assert "is damaged: its campaign has no cell 'net:a--" in dse("report", str(tmp_path)).refused()


def test_a_folder_that_cannot_be_written_is_refused(tmp_path: Path, dse: Dse) -> None:
    campaign(tmp_path, [cell("walk", [(0, 6.0)])])
    (tmp_path / "tables").write_text("in the way")
    with pytest.raises(StorageError):
        write_report(tmp_path)
    said = dse("report", str(tmp_path)).refused()
    assert said == f"folder '{tmp_path / 'tables'}' cannot be read: Not a directory"


def test_a_half_written_report_leaves_the_old_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_report(campaign(tmp_path, [cell("walk", [(0, 6.0)])]), pictures=False)
    before = (tmp_path / "tables" / "reduction.csv").read_text()
    campaign(tmp_path, [cell("walk", [(0, 5.0)])])

    def full(file: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InputError, match="cannot be written: No space left on device"):
        write_report(tmp_path)
    monkeypatch.undo()
    assert (tmp_path / "tables" / "reduction.csv").read_text() == before
    assert not [path for path in (tmp_path / "tables").iterdir() if path.name.startswith(".")]


# What is beside the tables


def test_the_summary_for_programs_is_plain_json(tmp_path: Path) -> None:
    write_report(campaign(tmp_path, [cell("walk", [(0, 6.0)]), cell("marl", [])]), pictures=False)

    def never(text: str) -> None:
        raise AssertionError(f"{text} is not JSON")

    told = json.loads((tmp_path / "summary.json").read_text(), parse_constant=never)
    assert told["standing"]["walk"] == {"value": 1.0, "low": 1.0, "high": 1.0}
    assert told["standing"]["marl"]["value"] is None
    assert told["headline"].startswith("On 1 problem, walk is nearest to the best known")
    assert told["sentences"][0]["table"] == "standing"
    assert told["targets"] == {"net:a on edge, latency": {"loss": 6.0, "proven": False}}
    assert (told["cells"], told["planned"], told["reference"]) == (2, 2, "walk")


@pytest.mark.usefixtures("bare_figures")
def test_the_page_is_there_before_its_figures_which_come_as_they_are_drawn(tmp_path: Path) -> None:
    campaign(tmp_path, [cell("walk", [(0, 6.0)]), cell("marl", [(0, 5.0)])])
    seen: list[tuple[str, str, int]] = []

    def look(text: str) -> None:
        page = tmp_path / "index.html"
        shown = page.read_text(encoding="utf-8") if page.exists() else ""
        seen.append((text, shown, len([*tmp_path.glob("figures/*.png")])))

    _, path = write_report(tmp_path, tell=look)
    steps = [text for text, _, _ in seen]
    assert steps[:2] == [f"report: reading {tmp_path}", "report: analysing 2 runs"]
    drawn = [one for one in seen if "can be opened; drawing figure" in one[0]]
    assert len(drawn) == len([one for one in seen if "has all its figures" in one[0]]) == 9
    assert f"{path} can be opened; drawing figure 1 of 9 on it" in drawn[0][0]
    for _, page, files in drawn:
        assert 'id="answer"' in page
        assert "Being drawn: " in page
        assert files == 0
    whole = [(page, files) for text, page, files in seen if "has all its figures" in text]
    assert [files for _, files in whole] == [*range(9)]
    assert all("Being drawn" not in page and page.count('class="paper"') == 9 for page, _ in whole)
    assert 'href="figures/gap.png"' not in whole[0][0]
    assert 'href="figures/gap.png"' in path.read_text(encoding="utf-8")


@pytest.mark.usefixtures("bare_figures")
def test_figures_that_take_long_are_on_the_page_before_the_last_is_drawn(tmp_path: Path) -> None:
    campaign(tmp_path, [cell("walk", [(0, 6.0)]), cell("marl", [(0, 5.0)])])
    report = make_report(tmp_path)
    counts: list[int] = []
    page = tmp_path / "index.html"
    write_pictures(
        report.study, report.findings, Page.of(report.study, report.findings, [], ()),
        tell=lambda text: counts.append(page.read_text(encoding="utf-8").count('class="paper"')),
        clock=itertools.count(0, 3.0).__next__,
    )  # fmt: skip
    assert counts[:9] == [*range(9)]
