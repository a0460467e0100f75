"""The report that is written from a campaign's folder: whole or partial, from curves, ledger or samples."""

from __future__ import annotations

import csv
import itertools
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dse.campaign.curves import CURVES, write_curves
from dse.campaign.summary import Summary
from dse.core.reasons import Reason
from dse.report.pictures import write_pictures
from dse.report.tables import NAMES
from dse.report.writing import make_report, scope, table_files, write_report
from dse.support.errors import InputError, StorageError
from tests.analysis.report_cases import A, B, campaign, cell
from tests.conftest import Dse

COLUMNS = "network,objective,budget,searcher,median,best,ratio_median,ratio_best,seeds,low,high"


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
    assert report.missing == {}
    assert "3 cells of 1,000 samples a layer, 1 seed, cost model maestro" in scope(report)
    names = {path.name for path in (tmp_path / "tables").iterdir()}
    assert names == {*table_files(report)}
    assert {
        "reduction.csv",
        "reduction.md",
        "standing.csv",
        "ledger.csv",
        "layers.md",
    } <= names


def test_every_table_says_which_question_it_answers(tmp_path: Path) -> None:
    cells = [cell("walk", [(0, 6.0)]), cell("marl", [(0, 4.0)])]
    report, _ = write_report(campaign(tmp_path, cells, reprice=["loopnest"]), pictures=False)
    assert [table.name for table in report.tables] == list(NAMES)
    assert len({table.question for table in report.tables}) == 7
    for table in report.tables:
        text = (tmp_path / "tables" / f"{table.name}.md").read_text()
        assert f"# {table.question}\n" in text
        assert table.question.endswith("?")


def test_what_an_earlier_report_has_written_and_this_one_does_not_goes(tmp_path: Path) -> None:
    folder = campaign(tmp_path, [cell("walk", [(0, 6.0)])])
    write_report(folder, latex=True)
    pictures, tables = folder / "figures", folder / "tables"
    assert {path.stem for path in tables.glob("*.tex")} == {*NAMES} - {"repriced"}
    assert {path.stem for path in pictures.glob("*.pdf")} == {path.stem for path in pictures.glob("*.png")}
    for name in ("geomean.md", "regret.csv", "repriced.md", "mine.md"):
        (tables / name).write_text("old")
    write_report(folder)
    assert not [*tables.glob("*.tex"), *pictures.glob("*.pdf")]
    assert {path.name for path in tables.iterdir() if path.read_text() == "old"} == {"mine.md"}


def test_reasons_are_explained_below_their_counts(tmp_path: Path, dse: Dse) -> None:
    folder = campaign(tmp_path, [cell("marl", [(0, 1.0)])])
    shown = " ".join(dse("report", str(folder), "--tables-only").out.split())
    explained = f"L1 too small: {Reason.L1_TOO_SMALL.meaning}."
    assert explained in shown
    assert explained in (tmp_path / "tables" / "ledger.md").read_text()


def test_the_csv_keeps_all_digits_and_leaves_absent_ratios_empty(tmp_path: Path) -> None:
    write_report(campaign(tmp_path, [cell("grid", []), cell("walk", [(0, 0.1 + 0.2)])]), pictures=False)
    *_, line = csv.DictReader((tmp_path / "tables" / "reduction.csv").read_text().splitlines())
    assert float(line["median"]) == 0.1 + 0.2
    assert line["ratio_median"] == line["ratio_best"] == ""


def test_a_published_ratio_is_shown_beside_ours(tmp_path: Path) -> None:
    cells = [cell(name, [(0, loss)], A) for name, loss in (("walk", 1.0), ("grid", 2.0))]
    where = {"source": "Our elders", "network": "net", "objective": "latency"}
    _, path = write_report(
        campaign(tmp_path, cells, published=[where | {"ratios": {"grid": 4.06}}]), pictures=False
    )
    text = path.read_text()
    # What was published is of the network, not of one of its layers.
    assert "| median / walk's | best / walk's | Our elders, net |" in text
    assert "| walk | 1 | 1 | 1 | 1 | 1 | - |" in text
    assert "| grid | 1 | 2 | 2 | 2 | 2 | 4.06 |" in text
    _, path = write_report(
        campaign(
            tmp_path,
            cells,
            published=[where | {"ratios": {"grid": 4.06}}],
            networks=[["net", "edge", "latency"]],
        ),
        pictures=False,
    )
    assert "| median / walk's | best / walk's | Our elders |" in path.read_text()


def test_without_published_ratios_of_its_searchers_a_table_has_no_column_for_them(tmp_path: Path) -> None:
    entry = {"source": "Our elders", "network": "net", "objective": "latency", "ratios": {"grid": 4.06}}
    other = {**entry, "network": "another", "ratios": {"walk": 2.0}}
    cells = [cell("walk", [(0, 1.0)])]
    _, path = write_report(campaign(tmp_path, cells, published=[entry, other]), pictures=False)
    assert "Our elders" not in path.read_text()


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


def test_what_a_campaign_has_still_to_prove_is_not_said_to_be_unproven(tmp_path: Path) -> None:
    def head(**about: object) -> list[str]:
        write_report(campaign(tmp_path, [cell("marl", [(0, 1.0)])], **about), pictures=False)
        return (tmp_path / "tables" / "standing.md").read_text().splitlines()[2:5:2]

    proof = {"status": "optimal", "lower_bound": 1.0, "loss": 1.0}
    title, note = head(seeds=2)
    assert "over the best known after" in title
    assert note.startswith("Optima are not proven yet. Interquartile mean")
    title, note = head()
    assert "over the best known after" in title
    assert note.startswith("Of the best known, none of 1 is a proven optimum.")
    title, note = head(seeds=2, optima={"net:a on edge, latency": proof})
    assert "over the proven optimum after" in title
    assert note.startswith("Interquartile mean")


def test_a_campaign_with_nothing_done_has_an_empty_table(tmp_path: Path, dse: Dse) -> None:
    campaign(tmp_path, [], searchers=["marl"], problems=[A], seeds=2)
    outcome = dse("report", str(tmp_path), "--tables-only")
    assert outcome.code == 0
    assert "Cells not done: 2 of marl." in outcome.out
    assert (tmp_path / "tables" / "reduction.csv").read_text() == f"{COLUMNS}\n"


def test_the_table_at_the_full_budget_is_printed(tmp_path: Path, dse: Dse) -> None:
    out = dse("report", str(campaign(tmp_path, [cell("walk", [(0, 6.0)])])), "--tables-only").out
    assert (
        "Ratios are a searcher's figure divided by walk's, the first searcher, as the campaign names no "
        "reference: above 1, walk is better."
    ) in out
    assert "net:a: latency (s) after 1,000 samples" in out
    assert "after 500 samples" not in out
    assert out.endswith(f"report: {tmp_path / 'tables' / 'reduction.md'}\n")


def test_a_report_written_again_takes_the_place_of_the_old(tmp_path: Path) -> None:
    write_report(campaign(tmp_path, [cell("walk", [(0, 6.0)])]), pictures=False)
    write_report(campaign(tmp_path, [cell("walk", [(0, 5.0)])]), pictures=False)
    assert ",5.0," in (tmp_path / "tables" / "reduction.csv").read_text()


def test_a_name_is_text_in_every_table_whatever_stands_in_it(tmp_path: Path) -> None:
    hostile = "<img src=x onerror=alert(1)> [a](http://b) `c` \\| &lt;"
    cells = [
        cell(f"{hostile}{number}", [(0, 4.0 + number)], (f"net{hostile}:a", f"{hostile} machine", "edp"))
        for number in range(2)
    ]
    about = {"campaign": hostile, "machines": {f"{hostile} machine": f"{hostile} called"}}
    write_report(campaign(tmp_path, cells, **about), pictures=False, latex=True)
    texts = {path.name: path.read_text() for path in (tmp_path / "tables").glob("*.md")}
    shown = r"&lt;img src=x onerror=alert(1)> [a]\(http://b) \`c\` \\\| &amp;lt;"
    assert texts["reduction.md"].startswith(f"# Campaign {shown}\n")
    assert f"on {shown} machine ({shown} called), cost model" in texts["reduction.md"]
    for text in texts.values():
        assert "<" not in text
        assert "onerror" not in text.replace(shown, "")
    for path in (tmp_path / "tables").glob("*.tex"):
        assert "<img" not in path.read_text()


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


def test_any_table_can_be_printed_in_full(tmp_path: Path, dse: Dse) -> None:
    folder = str(campaign(tmp_path, [cell("walk", [(0, 6.0)]), cell("marl", [(600, 3.0)])]))
    out = dse("report", folder, "--tables-only", "--table", "layers", "--table", "targets").out
    assert "Every layer after 500 samples" in out
    assert "Every layer after 1,000 samples" in out
    assert "walk needs 0.0017 times as many samples as marl to reach its own" in " ".join(out.split())
    assert "net: latency" not in out
    message = dse("report", folder, "--table", "layer").refused()
    assert message == "unknown table 'layer' in --table; did you mean 'layers'?"


def test_what_is_written_says_the_same_in_every_form(tmp_path: Path) -> None:
    cells = [cell("a_b & c|d", [(0, 6.0)], seed=seed) for seed in (0, 1)]
    folder = campaign(tmp_path, [*cells, cell("marl", [(0, 3.0)])], seeds=2)
    write_report(folder, pictures=False, latex=True)
    tables = tmp_path / "tables"
    assert "a_b & c\\|d" in (tables / "ledger.md").read_text()
    assert (
        r"a\_b \& c\textbar{}d & 2 & 2,000 & 2,000 & 0\% & 6 & 0 & 1.0 & 0.5 \\"
        in (tables / "ledger.tex").read_text()
    )
    with (tables / "ledger.csv").open(newline="") as file:
        row, *_ = csv.DictReader(file)
    assert (row["searcher"], row["samples"], row["infeasible"], row["l1_too_small"]) == (
        "a_b & c|d",
        "2000",
        "6",
        "6",
    )
    for path in tables.glob("*.tex"):
        text = path.read_text()
        assert text.count(r"\begin{") == text.count(r"\end{")
        assert text.count("{") - text.count(r"\{") == text.count("}") - text.count(r"\}")


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


@pytest.mark.parametrize(("model", "unit"), [("loopnest", "mm2"), ("maestro", "um2")])
def test_the_unit_of_a_figure_is_that_of_the_campaigns_model(tmp_path: Path, model: str, unit: str) -> None:
    cells = [cell("walk", [(0, 6.5)], ("net:a", "edge", "area"))]
    _, path = write_report(campaign(tmp_path, cells, cost_model=model), pictures=False)
    assert f"## net:a: area ({unit}) after 1,000 samples" in path.read_text()


def reduction_heads(folder: Path, cells: list[Summary], **about: Any) -> list[tuple[str, str]]:
    """The titles and notes of the reduction table's sections at the full budget."""
    write_report(campaign(folder, cells, **about), pictures=False)
    lines = (folder / "tables" / "reduction.md").read_text().splitlines()
    places = [
        place for place, line in enumerate(lines) if line.endswith(("1,000 samples", "samples a layer"))
    ]
    titles = [(lines[place], lines[place + 2]) for place in places if "after 1,000" in lines[place]]
    return [(title, "" if note.startswith("|") else note) for title, note in titles]


def test_a_whole_network_has_a_total_over_layers_as_often_as_they_repeat(tmp_path: Path) -> None:
    cells = [cell("walk", [(0, 6.0)], problem) for problem in (A, B)]
    (head,) = reduction_heads(tmp_path, cells, networks=[["net", "edge", "latency"]])
    assert head == (
        "## net: latency (s) after 1,000 samples a layer",
        "Total over 2 distinct layers, each as often as it repeats.",
    )
    assert "| walk | 1 | 30 | 30 | 1 | 1 |" in (tmp_path / "tables" / "reduction.md").read_text()


def test_layers_asked_for_by_themselves_have_no_totals(tmp_path: Path) -> None:
    cells = [cell("walk", [(0, 6.0)], problem) for problem in (A, B)]
    heads = reduction_heads(tmp_path, cells)
    assert heads == [(f"## net:{name}: latency (s) after 1,000 samples", "") for name in "ab"]
    assert "| walk | 1 | 6 | 6 | 1 | 1 |" in (tmp_path / "tables" / "reduction.md").read_text()


@pytest.mark.parametrize(
    ("objective", "words"),
    [
        ("edp", "it repeats: energy times latency, where each layer's EDP was minimised by itself."),
        ("area", "The largest of 1 distinct layer."),
    ],
)
def test_how_a_network_s_figure_is_made_is_said(tmp_path: Path, objective: str, words: str) -> None:
    cells = [cell("walk", [(0, 6.0)], ("net:a", "edge", objective))]
    ((_, note),) = reduction_heads(tmp_path, cells, networks=[["net", "edge", objective]])
    assert note.endswith(words)


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


def test_figures_that_take_long_are_on_the_page_before_the_last_is_drawn(tmp_path: Path) -> None:
    campaign(tmp_path, [cell("walk", [(0, 6.0)]), cell("marl", [(0, 5.0)])])
    report = make_report(tmp_path)
    counts: list[int] = []
    page = tmp_path / "index.html"
    write_pictures(
        report.study, report.findings, [], (),
        tell=lambda text: counts.append(page.read_text(encoding="utf-8").count('class="paper"')),
        clock=itertools.count(0, 3.0).__next__,
    )  # fmt: skip
    assert counts[:9] == [*range(9)]
