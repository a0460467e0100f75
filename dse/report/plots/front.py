"""Fronts of latency and energy: what no mapping is below and left of, and what searches found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from dse.report.plots.canvas import UNTITLED, Grid, frame, log_axis, y_label
from dse.report.plots.style import house_style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_COLOURS = ("#222222", "#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377")
_ROOM = 1.15
"""By what the axes go beyond the points."""
_DOTS = 60
"""Points up to which each has a dot."""


@house_style()
def front_figure(title: str, how: str, fronts: Mapping[str, Sequence[tuple[float, float]]]) -> Figure:
    """`fronts` are points (s, J) by what they are called; the first is the exact one, or the best known.

    A front is a staircase: between two points the slower one is the best that there is.
    """
    grid = Grid((0.3,), 3.4, above=UNTITLED, below=0.4)
    figure, (axes,) = grid.make(1, title, how)
    frame(axes)
    every = np.array([point for points in fronts.values() for point in points])
    low, high = every.min(axis=0) / _ROOM, every.max(axis=0) * _ROOM
    for colour, (name, points) in zip(_COLOURS * len(fronts), fronts.items(), strict=False):
        seconds, joules = np.array(sorted(points)).T
        seconds, joules = np.append(seconds, high[0]), np.append(joules, joules.min())
        axes.step(seconds, joules, where="post", color=colour, linewidth=1, label=name)
        if len(points) <= _DOTS:
            axes.scatter(seconds[:-1], joules[:-1], 10, color=colour, linewidth=0)
    log_axis(axes, "x", float(low[0]), float(high[0]))
    log_axis(axes, "y", float(low[1]), float(high[1]))
    axes.set_xlabel("latency (s)", labelpad=2)
    y_label(axes, "energy (J)")
    if len(fronts) > 1:
        axes.legend(loc="upper right", frameon=False, fontsize=7)
    return figure
