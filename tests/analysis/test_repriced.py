"""Winners under other cost models: what they cost there, who changes places, and what is said of it."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dse.analysis.analysis import analyse_study
from dse.analysis.ranking import Contender, Ranking, Resampled, rank_searchers
from dse.analysis.repriced import NOT_RECORDED, Repriced, reprice_winners
from dse.analysis.study import Study
from dse.campaign.curves import CURVES, write_curves
from dse.core import cost_models as registry
from dse.core.cost_models import GROUP
from dse.core.figures import CostBatch
from dse.core.layer import Layer
from dse.domains.clustered.accelerator import Accelerator, load_accelerator
from dse.domains.clustered.problem import Problem
from dse.models.loopnest import LoopNest
from dse.report.tables.repriced import ranking_sentence, repriced_finding, repriced_notes, repriced_table
from dse.report.writing import write_report
from tests.analysis.report_cases import campaign, cell
from tests.analysis.repriced_cases import ACCELERATOR, LAYER, chosen, points, problem
from tests.conftest import Dse
from tests.report.rendering import render_page
from workloads import load_layer

RESAMPLES = 200


def gamed(seeds: int = 4) -> Study:
    """One searcher wins by maestro with mappings that loopnest exposes, the other has what holds there."""
    found = points()
    both = np.isfinite(found.maestro.loss) & np.isfinite(found.loopnest.loss)
    dear = both & (found.loopnest.loss > np.median(found.loopnest.loss[both]))
    gamers = found.choose(dear, found.maestro.loss, seeds)
    above = both & (found.maestro.loss > 1.01 * found.maestro.loss[gamers].max())
    return chosen({"gamer": gamers, "sound": found.choose(above, found.loopnest.loss, seeds)})


def by_the_other(study: Study) -> Repriced:
    (found,) = reprice_winners(study, RESAMPLES)
    return found


def write(study: Study, folder: Path) -> Path:
    """The study as a folder."""
    write_curves(folder / CURVES, study.summaries, study.about)
    return folder


# What winners cost


@pytest.mark.parametrize(("model", "other"), [("maestro", "loopnest"), ("loopnest", "maestro")])
def test_a_winner_costs_what_the_other_model_makes_of_the_strided_layer(model: str, other: str) -> None:
    found = points()
    both = np.isfinite(found.maestro.loss) & np.isfinite(found.loopnest.loss)
    places = found.choose(both, found.by(model).loss, 3)
    (group,) = by_the_other(chosen({"walk": places}, model)).groups
    layer = load_layer(LAYER)
    assert layer.strided
    expected = []
    for place in places:
        mapping = problem().space.decode(found.genes[place : place + 1])[0]
        expected.append(
            Problem(layer, load_accelerator(ACCELERATOR), cost_model=other).judge(mapping).loss["latency"]
        )
    # The cells say that the network runs the layer 3 times.
    assert group.rows[0].other.value == pytest.approx(3 * float(np.median(expected)), rel=1e-12)
    assert group.rows[0].own.value == pytest.approx(3 * float(np.median(found.by(model).loss[places])))


def test_a_winner_that_the_other_model_does_not_take_is_counted_with_its_reason() -> None:
    found = points()
    lost = np.isfinite(found.maestro.loss) & ~np.isfinite(found.loopnest.loss)
    kept = np.isfinite(found.maestro.loss) & np.isfinite(found.loopnest.loss)
    bad, good = (found.choose(mask, found.maestro.loss, 3) for mask in (lost, kept))
    repriced = by_the_other(chosen({"walk": [*bad[:2], good[0]], "grid": good}))
    assert repriced.overall is not None
    first, last = sorted(repriced.overall.rows, key=lambda row: row.other.rank)
    assert (first.searcher, first.infeasible, first.winners) == ("grid", {}, 3)
    assert (last.searcher, sum(last.infeasible.values()), last.winners) == ("walk", 2, 3)
    assert last.other.value == np.inf
    assert set(last.infeasible) <= {"l1_too_small", "l2_too_small"}
    assert repriced.infeasible == last.infeasible
    assert "2 of 6 winners are infeasible by loopnest: L" in repriced_finding(repriced)


def test_a_searcher_that_found_nothing_has_no_winner_and_is_last_by_both_models() -> None:
    found = points()
    both = np.isfinite(found.maestro.loss) & np.isfinite(found.loopnest.loss)
    repriced = by_the_other(chosen({"walk": found.choose(both, found.maestro.loss, 3), "grid": [None] * 3}))
    assert repriced.overall is not None
    assert [(row.searcher, row.own.rank, row.other.rank, row.winners) for row in repriced.overall.rows] == [
        ("walk", 1, 1, 3), ("grid", 2, 2, 0),
    ]  # fmt: skip
    assert repriced.overall.pairs.concordant == 1
    assert (repriced.winners, repriced.infeasible) == (3, {})


def test_where_no_winner_is_feasible_nobody_is_compared() -> None:
    found = points()
    lost = np.isfinite(found.maestro.loss) & ~np.isfinite(found.loopnest.loss)
    places = found.choose(lost, found.maestro.loss, 6)
    repriced = by_the_other(chosen({"walk": places[:3], "grid": places[3:]}))
    assert repriced.overall is None
    assert (
        "the searchers cannot be compared over all problems. 6 of 6 winners are infeasible"
        in repriced_finding(repriced)
    )
    assert by_the_other(chosen({"walk": [None, None]})).winners == 0
    assert (
        repriced_finding(by_the_other(chosen({"walk": [None, None]}))) == "No winner is priced by loopnest."
    )


# Who changes places


def entry(own: list[float], other: list[float], seeds: int = 5) -> Contender:
    """Figures whose resamples are those given, and whose value is their median."""
    drawn = [Resampled(float(np.median(draws)), np.array(draws)) for draws in (own, other)]
    return Contender(*drawn, seeds=seeds, winners=seeds, infeasible={})


def ranked(**entries: Contender) -> Ranking:
    return rank_searchers("net", "latency", 1, entries)


LOW, HIGH, WIDE = [1.0, 1.1], [2.0, 2.1], [0.5, 4.0]


def test_two_change_places_only_if_each_is_ahead_beyond_doubt() -> None:
    assert ranked(a=entry(LOW, HIGH), b=entry(HIGH, LOW)).pairs.discordant == 1
    assert ranked(a=entry(LOW, LOW), b=entry(HIGH, HIGH)).pairs.concordant == 1
    assert ranked(a=entry(LOW, HIGH), b=entry(HIGH, WIDE)).pairs.tied_by_other == 1
    assert ranked(a=entry(LOW, HIGH), b=entry(LOW, LOW)).pairs.tied_by_own == 1
    assert ranked(a=entry(WIDE, WIDE), b=entry(LOW, HIGH)).pairs.tied_by_both == 1


def test_fewer_than_three_seeds_back_no_change() -> None:
    found = ranked(a=entry(LOW, HIGH, seeds=2), b=entry(HIGH, LOW))
    assert (found.pairs.tied_by_both, found.rows[0].passes, found.rows[1].other.rank) == (1, (), 1)
    assert ranking_sentence(found, "maestro", "loopnest") == (
        "With 2 seeds, no change of rank by loopnest can be significant: that takes 3."
    )


def test_infinite_figures_rank_last_and_tie_with_each_other() -> None:
    nothing = [np.inf, np.inf]
    found = ranked(a=entry(LOW, nothing), b=entry(HIGH, nothing), c=entry(nothing, LOW))
    assert [(row.searcher, row.own.rank, row.other.rank) for row in found.rows] == [
        ("a", 1, 2), ("b", 2, 2), ("c", 3, 1),
    ]  # fmt: skip
    assert found.rows[2].passes == ("a", "b")
    assert (found.pairs.discordant, found.pairs.tied_by_other) == (2, 1)


def test_what_changes_is_said_of_those_who_pass_together_first() -> None:
    a, b = entry(LOW, [9.0, 9.1]), entry([1.5, 1.6], [8.0, 8.1])
    found = ranked(a=a, b=b, c=entry(HIGH, LOW), d=entry([3.0, 3.1], LOW))
    assert ranking_sentence(found, "maestro", "loopnest") == (
        "By loopnest, c and d would be significantly ahead of a and b; b of a: of 6 pairs, 5 are "
        "reversed, none is in the same order by both, and 1 does not differ significantly by one or both."
    )


def test_that_nothing_changes_is_said_too() -> None:
    found = ranked(a=entry(LOW, LOW), b=entry(HIGH, HIGH), c=entry(HIGH, WIDE))
    assert ranking_sentence(found, "loopnest", "maestro") == (
        "By maestro, no pair is significantly reversed: of 3 pairs, 1 is in the same order by both, "
        "1 differs significantly by loopnest alone and 1 differs significantly by neither."
    )
    alone = ranking_sentence(ranked(a=entry(LOW, HIGH)), "maestro", "loopnest")
    assert alone == "By loopnest as by maestro, there is one searcher to rank."


def test_a_searcher_that_games_the_model_is_passed_by_a_sound_one() -> None:
    repriced = by_the_other(gamed())
    assert repriced.overall is not None
    assert [row.searcher for row in repriced.overall.rows] == ["gamer", "sound"]
    assert repriced.overall.rows[1].passes == ("gamer",)
    assert repriced_finding(repriced) == (
        "By loopnest, sound would be significantly ahead of gamer; by maestro it is the other way round."
    )
    again = by_the_other(gamed())
    assert again == repriced


# From whatever a folder holds


def test_an_old_folder_and_one_without_genes_say_why_there_are_no_prices() -> None:
    study = gamed()
    bare = replace(study, about={**study.about, "definitions": {}})
    assert repriced_finding(by_the_other(bare)).startswith(
        "No winner is priced by loopnest. This folder does not say what"
    )
    lost = replace(study, summaries=tuple(replace(one, genes=[]) for one in study.summaries))
    assert repriced_finding(by_the_other(lost)) == f"No winner is priced by loopnest. {NOT_RECORDED}"
    for genes in ([0] * 12, [99] * 13):
        wrong = replace(study, summaries=(replace(study.summaries[0], genes=genes), *study.summaries[1:]))
        assert "A winner's mapping cannot be read from this folder: " in repriced_finding(by_the_other(wrong))


def test_a_problem_that_cannot_be_priced_leaves_the_others(tmp_path: Path) -> None:
    study = gamed()
    extra = [
        replace(cell(name, [(0, 1.0)], ("net:a", "edge", "latency"), seed=seed), genes=[])
        for name in study.searchers
        for seed in range(4)
    ]
    about = {**study.about, "problems": [*study.about["problems"], ["net:a", "edge", "latency"]]}
    repriced = by_the_other(replace(study, about=about, summaries=(*study.summaries, *extra)))
    assert repriced.overall is not None
    assert repriced.overall.problems == 1
    assert [group.network for group in repriced.groups] == ["resnet18"]
    assert repriced_notes(repriced)[0].startswith("Not priced on 1 of 2 problems: This folder does not say")
    assert repriced_notes(repriced)[0] in repriced_finding(repriced)


def test_the_report_shows_both_rankings_in_every_form(tmp_path: Path, dse: Dse) -> None:
    folder = write(gamed(), tmp_path)
    out = dse("report", str(folder), "--tables-only", "--table", "repriced").out
    sentence = (
        "By loopnest, sound would be significantly ahead of gamer; by maestro it is the other way round."
    )
    assert sentence in out.splitlines()[2]
    assert "resnet18: latency of the same mappings by maestro and by loopnest" in out
    assert [path.name for path in (folder / "tables").glob("repriced*")] == ["repriced.md"]
    assert "overtakes" in (folder / "tables" / "repriced.md").read_text()
    assert sentence in (folder / "tables" / "reduction.md").read_text()
    summary = json.loads((folder / "summary.json").read_text())["repriced"][0]
    assert (summary["cost_model"], summary["winners"], summary["finding"]) == ("loopnest", 8, sentence)
    overall, network = summary["rankings"]
    assert (overall["network"], network["network"]) == ("", "resnet18")
    for ranking in (overall, network):
        rows = ranking["rows"]
        assert [(row["searcher"], row["own"]["rank"], row["other"]["rank"]) for row in rows] == [
            ("gamer", 1, 2), ("sound", 2, 1),
        ]  # fmt: skip
        assert [row["passes"] for row in rows] == [[], ["gamer"]]
        assert rows[0]["other"]["value"] > rows[1]["other"]["value"]


def test_a_folder_whose_winners_cannot_be_priced_has_an_empty_table(tmp_path: Path) -> None:
    write_report(campaign(tmp_path, [cell("walk", [(0, 6.0)])], reprice=["loopnest"]), pictures=False)
    assert (tmp_path / "tables" / "repriced.md").read_text().count("\n") == 1
    assert json.loads((tmp_path / "summary.json").read_text())["repriced"][0]["rankings"] == []


# Any number of models


class Halved(LoopNest):
    """Another model that anybody might install: half of loopnest's energy."""

    name = "halved"

    def prepared(self, layer: Layer, accelerator: Accelerator) -> Any:
        price = super().prepared(layer, accelerator)

        def halved(*given: Any) -> CostBatch:
            costs = price(*given)
            return replace(costs, energy_nj=costs.energy_nj / 2)

        return halved


def installed(monkeypatch: pytest.MonkeyPatch, **models: str) -> None:
    """Have those models installed beside ours."""
    ours = {entry.name: entry.value for entry in registry._entries()}
    entries = [EntryPoint(name, value, GROUP) for name, value in (ours | models).items()]
    monkeypatch.setattr(registry, "_entries", lambda: tuple(entries))


def naming(study: Study, *models: str) -> Study:
    """The study of a campaign that names those models to price its winners."""
    return replace(study, about={**study.about, "reprice": list(models)})


def test_every_model_that_the_campaign_names_prices_the_winners_and_no_other(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    found = points("edp")
    both = np.isfinite(found.maestro.loss) & np.isfinite(found.loopnest.loss)
    study = chosen({"walk": found.choose(both, found.maestro.loss, 3)}, objective="edp")
    installed(monkeypatch, halved=f"{__name__}:Halved")
    assert [one.other for one in reprice_winners(study, RESAMPLES)] == ["loopnest"]
    study = naming(study, "loopnest", "halved")
    repriced = reprice_winners(study, RESAMPLES)
    assert [one.other for one in repriced] == ["loopnest", "halved"]
    whole, half = (one.groups[0].rows[0].other.value for one in repriced)
    assert half == pytest.approx(whole / 2)
    titles = [section.title for section in repriced_table(study, repriced).sections]
    for model in ("loopnest", "halved"):
        assert f"Winners under maestro, priced by {model}: pairs whose order is reversed" in titles
    text = render_page(study, analyse_study(study, RESAMPLES), repriced=repriced)
    assert '<a href="#repriced">Other models</a>' in text
    for place, model in (("repriced", "loopnest"), ("repriced-by-2", "halved")):
        assert f"By {model}" in text[text.index(f'id="{place}"') :]
    ids = re.findall(r'\bid="([^"]+)"', text)
    assert len(ids) == len(set(ids))


@pytest.mark.usefixtures("one_picture")
def test_a_report_that_nobody_asked_to_price_again_speaks_of_the_campaigns_model_alone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    installed(monkeypatch, halved=f"{__name__}:Halved")
    folder = write(naming(gamed()), tmp_path)
    report, page = write_report(folder)
    files = [page, *(folder / "tables").iterdir(), folder / "summary.json"]
    for text in (path.read_text() for path in files):
        assert "halved" not in text
        assert "loopnest" not in text
    assert report.repriced == ()
    assert not list((folder / "tables").glob("repriced*"))


def test_a_finished_campaign_is_priced_again_when_asked(tmp_path: Path, dse: Dse) -> None:
    folder = str(write(naming(gamed()), tmp_path))
    asked = dse("report", folder, "--tables-only", "--reprice", "loopnest")
    assert "By loopnest, sound would be significantly ahead of gamer" in asked.out
    for model, words in (
        ("maestro", "another cost model than maestro"),
        ("loopnst", "did you mean 'loopnest'"),
    ):
        refused = dse("report", folder, "--tables-only", "--reprice", model)
        assert (refused.code, refused.err.count("\n")) == (2, 1)
        assert words in refused.err


def test_a_model_that_cannot_be_loaded_leaves_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch, broken="nowhere:Model")
    broken, loopnest = reprice_winners(naming(gamed(), "broken", "loopnest"), RESAMPLES)
    assert repriced_finding(broken).startswith(
        "No winner is priced by broken. cost model 'broken' (entry point"
    )
    assert loopnest.overall is not None
