"""The pictures of every kind of campaign, and of a big one; run by `make prove`."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from dse.report.plots.canvas import COLUMN
from dse.report.plots.drawing import draw_figures
from dse.report.plots.files import png_bytes, svg_text
from tests.report.figure_cases import OURS, PROBLEMS, made_up
from tests.report.test_figures import DIFFERENT, STUDIES, assert_readable, findings_of

pytestmark = pytest.mark.filterwarnings("error")


@pytest.mark.parametrize("name", [name for name in STUDIES if name not in DIFFERENT[1:]])
def test_any_campaign_has_figures_whose_words_are_readable(name: str) -> None:
    assert_readable(name)


@pytest.mark.parametrize("name", [name for name in STUDIES if name not in DIFFERENT[:1]])
def test_figures_of_a_columns_width_are_readable_too(name: str) -> None:
    assert_readable(name, COLUMN)


@pytest.mark.parametrize("name", [name for name in STUDIES if name != DIFFERENT[1]])
def test_any_campaign_has_pictures_without_faults(name: str) -> None:
    study = STUDIES[name]
    for drawing in draw_figures(study, findings_of(study)).values():
        ET.fromstring(svg_text(drawing.build()))


def test_the_figures_of_a_big_campaign_are_small_files() -> None:
    problems = [*PROBLEMS, ("resnet18:conv1", "edge", "latency"), ("resnet18:conv1", "edge", "edp")]
    study = made_up([*OURS, "ppo-categorical", "marl-6"], problems, seeds=10, budget=20_000)
    for name, drawing in draw_figures(study, findings_of(study)).items():
        figure = drawing.build()
        assert len(svg_text(figure)) < 150_000, name
        assert len(png_bytes(figure)) < 200_000, name
