"""The report's page as text: what it says, what it escapes, and that what it offers to copy works."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dse.analysis.analysis import analyse_study
from dse.analysis.findings import Findings
from dse.analysis.study import Study, load_study, make_problems
from dse.campaign.reading import load_campaign
from dse.cli.commands.run import find_layers
from dse.domains.clustered.formats.dataflow_text import read_maestro_text
from dse.domains.clustered.mapping import Mapping
from dse.report.conclusions import conclude_study
from dse.report.formats import Section, Table
from dse.report.page.commands import campaign_toml
from dse.report.page.mappings import BestMapping, best_mappings, gap_to_optimum
from dse.report.page.provenance import study_fingerprint
from dse.report.writing import make_report, tables_scope
from tests.conftest import Dse
from tests.report.page_cases import run_small_campaign
from tests.report.page_texts_cases import FC_EDP, Parsed
from tests.report.rendering import render_page

SPACE = "\N{NO-BREAK SPACE}"


@pytest.fixture(scope="module")
def bests(study: Study) -> dict[Any, BestMapping]:
    return {best.problem: best for best in best_mappings(study, make_problems(study))}


# What it says


def test_every_sentence_of_the_result_and_every_warning_is_shown(
    study: Study, findings: Findings, rendered: str
) -> None:
    text = Parsed(rendered).text
    conclusions = conclude_study(study, findings)
    assert all(sentence.text in text for sentence in conclusions.sentences)
    assert len(conclusions.warnings) > 1
    assert all(warning in text for warning in conclusions.warnings)


def test_the_standing_lists_the_searchers_by_their_ratio_with_its_interval(
    findings: Findings, rendered: str
) -> None:
    page = rendered
    section = Parsed(page[page.index('<section id="standing"') : page.index('<section id="provenance"')])
    ratios = {name: band.centre[-1] for name, band in findings.gap.items()}
    places = [section.text.index(f"\n{name}\n") for name in sorted(ratios, key=lambda name: ratios[name])]
    assert places == sorted(places)
    for name, band in findings.gap.items():
        assert f"{ratios[name]:.3f}" in section.text, name
        assert f"{band.low[-1]:.3f} to {band.high[-1]:.3f}" in section.text, name


def test_the_page_says_what_was_run_and_on_what(study: Study, rendered: str) -> None:
    text = Parsed(rendered).text
    for said in (
        "36 of 36 done",
        "150 samples a run",
        "n_walkers = 8",
        "walk-8",
        "256 PEs",
        "36 runs in 2 s by 1 worker",
    ):
        assert said in text, said
    versions = dict(study.about["versions"])
    rules = versions.pop("dse-arena")
    assert f"rules of records {rules}" in text
    assert text.count("dse-arena 0") == 1, "the package's version alone"
    for name, version in versions.items():
        assert f"{name} {version}" in text
    assert str(study.about["runs"][0]["machine"]["processor"]) in text
    assert study_fingerprint(study) in text


def test_an_accelerators_own_name_stands_beside_what_the_campaign_calls_it(
    study: Study, findings: Findings
) -> None:
    named = replace(study, about=study.about | {"machines": {"edge": "the <b>big</b> one"}})
    assert "edge (the &lt;b&gt;big&lt;/b&gt; one)" in render_page(named, findings)
    assert " on edge (the" in tables_scope(replace(make_report(study.folder), study=named))


def test_the_same_study_gives_the_same_page(study: Study, rendered: str) -> None:
    assert rendered == render_page(load_study(study.folder), analyse_study(study, resamples=50))


def test_the_fingerprint_does_not_depend_on_the_order_of_cells_but_on_each_of_them(study: Study) -> None:
    turned = replace(study, summaries=study.summaries[::-1])
    other = replace(
        study, summaries=(*study.summaries[1:], replace(study.summaries[0], fingerprint="f" * 64))
    )
    assert study_fingerprint(turned) == study_fingerprint(study) != study_fingerprint(other)


def test_tables_figures_and_files_stand_in_the_order_given(study: Study, findings: Findings) -> None:
    second = Section("Second to none", ["searcher", "loss"], [["walk", "1.5"]])
    tables = [
        Table("a", "Which a?", (), (), (), (second,)),
        Table("b", "Which b?", (), (), (), (Section("First", ["a"], [["b"]]),)),
    ]
    drawn = {"convergence": "<?xml?><svg width='9'><g/></svg>"}
    page = render_page(study, findings, drawn, tables, ["tables/a.csv", "tables/b.tex"])
    assert (
        page.index("<svg")
        < page.index("Which a?")
        < page.index("Second to none")
        < page.index("Which b?")
        < page.index("First")
        < page.index("a.csv")
    )
    assert {"tables/a.csv", "tables/b.tex"} <= set(Parsed(page).all("href"))


# The best mappings


def test_the_winner_is_the_lowest_of_all_runs_and_of_equals_the_one_with_the_fewest_samples(
    study: Study, bests: dict[Any, BestMapping]
) -> None:
    for problem, best in bests.items():
        cells = [cell for name in study.searchers for cell in study.cells(problem, name)]
        assert best.cell is not None
        assert best.cell.best == min(cell.best for cell in cells)
        firsts = [cell.steps["index"][-1] + 1 for cell in cells if cell.best == best.cell.best]
        assert best.sample == min(firsts)
        assert sum(best.equals.values()) == len(firsts)


def test_what_is_copied_is_the_mapping_that_the_record_holds(
    bests: dict[Any, BestMapping], study: Study
) -> None:
    for problem, best in bests.items():
        made = study.make_problem(problem)
        assert best.priced is not None
        assert best.cell is not None
        assert made is not None
        genes = np.array([best.cell.genes])
        mapping = made.space.decode(genes)[0]
        assert Mapping.from_json(best.priced.json) == mapping
        assert read_maestro_text(best.priced.maestro)[1] == mapping
        assert made.price(genes).loss[0] == best.loss
        assert best.priced.agrees
        assert best.priced.evaluation.figures["cycles"] == best.cell.at(best.sample)["cycles"]


def test_the_check_command_prices_the_mapping_at_the_loss_on_the_page(bests: dict[Any, BestMapping]) -> None:
    best = bests[FC_EDP]
    assert best.priced is not None
    command = best.priced.check.replace(
        "dse evaluate", f"{shlex.quote(sys.executable)} -m dse evaluate --json"
    )
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=120, check=True)
    assert json.loads(done.stdout)["loss"]["edp"] == best.loss


def test_the_search_command_finds_the_mapping_again(bests: dict[Any, BestMapping], dse: Dse) -> None:
    for best in bests.values():
        assert best.priced is not None
        found = dse(*shlex.split(best.priced.again)[1:], "--json").json["best"]
        assert found["loss"] == best.loss
        assert found["mapping"] == json.loads(best.priced.json)


def test_the_campaign_file_makes_the_same_cells(study: Study, tmp_path: Path) -> None:
    file = tmp_path / "again.toml"
    file.write_text(campaign_toml(study, make_problems(study)) or "", encoding="utf-8")
    again = {named.key: named.cell.fingerprint for named in load_campaign(str(file), find_layers).cells()}
    assert again == {cell.key: cell.fingerprint for cell in study.summaries}


def test_commands_keep_tiles_fixed_genes_the_first_seed_and_a_list_of_problems(
    tmp_path: Path, dse: Dse
) -> None:
    file = tmp_path / "odd.toml"
    file.write_text(
        """
        name = "odd"\nbudget = 20\nseeds = 2\nseed = 5\ncost_model = "maestro"\ntiles = "any"
        fixed = { "outer.order" = ["KCYX", "CKYX"], cluster = 4, "inner.order" = "KCYX" }
        [[problems]]\nlayer = "resnet18:fc"\naccelerator = "edge"\nobjective = "edp"
        [[problems]]\nlayer = "mobilenet_v2:3"\naccelerator = "cloud"\nobjective = "latency"
        [searchers.random]
        """,
        encoding="utf-8",
    )
    folder = run_small_campaign(tmp_path, file.read_text(encoding="utf-8"), prove=False)
    study = load_study(folder)
    file.write_text(campaign_toml(study, make_problems(study)) or "", encoding="utf-8")
    again = {named.key: named.cell.fingerprint for named in load_campaign(str(file), find_layers).cells()}
    assert again == {cell.key: cell.fingerprint for cell in study.summaries}
    for best in best_mappings(study, make_problems(study)):
        assert best.priced is not None
        found = dse(*shlex.split(best.priced.again)[1:], "--json").json["best"]
        assert found["mapping"] == json.loads(best.priced.json)


@pytest.mark.parametrize(
    ("loss", "status", "kind", "text"),
    [
        (2.0, "optimal", "optimal", "proven optimum"),
        (2.1, "optimal", "above", f"5{SPACE}% above the proven optimum"),
        (7.0, "optimal", "above", "3.5 times the proven optimum"),
        (2.1, "bounded", "bound", f"at most 5{SPACE}% above the optimum"),
        (1.9, "optimal", "beaten", "below what was proven to be the least"),
        (2.1, None, "unknown", "optimum not known"),
        (np.inf, "optimal", "unknown", "optimum not known"),
    ],
)
def test_the_gap_to_the_optimum_is_said_as_far_as_it_is_proven(
    study: Study, loss: float, status: str | None, kind: str, text: str
) -> None:
    optima = {study.label(FC_EDP): {"status": status, "lower_bound": 2.0, "loss": 2.2}} if status else {}
    gap = gap_to_optimum(replace(study, about={**study.about, "optima": optima}), FC_EDP, loss)
    assert (gap.kind, gap.text) == (kind, text)


def test_a_mapping_that_does_not_cost_what_the_record_says_is_marked(
    study: Study, findings: Findings, rendered: str
) -> None:
    def cheaper(cell: Any) -> Any:
        return replace(cell, steps={**cell.steps, "loss": [loss / 3 for loss in cell.steps["loss"]]})

    assert "does not cost what the record says" not in rendered
    page = render_page(replace(study, summaries=tuple(map(cheaper, study.summaries))), findings)
    assert page.count("does not cost what the record says") == len(study.problems)
