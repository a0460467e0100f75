"""The other cost model on the page: the rankings, and where the best mappings' cycles and energy go."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dse.analysis.analysis import analyse
from dse.analysis.repriced import reprice
from dse.analysis.study import Study, make_problems
from dse.report.page import render
from dse.report.page.mappings import BestMapping, best_mappings
from dse.report.tables.repriced import finding
from tests.analysis.repriced_cases import chosen, points
from tests.analysis.test_repriced import gamed
from tests.report.test_page import Parsed

RESAMPLES = 50
BOTH = np.isfinite(points("edp").maestro.loss) & np.isfinite(points("edp").loopnest.loss)


def page(study: Study) -> str:
    return render(study, analyse(study, RESAMPLES), repriced=reprice(study, RESAMPLES))


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
    assert said.index(finding(reprice(study, RESAMPLES)[0])) < said.index("All problems")
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


def test_what_the_buffers_hold_is_what_the_campaigns_model_counts() -> None:
    place = points("edp").choose(BOTH, points("edp").loopnest.loss, 1)[0]
    found = best(chosen({"walk": [place]}, "loopnest", "edp"))
    assert found.priced is not None
    assert f"L2 holds {points('edp').loopnest.l2_size[place]:,} of" in found.priced.nest
