"""Fronts of latency and energy: what no mapping is below and left of, and what searches found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dse.report.plots.canvas import UNTITLED, Grid, frame, log_axis, y_label
from dse.report.plots.scales import unit_scale
from dse.report.plots.style import house_style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_COLOURS = ("#222222", "#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377")
_ROOM = 0.06
"""How far the axes go beyond the points, as a share of their length, on a logarithmic scale."""
_DOTS = 60
"""Points up to which each has a dot."""
_WIDE, _HIGH = 0.22, 0.05
"""Room that the name of a chip needs, as shares of the axes."""
Axis = tuple[str, str]


@house_style()
def front_figure(title: str, how: str, fronts: Mapping[str, Sequence[tuple[float, float]]]) -> Figure:
    """`fronts` are points (s, J) by what they are called; the first is the exact one, or the best known.

    A front is a staircase: between two points the slower one is the best that there is.
    """
    grid = Grid((0.3,), 3.4, above=UNTITLED, below=0.4)
    figure, (axes,) = grid.make(1, title, how)
    frame(axes)
    every = np.array([point for points in fronts.values() for point in points])
    low, high = every.min(axis=0), every.max(axis=0)
    room = np.maximum((high / low) ** _ROOM, 1.001)
    low, high = low / room, high * room
    for colour, (name, points) in zip(_COLOURS * len(fronts), fronts.items(), strict=False):
        seconds, joules = np.array(sorted(points)).T
        seconds, joules = np.append(seconds, high[0]), np.append(joules, joules.min())
        axes.step(seconds, joules, where="post", color=colour, linewidth=1, label=name)
        if len(points) <= _DOTS:
            axes.scatter(seconds[:-1], joules[:-1], 10, color=colour, linewidth=0)
    second, latency = unit_scale("latency", "s", float(low[0]))
    joule, energy = unit_scale("energy", "J", float(low[1]))
    log_axis(axes, "x", float(low[0]), float(high[0]), scale=second)
    log_axis(axes, "y", float(low[1]), float(high[1]), scale=joule)
    axes.set_xlabel(latency, labelpad=2)
    y_label(axes, energy)
    if len(fronts) > 1:
        axes.legend(loc="upper right", frameon=False, fontsize=7)
    return figure


@house_style()
def regret_figure(
    title: str, how: str, after: Sequence[int], bands: Mapping[str, NDArray[np.float64]]
) -> Figure:
    """Shares of hypervolume that are missing after so many samples, by searcher: means, and intervals.

    `bands` are arrays (len(after), 3): the mean and the ends of its interval, which may be infinite.
    """
    grid = Grid((1.85,), 2.8, above=UNTITLED, below=0.4)
    figure, (axes,) = grid.make(1, title, how)
    frame(axes)
    for colour, (name, band) in zip(_COLOURS[1:], bands.items(), strict=False):
        middle, low, high = band.T
        axes.fill_between(after, low.clip(0, 1), high.clip(0, 1), color=colour, alpha=0.13, linewidth=0)
        axes.plot(after, middle, color=colour, label=name, marker="o", markersize=3)
    log_axis(axes, "x", after[0], after[-1])
    axes.set_ylim(0, 1)
    axes.set_xlabel("samples", labelpad=2)
    y_label(axes, "regret")
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
    grid = Grid((0.9,), 3.4, above=UNTITLED, below=0.4)
    figure, (axes,) = grid.make(1, title, how)
    frame(axes)
    every = np.array([(one.x, one.y) for one in chips])
    low, high = every.min(axis=0), every.max(axis=0)
    room = np.maximum((high / low) ** _ROOM, 1.001)
    low, high = low / room, high * room
    x, y = every[np.argsort(every[:, 0])].T
    areas = [one.area for one in chips if one.area is not None]
    if areas:
        dots = axes.scatter(every[:, 0], every[:, 1], 14, c=areas, cmap="viridis", linewidth=0)
        figure.colorbar(dots, ax=axes, label="area (mm2)", pad=0.02)
    else:
        axes.step(np.append(x, high[0]), np.append(y, y.min()), where="post", color=_COLOURS[1], linewidth=1)
        axes.scatter(x, y, 10, color=_COLOURS[1], linewidth=0)
        for one in _spread(chips, low, high):
            axes.annotate(one.machine, (one.x, one.y), (4, 3), textcoords="offset points", fontsize=6)
    (name, unit), (other, its) = axes_of
    across, below = unit_scale(name, unit, float(low[0]))
    up, beside = unit_scale(other, its, float(low[1]))
    log_axis(axes, "x", float(low[0]), float(high[0]), scale=across)
    log_axis(axes, "y", float(low[1]), float(high[1]), scale=up)
    axes.set_xlabel(below, labelpad=2)
    y_label(axes, beside)
    return figure


def _spread(chips: Sequence[Chip], low: NDArray[np.float64], high: NDArray[np.float64]) -> list[Chip]:
    """The chips whose names have room: none is near one that is named already."""
    named: list[tuple[float, float]] = []
    found = []
    for one in sorted(chips):
        across, up = np.log(np.array([one.x, one.y]) / low) / np.log(high / low)
        if all(abs(across - x) > _WIDE or abs(up - y) > _HIGH for x, y in named):
            named.append((float(across), float(up)))
            found.append(one)
    return found
