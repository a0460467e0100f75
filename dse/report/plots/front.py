"""Fronts of latency and energy: what no mapping is below and left of, and what searches found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dse.report.plots.canvas import POINT, log_axis, panel_points, single_panel, y_label
from dse.report.plots.scales import unit_scale
from dse.report.plots.style import house_style, text_width
from dse.support.quantities import quantity_in_words

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_COLOURS = ("#222222", "#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377")
_ROOM = 0.06
"""How far the axes go beyond the points, as a share of their length, on a logarithmic scale."""
_DOTS = 60
"""Points up to which each has a dot."""
_NAMED, _SAID = 6, 7
"""How high the letters of a chip's name are, and of what is said of a point."""
_BESIDE = (4.0, 3.0)
"""Points from a dot to its name."""
Axis = tuple[str, str]
Box = tuple[float, float, float, float]
"""Left, bottom, right and top."""
Points = NDArray[np.float64]


@house_style()
def front_figure(title: str, how: str, fronts: Mapping[str, Sequence[tuple[float, float]]]) -> Figure:
    """`fronts` are points (s, J) by what they are called; the first is the exact one, or the best known.

    A front is a staircase: between two points the slower one is the best that there is.
    """
    figure, axes = single_panel(title, how, 0.3, 3.4)
    every = np.array([point for points in fronts.values() for point in points])
    low, high = _limits(every)
    for colour, (name, points) in zip(_COLOURS * len(fronts), fronts.items(), strict=False):
        seconds, joules = np.array(sorted(points)).T
        seconds, joules = np.append(seconds, high[0]), np.append(joules, joules.min())
        axes.step(seconds, joules, where="post", color=colour, linewidth=1, label=name)
        if len(points) <= _DOTS:
            axes.scatter(seconds[:-1], joules[:-1], 10, color=colour, linewidth=0)
    _log_axes(axes, (("latency", "s"), ("energy", "J")), low, high)
    if len(fronts) > 1:
        axes.legend(loc="upper right", frameon=False, fontsize=7)
    else:
        _name_the_best(axes, every, low, high)
    return figure


def _limits(points: Points) -> tuple[Points, Points]:
    """The least and the most of both axes, with room around the points."""
    low, high = points.min(axis=0), points.max(axis=0)
    room = np.maximum((high / low) ** _ROOM, 1.001)
    return low / room, high * room


def _log_axes(axes: Axes, of: tuple[Axis, Axis], low: Points, high: Points) -> None:
    """Both axes, with their names."""
    (across, below), (up, beside) = (
        unit_scale(name, unit, float(least)) for (name, unit), least in zip(of, low, strict=True)
    )
    log_axis(axes, "x", float(low[0]), float(high[0]), scale=across)
    log_axis(axes, "y", float(low[1]), float(high[1]), scale=up)
    axes.set_xlabel(below, labelpad=2)
    y_label(axes, beside)


def _name_the_best(axes: Axes, points: Points, low: Points, high: Points) -> None:
    """Say at a front's points of least EDP, latency and energy what these are, as far as there is room."""
    least = {
        "EDP": points.prod(axis=1).argmin(),
        "latency": points[:, 0].argmin(),
        "energy": points[:, 1].argmin(),
    }
    places, taken = _places(axes, points, low, high), list[Box]()
    for of, which in least.items():
        seconds, joules = points[which]
        text = f"least {of}: {quantity_in_words(seconds, 's', 3)}, {quantity_in_words(joules, 'J', 3)}"
        x, y = places[which] + (0, 2 * _BESIDE[1])
        wide = text_width(text, _SAID) / POINT
        right = x > panel_points(axes)[0] / 2
        start = x - _BESIDE[0] - wide if right else x + _BESIDE[0]
        box = (start, y, start + wide, y + _SAID)
        if not any(_meet(box, other) for other in taken):
            taken.append(box)
            side: Literal["right", "left"] = "right" if right else "left"
            beside = (-_BESIDE[0] if right else _BESIDE[0], 2 * _BESIDE[1])
            axes.annotate(
                text, (seconds, joules), beside, textcoords="offset points", ha=side, fontsize=_SAID
            )


@house_style()
def regret_figure(
    title: str, how: str, after: Sequence[int], bands: Mapping[str, NDArray[np.float64]]
) -> Figure:
    """Shares of hypervolume that are missing after so many samples, by searcher: means, and intervals.

    `bands` are arrays (len(after), 3): the mean and the ends of its interval, which may be infinite.
    """
    figure, axes = single_panel(title, how, 1.85, 2.8)
    for colour, (name, band) in zip(_COLOURS[1:], bands.items(), strict=False):
        middle, low, high = band.T
        axes.fill_between(after, low.clip(0, 1), high.clip(0, 1), color=colour, alpha=0.13, linewidth=0)
        axes.plot(after, middle, color=colour, label=name, marker="o", markersize=3)
    log_axis(axes, "x", after[0], after[-1])
    axes.set_ylim(0, 1)
    axes.set_xlabel("samples", labelpad=2)
    y_label(axes, "share missing")
    axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False, fontsize=7)
    return figure


class Chip(NamedTuple):
    """A point of a front over machines: two figures, the area that colours it, and the machine in words."""

    x: float
    y: float
    area: float | None
    machine: str


@house_style()
def machines_figure(title: str, how: str, axes_of: tuple[Axis, Axis], chips: Sequence[Chip]) -> Figure:
    """A front over machines: dots in the colours of their areas; or without these a staircase, with chips.

    An axis is an objective with its unit.
    """
    figure, axes = single_panel(title, how, 0.9, 3.4)
    every = np.array([(one.x, one.y) for one in chips])
    low, high = _limits(every)
    x, y = every[np.argsort(every[:, 0])].T
    areas = [one.area for one in chips if one.area is not None]
    if areas:
        dots = axes.scatter(every[:, 0], every[:, 1], 14, c=areas, cmap="viridis", linewidth=0)
        figure.colorbar(dots, ax=axes, label="area (mm2)", pad=0.02)
    else:
        axes.step(np.append(x, high[0]), np.append(y, y.min()), where="post", color=_COLOURS[1], linewidth=1)
        axes.scatter(x, y, 10, color=_COLOURS[1], linewidth=0)
        for one in _with_room(chips, axes, low, high):
            axes.annotate(one.machine, (one.x, one.y), _BESIDE, textcoords="offset points", fontsize=_NAMED)
    _log_axes(axes, axes_of, low, high)
    return figure


def _with_room(chips: Sequence[Chip], axes: Axes, low: Points, high: Points) -> list[Chip]:
    """The chips whose names have room: on no name that is there already, and on no dot."""
    ordered = sorted(chips)
    places = _places(axes, np.array([(one.x, one.y) for one in ordered]), low, high)
    taken: list[Box] = [(x, y, x, y) for x, y in places]
    found = []
    for one, (x, y) in zip(ordered, places + _BESIDE, strict=True):
        box = (x, y, x + text_width(one.machine, _NAMED) / POINT, y + _NAMED)
        if not any(_meet(box, other) for other in taken):
            taken.append(box)
            found.append(one)
    return found


def _places(axes: Axes, points: Points, low: Points, high: Points) -> Points:
    """Where points are, in points of letters from the panel's corner."""
    return np.log(points / low) / np.log(high / low) * panel_points(axes)


def _meet(one: Box, other: Box) -> bool:
    """Whether two rectangles have a point in common."""
    return one[0] <= other[2] and other[0] <= one[2] and one[1] <= other[3] and other[1] <= one[3]
