"""What the figures of a report draw, line by line."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dse.analysis.findings import Band, Efficiency, Findings, Improvement, Interval
from dse.analysis.study import Study
from dse.report.plots.contests import ranked_contests
from dse.report.plots.convergence import PARTS, coarse_band, gap_figure, panel_limits
from dse.report.plots.drawing import Drawing, draw_figures
from dse.report.plots.files import few_colours, png_bytes, svg_text
from tests.report.drawn_cases import STUDIES, findings_of, lines_of, texts_of
from tests.report.figure_cases import PROBLEMS, made_up

pytestmark = pytest.mark.filterwarnings("error")


def test_few_searchers_all_have_bands() -> None:
    study = made_up(["walk", "genetic", "marl"])
    figure = draw_figures(study, findings_of(study))["convergence"].build()
    assert [len(axes.collections) for axes in figure.axes] == [3, 3]
    assert any("bands: 95 % confidence intervals" in text for text in texts_of(figure))


def test_the_target_is_a_line_that_says_whether_it_is_proven() -> None:
    study = made_up(["walk", "marl"])
    figure = draw_figures(study, findings_of(study))["convergence"].build()
    assert "best known" in texts_of(figure)
    levels = [line.get_ydata()[0] for line in figure.axes[0].lines if line.get_color() == "#1a1a1a"]
    assert levels == [study.target(study.problems[0])[0]]
    optimum = {"loss": 1e-3, "lower_bound": 1e-3, "status": "optimal"}
    study.about["optima"] = {study.label(study.problems[0]): optimum}
    proven = Study(study.folder, study.about, study.summaries)
    figure = draw_figures(proven, findings_of(proven))["convergence"].build()
    assert "proven optimum" in texts_of(figure)


def test_a_searcher_without_a_feasible_sample_is_named_as_such() -> None:
    study = STUDIES["some infeasible"]
    words = texts_of(draw_figures(study, findings_of(study))["convergence"].build())
    assert words.count("random: none") == len(study.problems)
    ends = texts_of(draw_figures(study, findings_of(study))["distributions"].build())
    assert "\N{INFINITY}: 6 of 6" in ends


def test_the_matrix_shows_every_probability_with_its_interval_best_first() -> None:
    chance = np.array([[0.5, 0.123, np.nan], [0.877, 0.5, np.nan], [np.nan, np.nan, 0.5]])
    found = Improvement(("a", "b", "c"), chance, chance - 0.1, chance + 0.1, chance > 0)
    assert ranked_contests(found) == [1, 0]
    study = made_up(["a", "b", "c"])
    findings = replace_in(findings_of(study), improvement=found)
    words = texts_of(draw_figures(study, findings)["improvement"].build())
    assert {"88 %", "78\N{EN DASH}98", "12 %", "2\N{EN DASH}22"} <= set(words)
    assert [word for word in words if word in "abc"] == ["b", "a", "b", "a"]


def test_every_run_is_a_dot_at_its_ratio(usual: tuple[Study, Findings]) -> None:
    study, findings = usual
    figure = draw_figures(study, findings)["distributions"].build()
    dots = [line.get_xdata() for line in figure.axes[0].lines if line.get_marker() == "o"]
    expected = {tuple(np.sort(values.ravel())) for values in findings.gap_seeds.values()}
    assert {tuple(found) for found in dots} == expected


def test_efficiency_says_never_and_shows_what_is_censored() -> None:
    study = made_up(["walk", "grid", "marl"])
    rows = (
        Efficiency("marl", "walk", Interval(40.0, 22.0, 71.0), False, 2, 2, 2_000),
        Efficiency("marl", "grid", Interval(np.inf, 3.0, np.inf), False, 2, 2, 2_000),
        Efficiency("walk", "marl", None, True, 0, 2, 2_000),
        Efficiency("grid", "marl", Interval(0.02, 0.0, 0.5), True, 1, 2, 2_000),
    )
    figure = draw_figures(study, replace_in(findings_of(study), efficiency=rows))["efficiency"].build()
    words = texts_of(figure)
    assert {"40\N{MULTIPLICATION SIGN}", "\N{INFINITY}\N{MULTIPLICATION SIGN}", "never, typically"} <= set(
        words
    )
    (whisker,) = lines_of(figure, "#e69f00")
    assert list(whisker.get_xdata()) == [22.0, 71.0]
    fills = {
        (panel, line.get_color()): line.get_markerfacecolor()
        for panel, axes in enumerate(figure.axes)
        for line in axes.lines
        if line.get_marker() == "o"
    }
    assert fills == {(0, "#e69f00"): "#e69f00", (0, "#7f7f7f"): "#7f7f7f", (1, "#7f7f7f"): "#ffffff"}


def test_the_losses_drawn_are_averaged_over_parts_of_the_run() -> None:
    samples = np.arange(10, 1010, 10)
    centre = np.tile([1.0, 4.0, 1.0, 4.0, np.inf], 20)
    band = coarse_band(Band(samples, centre, centre, centre))
    assert len(band.samples) == PARTS
    assert band.samples[-1] == 1000
    np.testing.assert_allclose(band.centre, 2.0)


def test_a_panel_shows_where_every_searcher_ends_and_the_target() -> None:
    samples = np.array([1, 10, 100, 1000])
    bands = {
        "fast": band_of(samples, [50.0, 2.0, 1.1, 1.05]),
        "slow": band_of(samples, [900.0, 700.0, 600.0, 500.0]),
        "lost": band_of(samples, [np.inf] * 4),
    }
    low, high = panel_limits(bands, 1.0)
    assert low < 1.0
    assert high > 500.0


def test_few_colours_keep_a_thin_line_beside_large_areas() -> None:
    picture = np.full((200, 300, 3), 255, np.uint8)
    picture[:, :, 0] = np.arange(300) % 256
    picture[:, :, 1] = np.arange(200)[:, None]
    picture[100, 5:9] = (179, 90, 147)
    places, palette = few_colours(picture)
    assert len(palette) <= 256
    assert palette[places[100, 6]].tolist() == [179, 90, 147]
    assert np.abs(palette[places].astype(int) - picture.astype(int)).max() < 40


def test_an_svg_says_its_styles_once_and_needs_nothing_from_outside(usual: tuple[Study, Findings]) -> None:
    text = svg_text(draw_figures(*usual)["gap"].build())
    assert "<metadata" not in text
    assert "DejaVu" not in text
    assert "style=" not in text
    used = {name for element in ET.fromstring(text).iter() if (name := element.get("class"))}
    assert used
    assert all(f".{name}{{" in text for name in used)
    links = [
        value
        for element in ET.fromstring(text).iter()
        for key, value in element.items()
        if key.endswith("href")
    ]
    assert links
    assert all(link.startswith("#") for link in links)


def test_a_drawing_is_made_anew_each_time(usual: tuple[Study, Findings]) -> None:
    drawing: Drawing = draw_figures(*usual)["ecdf"]
    assert drawing.build() is not drawing.build()


def band_of(samples: Any, centre: list[float]) -> Band:
    values = np.array(centre)
    return Band(samples, values, values, values)


def replace_in(findings: Findings, **parts: Any) -> Findings:
    return replace(findings, **parts)


def test_a_plot_can_be_drawn_by_its_own_function() -> None:
    study = made_up(["walk", "marl"], PROBLEMS[:1])
    alone = gap_figure(study, findings_of(study))
    assert png_bytes(alone) == png_bytes(draw_figures(study, findings_of(study))["gap"].build())
