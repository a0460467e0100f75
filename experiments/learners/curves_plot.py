"""Curves of learning: what is earned by episodes, with all runs of each learner as a band."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from dse.report.plots.canvas import UNTITLED, Grid, frame_panel, y_label
from dse.report.plots.style import house_style
from dse.support.arrays import FloatArray

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_COLOURS = ("#4477aa", "#cc3311", "#228833", "#ee7733", "#aa3377", "#66ccee", "#777777")


@house_style()
def curves_figure(
    title: str, how: str, x: str, y: str, at: FloatArray, curves: Mapping[str, FloatArray]
) -> Figure:
    """The mean over runs at each of `at`, (points,), of curves (runs, points), from the least to the most."""
    grid = Grid((1.4,), 2.8, above=UNTITLED, below=0.4)
    figure, (axes,) = grid.make(1, title, how)
    frame_panel(axes)
    for colour, (name, runs) in zip(_COLOURS, curves.items(), strict=False):
        axes.fill_between(at, runs.min(axis=0), runs.max(axis=0), color=colour, alpha=0.13, linewidth=0)
        axes.plot(at, runs.mean(axis=0), color=colour, label=name)
    axes.set_xlabel(x, labelpad=2)
    y_label(axes, y)
    axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False, fontsize=7)
    return figure
