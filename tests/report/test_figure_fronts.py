"""Pictures of fronts: their words lie apart and in the picture, and say what the best points are."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.figure import Figure

from dse.report.plots.front import Chip, front_figure, machines_figure
from dse.report.plots.style import house_style
from tests.report.drawn_cases import texts_of
from tests.report.test_figures import assert_no_words_on_words

AXES = (("area", "mm2"), ("edp", "J s"))


def chips(count: int) -> list[Chip]:
    """A front of so many chips, from 1 to 10 mm2."""
    shares = np.linspace(0, 1, count)
    return [
        Chip(10**share, 1e-9 / 10**share, None, f"{place}, 256, 16,384") for place, share in enumerate(shares)
    ]


def named(figure: Figure) -> list[str]:
    return [text for text in texts_of(figure) if "256" in text]


def check_words(figure: Figure) -> None:
    with house_style():
        figure.draw_without_rendering()
    assert_no_words_on_words(figure, "a front")


@pytest.mark.parametrize(("count", "least"), [(1, 1), (12, 12), (400, 12)])
def test_chips_are_named_where_their_names_have_room(count: int, least: int) -> None:
    figure = machines_figure("a network on machines", "how", AXES, chips(count))
    check_words(figure)
    assert len(named(figure)) >= least


@pytest.mark.parametrize(
    "points",
    [
        [(1e-3, 1e-3)],
        [(1e-3, 2e-3), (1.001e-3, 1e-3), (9e-3, 0.99e-3)],
        [(1e-3, 2e-3), (2e-3, 1.5e-3), (9e-3, 0.1e-3)],
        [(1e-3, 1.0001e-3), (1.0001e-3, 1e-3)],
    ],
)
def test_a_front_says_what_its_least_edp_is(points: list[tuple[float, float]]) -> None:
    figure = front_figure("a layer", "how", {"exact front": points})
    check_words(figure)
    assert sum("least EDP" in text for text in texts_of(figure)) == 1


def test_fronts_side_by_side_have_a_legend_instead() -> None:
    points = [(1e-3, 2e-3), (2e-3, 1e-3)]
    texts = texts_of(front_figure("a layer", "how", {"exact front": points, "found": points}))
    assert {"exact front", "found"} <= set(texts)
    assert not any("least" in text for text in texts)
