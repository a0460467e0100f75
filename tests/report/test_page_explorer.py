"""What the page's charts are drawn from, and what its filters find: as text, without a browser."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import numpy as np
import pytest

from dse.analysis.analysis import analyse_study, mean_gaps
from dse.analysis.findings import Band, Findings
from dse.analysis.runs import Runs
from dse.analysis.study import Study
from dse.report.formats import Section, Table
from dse.report.page.explorer import (
    RESAMPLES,
    as_markup,
    curve_points,
    explorer_data,
    page_selections,
    problem_filters,
)
from tests.report.page_cases import nasty
from tests.report.rendering import render_page

SECTIONS = (
    Section(
        "resnet18:fc: latency (s) after 150 samples",
        ["searcher", "median"],
        [["walk", "1"], ["random", "2"]],
    ),
    Section("layers", ["problem", "searcher"], [["resnet18:fc on edge, edp", "walk-8"]]),
    Section("matrix", ["searcher", "random", "walk"], [["random", "-", "0.5"]]),
)
TABLES = [Table("all", "Which?", (), (), (), SECTIONS)]


def data_in(page: str) -> dict[str, object]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert found
    return json.loads(found[1])  # type: ignore[no-any-return]


def same_curve(shown: list[list[float | None]], band: Band) -> None:
    """Every point shown is one of the band's, to four digits, and the last is the band's last."""
    place = {int(samples): at for at, samples in enumerate(band.samples)}
    assert shown[0][-1] == band.samples[-1]
    for column, part in zip(shown[1:], (band.centre, band.low, band.high), strict=True):
        values = [float(part[place[int(samples or 0)]]) for samples in shown[0]]
        said = [np.inf if value is None else value for value in column]
        assert said == pytest.approx(values, rel=1e-3)


def test_the_data_on_the_page_are_the_analysis_s(study: Study, findings: Findings, rendered: str) -> None:
    data = data_in(rendered)
    assert [one["name"] for one in data["searchers"]] == list(study.searchers)  # type: ignore[attr-defined]
    for number, name in enumerate(study.searchers):
        same_curve(data["over"][0]["curves"][str(number)], findings.gap[name])  # type: ignore[index]
        for problem, shown in zip(study.problems, data["problems"], strict=True):  # type: ignore[call-overload]
            same_curve(shown["curves"][str(number)], findings.convergence[problem][name])
            assert shown["target"] == pytest.approx(study.target(problem)[0], rel=1e-4)
            assert shown["ends"][str(number)][1] == len(study.cells(problem, name))


def test_every_choice_of_the_filters_has_its_figure_over_the_problems_chosen(
    study: Study, findings: Findings
) -> None:
    shown = {one.name: one.values for one in problem_filters(study)}
    assert shown == {"network": ("resnet18", "mobilenet_v2"), "objective": ("latency", "edp")}
    parts = {part.problems: part.gap for part in page_selections(study)}
    names = [
        tuple(place for place, problem in enumerate(study.problems) if wanted(problem))
        for wanted in (
            lambda problem: problem[2] == "edp",
            lambda problem: problem[0].startswith("resnet18"),
            lambda problem: problem[0].startswith("resnet18") and problem[2] == "latency",
        )
    ]
    for places in names:
        chosen = {study.problems[place] for place in places}
        wanted = mean_gaps(Runs(study, RESAMPLES), chosen)
        assert list(parts[places]) == list(wanted) == list(study.searchers)
        for name, band in wanted.items():
            assert np.array_equal(parts[places][name].centre, band.centre)
            final = findings.gap_seeds[name][list(places)].ravel()
            assert min(final) <= band.centre[-1] <= max(final)


def test_the_page_offers_filters_axes_and_a_switch_for_every_searcher(
    study: Study, findings: Findings
) -> None:
    page = render_page(study, findings, {"gap": "<svg/>"})
    assert re.findall(r'<select data-filter="(\w+)">', page) == ["network", "objective"]
    assert re.findall(r'data-key="(\d)" aria-pressed="true"', page) == ["0", "1", "2"]
    assert re.findall(r'data-axis="(\w)" data-scale="(\w+)"', page) == [
        ("x", "log"), ("x", "linear"), ("y", "log"), ("y", "linear"),
    ]  # fmt: skip
    assert page.count('<figure class="chart"') == 1 + len(study.problems)


def test_tables_say_which_searchers_and_problems_their_parts_are_of(study: Study, findings: Findings) -> None:
    page = render_page(study, findings, tables=TABLES)
    fc = [str(place) for place, problem in enumerate(study.problems) if problem[0] == "resnet18:fc"]
    latency = [place for place in fc if study.problems[int(place)][2] == "latency"]
    (edp,) = set(fc) - set(latency)
    assert f'<div data-problems="{latency[0]}">' in page
    assert f'<tr data-searcher="2" data-problem="{edp}">' in page
    heads = page[page.index("matrix") :]
    assert re.findall(r'<th scope="col"[^>]*data-searcher="(\d)"', heads[: heads.index("</thead>")]) == [
        "0",
        "1",
    ]


def test_the_best_mappings_come_before_the_standing(rendered: str) -> None:
    page = rendered
    assert page.index("headline") < page.index('id="mapping-1"') < page.index('<section id="standing"')


def test_without_a_script_the_drawn_figures_stay_and_with_one_charts_take_their_place(
    study: Study, findings: Findings
) -> None:
    drawn = dict.fromkeys(("gap", "convergence", "convergence-2", "ecdf"), "<svg/>")
    page = render_page(study, findings, drawn)
    kinds = re.findall(r'<figure class="(chart|redrawn)"|<figure>', page)
    assert kinds == ["chart", "redrawn", *["chart"] * len(study.problems), "redrawn", "redrawn", ""]


def test_names_in_the_data_cannot_end_their_element(study: Study) -> None:
    bad = nasty(study)
    page = render_page(bad, analyse_study(bad, resamples=20))
    data = data_in(page)
    assert [one["name"] for one in data["searchers"]] == list(bad.searchers)  # type: ignore[attr-defined]
    assert "<" not in as_markup({"a": "</script>"})


def test_the_data_are_small_and_hold_nothing_that_json_does_not_know(
    study: Study, findings: Findings
) -> None:
    text = str(as_markup(explorer_data(study, findings)))
    points = sum(len(band.samples) for bands in findings.convergence.values() for band in bands.values())
    parts = 1 + len(page_selections(study))
    assert len(text) < 20 * points * (1 + parts / len(study.problems)) + 10_000
    hollow = replace(study, summaries=study.summaries[:1])
    json.loads(str(as_markup(explorer_data(hollow, analyse_study(hollow, resamples=20)))))


def test_a_curve_has_its_steps_and_shows_what_is_infeasible_as_none() -> None:
    centre = np.array([np.inf, np.inf, 4.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0])
    band = Band(np.arange(1, 10), centre, centre / 2, centre * 2)
    assert curve_points(band) == [
        [1, 3, 4, 9],
        [None, 4.0, 2.0, 2.0],
        [None, 2.0, 1.0, 1.0],
        [None, 8.0, 4.0, 4.0],
    ]
