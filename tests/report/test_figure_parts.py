"""What figures are made of: ticks, units, names that keep apart, and a look for each searcher."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dse.report.plots.scales import axis_number, log_ticks, spread_positions, thin_points, unit_scale
from dse.report.plots.style import (
    readable_colour,
    relative_luminance,
    searcher_styles,
    short_names,
    short_text,
)
from dse.report.plots.times import time_ticks
from tests.report.figure_cases import ODD, OURS


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (1, 2000, [1, 10, 100, 1000]),
        (0.9, 6.2, [1, 1.5, 2, 3, 4, 5]),
        (1.0, 1.1, [1, 1.02, 1.04, 1.06, 1.08, 1.1]),
        (95, 210, [100, 120, 140, 160, 180, 200]),
        (1e-6, 3e9, [1e-6, 1e-3, 1, 1e3, 1e6, 1e9]),
        (4e-10, 9e-10, [4e-10, 5e-10, 6e-10, 7e-10, 8e-10, 9e-10]),
    ],
)
def test_ticks_are_round_numbers_and_not_too_many(low: float, high: float, ticks: list[float]) -> None:
    assert log_ticks(low, high) == pytest.approx(ticks)


@given(st.floats(1e-12, 1e12), st.floats(1.001, 1e9), st.integers(3, 9))
@example(1.0, 1e7, 7)
def test_any_axis_has_ticks_inside_it(low: float, ratio: float, most: int) -> None:
    ticks = log_ticks(low, low * ratio, most)
    assert 1 <= len(ticks) <= most
    assert all(low * (1 - 1e-9) <= tick <= low * ratio * (1 + 1e-9) for tick in ticks)
    assert ticks == sorted(set(ticks))


@pytest.mark.parametrize(
    ("first", "last", "names"),
    [
        (1e-4, 1e6, ["1 ms", "1 s", "1 h"]),
        (3.0, 40.0, ["3 s", "10 s", "30 s"]),
        (100.0, 7000.0, ["10 min", "1 h"]),
    ],
)
def test_an_axis_of_time_has_two_round_times_and_more(first: float, last: float, names: list[str]) -> None:
    assert list(time_ticks(first, last).values()) == names


@given(st.floats(1e-3, 1e5), st.floats(10, 1e3))
def test_any_axis_of_time_has_ticks_inside_it(first: float, ratio: float) -> None:
    ticks = time_ticks(first, first * ratio)
    assert len(ticks) > 1
    assert all(first <= at <= first * ratio for at in ticks)


def test_numbers_are_written_as_people_write_them() -> None:
    assert [axis_number(value) for value in (20_000, 1.5, 0.02, 1.0, 0.0, 2e-7, 3e8)] == [
        "20,000", "1.5", "0.02", "1", "0", "2e-07", "3e+08",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("objective", "unit", "typical", "scale", "label"),
    [
        ("latency", "s", 1.1e-4, 1e-6, "latency (\N{MICRO SIGN}s)"),
        ("latency", "s", 0.9, 1e-3, "latency (ms)"),
        ("energy", "J", 2.0, 1.0, "energy (J)"),
        ("edp", "J s", 4.7e-10, 1e-12, "EDP (10⁻¹² J s)"),
        ("edp", "J s", 2.5, 1.0, "EDP (J s)"),
        ("energy", "J", 1e-30, 1e-15, "energy (fJ)"),
        ("area", "model units", 3e7, 1e6, "area (million model units)"),
        ("area", "mm2", 4321.0, 1.0, "area (mm2)"),
        ("power", "model units", 0.5, 1.0, "power (model units)"),
        ("power", "mW", 5e3, 1.0, "power (mW)"),
        ("no such", "", 5.0, 1.0, "no such"),
    ],
)
def test_figures_have_their_unit_with_the_prefix_that_keeps_them_short(
    objective: str, unit: str, typical: float, scale: float, label: str
) -> None:
    found, words = unit_scale(objective, unit, typical)
    assert found == pytest.approx(scale)
    assert words == label


def test_names_stay_where_they_are_if_there_is_room() -> None:
    assert spread_positions([0.2, 0.9, 0.5], 0.1, 0, 1) == pytest.approx([0.2, 0.9, 0.5])


def test_names_at_one_place_are_spread_around_it() -> None:
    assert spread_positions([0.5, 0.5, 0.5], 0.1, 0, 1) == pytest.approx([0.4, 0.5, 0.6])
    assert spread_positions([0.0, 0.0, 0.9], 0.1, 0, 1) == pytest.approx([0.0, 0.1, 0.9])


@given(st.lists(st.floats(-1, 2), max_size=20), st.floats(0.001, 0.2))
def test_names_keep_their_order_and_their_distance(wanted: list[float], apart: float) -> None:
    found = spread_positions(wanted, apart, 0, 1)
    order = sorted(range(len(wanted)), key=lambda i: wanted[i])
    places = np.array([found[i] for i in order])
    assert len(found) == len(wanted)
    assert (np.diff(places) >= apart - 1e-9).all()
    if len(wanted) and (len(wanted) - 1) * apart <= 1:
        assert places[0] >= -1e-9
        assert places[-1] <= 1 + 1e-9


def test_names_are_moved_no_further_than_they_must() -> None:
    rng = np.random.default_rng(3)
    wanted = rng.random(6)
    found = np.array(spread_positions(list(wanted), 0.1, 0, 1))
    order = np.argsort(wanted)
    least = np.square(found - wanted).sum()
    for _ in range(3_000):
        other = np.clip(found[order] + rng.normal(0, 0.03, 6), 0, 1)
        if (np.diff(other) >= 0.1).all():
            assert np.square(other - wanted[order]).sum() >= least - 1e-9


@given(st.integers(0, 2**32 - 1))
def test_a_thinned_curve_is_nowhere_further_off_than_allowed(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = np.sort(rng.random(60))
    one, other = np.cumsum(rng.normal(0, 0.02, 60)), np.minimum.accumulate(rng.random(60))
    kept = thin_points(x, one, other, tolerance=0.05)
    assert {0, 59} <= set(kept.tolist())
    for curve in (one, other):
        assert np.abs(np.interp(x, x[kept], curve[kept]) - curve).max() <= 0.05 + 1e-9


def test_a_straight_line_needs_its_ends_only() -> None:
    x = np.linspace(0, 1, 50)
    assert thin_points(x, 2 * x).tolist() == [0, 49]
    assert thin_points(x[:1], x[:1]).tolist() == [0]


def test_a_searcher_with_a_look_has_it_in_every_campaign_and_nobody_else_has_it() -> None:
    looks = {
        "marl": {"colour": "#d55e00", "line": "solid", "marker": "o"},
        "cem": {"colour": "#b35a93", "line": "mixed", "marker": "P"},
    }
    all_of_ours = searcher_styles(OURS, "marl", looks)
    assert searcher_styles(["cem", "new", "marl"], looks=looks)["marl"].colour == all_of_ours["marl"].colour
    assert searcher_styles(["cem", "marl"], looks=looks)["cem"] == all_of_ours["cem"]
    many = searcher_styles([*OURS, *ODD[:-1], "more", "and more"], looks=looks)
    assert len({(style.colour, style.dash) for style in many.values()}) == len(many) == 21
    assert all_of_ours["marl"].leading
    assert all_of_ours["marl"].width > all_of_ours["cem"].width


def test_more_searchers_than_looks_still_have_one_each() -> None:
    assert len(searcher_styles([f"s{n}" for n in range(100)])) == 100


def test_names_in_a_searchers_colour_can_be_read_on_white() -> None:
    for style in searcher_styles([*OURS, "a", "b", "c", "d"]).values():
        red, green, blue = (int(style.text[i : i + 2], 16) / 255 for i in (1, 3, 5))
        assert 1.05 / (relative_luminance(red, green, blue) + 0.05) >= 4.45
    assert readable_colour("#000000") == "#000000"


def test_long_names_lose_their_middle_and_stay_apart() -> None:
    names = short_names(ODD, 18)
    assert len(set(names.values())) == len(ODD)
    assert max(len(name) for name in names.values()) <= 18
    assert names["a-very-long-searcher-name-that-never-ends"] == "a-very-lo\N{HORIZONTAL ELLIPSIS}ver-ends"
    assert names["control\x01\x1b[31m\n"] == "control [31m"
    assert names["marl"] == "marl"
    assert short_text(" ", 5) == "?"
    alike = short_names(["x" * 50 + "a" + "x" * 50, "x" * 50 + "b" + "x" * 50], 12)
    assert len(set(alike.values())) == 2
