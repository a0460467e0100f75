"""The other cost model on the page: the rankings, and where the best mappings' cycles and energy go."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from dse.analysis.analysis import analyse_study
from dse.analysis.repriced import reprice_winners
from dse.analysis.study import Study, make_problems
from dse.core.domains import make_problem
from dse.core.layer import Layer
from dse.domains.levels.mapping import HierarchyMapping
from dse.report.page.mappings import BestMapping, best_mappings, break_down
from dse.report.tables.repriced import repriced_finding
from tests.analysis.repriced_cases import chosen, points, problem
from tests.analysis.test_repriced import gamed
from tests.report.rendering import render_page
from tests.report.test_page import Parsed

RESAMPLES = 50
BOTH = np.isfinite(points("edp").maestro.loss) & np.isfinite(points("edp").loopnest.loss)


def page(study: Study) -> str:
    return render_page(study, analyse_study(study, RESAMPLES), repriced=reprice_winners(study, RESAMPLES))


def best(study: Study) -> BestMapping:
    (found,) = best_mappings(study, make_problems(study))
    return found


def markup(text: str, name: str) -> str:
    """One section of the page."""
    start = text.index(f'<section id="{name}"')
    return text[start : text.index("</section>", start)]


def section(text: str, name: str) -> str:
    """The words of one section of the page."""
    return Parsed(markup(text, name)).text


def test_both_rankings_stand_on_the_page_under_what_they_come_to() -> None:
    study = gamed()
    text = page(study)
    said = section(text, "repriced")
    assert said.index(repriced_finding(reprice_winners(study, RESAMPLES)[0])) < said.index("All problems")
    assert "These mappings were searched under maestro" in said
    assert '<a href="#repriced">By loopnest</a>' in text
    assert text.count("would be significantly ahead of gamer") == 2


def test_many_networks_are_folded() -> None:
    study = gamed()
    one = markup(page(study), "repriced")
    assert (one.count("<details"), one.count(" open>")) == (2, 1)
    names = {f"net{n}:{n}": n for n in range(6)}
    triples = [[name, study.problems[0][1], "latency"] for name in names]
    (definition,) = study.about["definitions"].values()
    about = {
        **study.about,
        "problems": triples,
        "definitions": {"{} on {}, {}".format(*triple): definition for triple in triples},
    }
    cells = [
        replace(one, layer=name, network=f"net{n}", key=f"{name}{one.key}")
        for name, n in names.items()
        for one in study.summaries
    ]
    many = markup(page(replace(study, about=about, summaries=tuple(cells))), "repriced")
    assert many.count("latency of the same mappings") == 2 * 6
    assert (many.count("<details"), many.count(" open>")) == (7, 1)


def test_winners_that_cannot_be_priced_leave_a_sentence() -> None:
    study = gamed()
    text = page(replace(study, about={**study.about, "definitions": {}}))
    assert "No winner is priced by loopnest. This folder does not say" in section(text, "repriced")


@pytest.mark.parametrize("model", ["maestro", "loopnest"])
def test_the_best_mapping_is_broken_down_to_the_last_cycle(model: str) -> None:
    place = points("edp").choose(BOTH, points("edp").by(model).loss, 1)[0]
    study = chosen({"walk": [place]}, model, "edp")
    found = best(study)
    assert found.priced is not None
    parts = found.priced.breakdown
    assert parts is not None
    cycles = sum(int(part.figure.replace(",", "")) for part in parts.cycles)
    assert cycles == points("edp").loopnest.cycles[place]
    assert sum(part.width for part in parts.cycles) == pytest.approx(100, abs=0.05)
    assert [part.name for part in parts.energy] == ["MACs", "L1", "NoC", "L2", "DRAM"]
    assert [row[0] for row in parts.words] == ["DRAM", "L2", "PEs"]
    said = section(page(study), "mappings")
    assert ("Where it goes, by loopnest" in said) == (model == "maestro")
    ratio = points("edp").loopnest.cycles[place] / points("edp").maestro.cycles[place]
    assert (f"{cycles:,} cycles, {ratio:.3g} times those by maestro" in said) == (model == "maestro")
    assert (f"Bound by {parts.bound}; utilisation" in said) == (model == "maestro")


def test_what_the_buffers_hold_is_what_the_campaigns_model_counts() -> None:
    place = points("edp").choose(BOTH, points("edp").loopnest.loss, 1)[0]
    found = best(chosen({"walk": [place]}, "loopnest", "edp"))
    assert found.priced is not None
    assert f"L2 holds {points('edp').loopnest.l2_size[place]:,} of" in found.priced.nest


def test_a_winner_that_loopnest_does_not_take_says_so_and_is_still_broken_down() -> None:
    found = points("edp")
    lost = np.isfinite(found.maestro.loss) & ~np.isfinite(found.loopnest.loss)
    place = found.choose(lost, found.maestro.loss, 1)[0]
    said = section(page(chosen({"walk": [place]}, objective="edp")), "mappings")
    assert re.search(r"By loopnest this mapping is infeasible: L[12] needs \d+ of \d+ elements\.", said)
    assert "waiting for DRAM" in said


def test_a_mapping_without_figures_has_no_breakdown() -> None:
    made = problem()
    mapping = made.space.decode(points().genes[:1])[0]
    broken = replace(mapping, cluster_size=0)
    assert break_down(made, broken, made.with_changes(cost_model="maestro").judge(broken)) is None


def test_a_machine_of_levels_is_broken_down_by_level() -> None:
    made = make_problem(Layer.gemm(64, 32, 16, name="small"), "edge", "edp", "timeloop")
    mapping = HierarchyMapping.parse("L2[WIO] P64 C16 - L1[WIO] K4 - L0[WIO] K8")
    judged = made.judge(mapping)
    found = break_down(made, mapping, judged)
    assert found is not None
    assert (found.own, found.overlap, found.kinds) == (True, True, ("reads", "fills", "updates"))
    assert [part.name for part in found.energy] == ["DRAM", "L2", "L1", "MACs"]
    assert sum(part.width for part in found.energy) == pytest.approx(100, abs=0.1)
    # Transfers and computing go on at the same time: the slowest has the whole bar, the others their share.
    cycles = {part.name: part for part in found.cycles}
    assert cycles[found.bound].width == 100
    assert cycles[found.bound].figure == f"{judged.figures['cycles']:,}"
    assert all(0 < part.width < 100 for name, part in cycles.items() if name != found.bound)
