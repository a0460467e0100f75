"""A report's tables: the questions they answer, their figures, and how these are written."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest

from dse.campaign.summary import Summary
from dse.core.reasons import Reason
from dse.report.tables import NAMES
from dse.report.writing import write_report
from tests.analysis.report_cases import A, B, campaign, cell
from tests.conftest import Dse

COLUMNS = "network,objective,budget,searcher,median,best,ratio_median,ratio_best,seeds,low,high"


def test_every_table_says_which_question_it_answers(tmp_path: Path) -> None:
    cells = [cell("walk", [(0, 6.0)]), cell("marl", [(0, 4.0)])]
    report, _ = write_report(campaign(tmp_path, cells, reprice=["loopnest"]), pictures=False)
    assert [table.name for table in report.tables] == [name for name in NAMES if name != "fronts"]
    assert len({table.question for table in report.tables}) == 7
    for table in report.tables:
        text = (tmp_path / "tables" / f"{table.name}.md").read_text()
        assert f"# {table.question}\n" in text
        assert table.question.endswith("?")


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


def test_layers_by_searchers_have_their_geometric_mean(tmp_path: Path) -> None:
    found = {"walk": (4.0, 1.0), "grid": (1.0, 9.0)}
    cells = [
        cell(name, [(0, loss)], at)
        for name, both in found.items()
        for loss, at in zip(both, (A, B), strict=True)
    ]
    cells.append(cell("marl", [(0, 1.0)], A))
    write_report(campaign(tmp_path, cells), pictures=False)
    text = (tmp_path / "tables" / "layers.md").read_text()
    assert "| problem | walk | grid | marl |" in text
    assert "| net:a on edge, latency | 4.000 | 1.000 | 1.000 |" in text
    assert "| geometric mean | 2.000 | 3.000 | - |" in text


def test_where_latex_is_or_how_to_have_it_is_said(tmp_path: Path, dse: Dse) -> None:
    folder = str(campaign(tmp_path, [cell("walk", [(0, 6.0)])]))
    assert "--latex writes the tables as LaTeX too" in dse("report", folder, "--tables-only").out
    assert f"LaTeX: {tmp_path / 'tables'}/*.tex" in dse("report", folder, "--tables-only", "--latex").out


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


def test_any_table_can_be_printed_in_full(tmp_path: Path, dse: Dse) -> None:
    folder = str(campaign(tmp_path, [cell("walk", [(0, 6.0)]), cell("marl", [(600, 3.0)])]))
    out = dse("report", folder, "--tables-only", "--table", "layers", "--table", "targets").out
    assert "What has each searcher found on each layer" in out
    assert "Every layer after 500 samples" in out
    assert "Every layer after 1,000 samples" in out
    assert "walk needs 0.0017 times as many samples as marl to reach walk's" in " ".join(out.split())
    assert "net: latency" not in out
    message = dse("report", folder, "--table", "layer").refused()
    assert message == "unknown table 'layer' in --table; did you mean 'layers'?"


def test_a_table_that_is_printed_alone_leaves_the_folder_as_it_is(tmp_path: Path, dse: Dse) -> None:
    folder = campaign(tmp_path, [cell("walk", [(0, 6.0)]), cell("marl", [(600, 3.0)])])
    before = sorted(folder.rglob("*"))
    out = dse("report", str(folder), "--table", "layers").out
    assert "Every layer after 1,000 samples" in out
    assert "report:" not in out
    assert sorted(folder.rglob("*")) == before


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
        "Total over 2 distinct layers, each counted as often as it repeats.",
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
        ("edp", "energy times latency of the whole. Each layer's EDP was minimised separately."),
        ("area", "The largest of 1 distinct layer."),
    ],
)
def test_how_a_network_s_figure_is_made_is_said(tmp_path: Path, objective: str, words: str) -> None:
    cells = [cell("walk", [(0, 6.0)], ("net:a", "edge", objective))]
    ((_, note),) = reduction_heads(tmp_path, cells, networks=[["net", "edge", objective]])
    assert note.endswith(words)
