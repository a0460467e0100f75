"""Where a learner's time goes: a bar for each way of computing, stacked by phase; a panel a team's size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from dse.report.plots.canvas import Grid, frame_panel, y_label
from dse.report.plots.style import house_style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_COLOURS = ("#4477aa", "#cc3311", "#ee7733", "#ddaa33", "#aa3377", "#bbbbbb", "#e2e2e2")
_MAX = 5
"""Panels that fit beside each other."""


@house_style()
def phases_figure(
    title: str, how: str, phases: Sequence[str], panels: Mapping[str, Mapping[str, Sequence[float]]]
) -> Figure:
    """Milliseconds of each phase: `panels` has a panel's bars, each with figures in the order of `phases`."""
    columns = min(len(panels), _MAX)
    grid = Grid((0.06,) * columns, 2.0, below=0.9)
    figure, panes = grid.make(len(panels), title, how)
    for place, (axes, (name, bars)) in enumerate(zip(panes, panels.items(), strict=True)):
        frame_panel(axes, name)
        floor = np.zeros(len(bars))
        for phase, colour, heights in zip(phases, _COLOURS, zip(*bars.values(), strict=True), strict=False):
            axes.bar(range(len(bars)), heights, 0.7, floor, color=colour, label=phase)
            floor += heights
        axes.set_xticks(range(len(bars)), list(bars), rotation=40, ha="right", rotation_mode="anchor")
        if place % columns == 0:
            y_label(axes, "ms an update")
    handles, labels = panes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower center", ncols=len(labels), frameon=False, fontsize=6.5)
    return figure
