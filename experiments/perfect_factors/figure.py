"""The figure of what perfect factors cost: how many problems cost how much, a panel an objective."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from dse.core.certificate import OPTIMAL
from dse.report.plots.canvas import Grid, frame_panel, log_axis, y_label
from dse.report.plots.style import BLUE, GREEN, VERMILLION, house_style
from dse.support.arrays import FloatArray
from experiments.perfect_factors.costs import Costs
from experiments.perfect_factors.problems import MACHINES, OBJECTIVES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LEAST, MOST = 0.1, 100.0
"""Per cent at the ends of the axis, unless some cost more; less is in the share at its left end."""
COLOURS: Mapping[str, str] = dict(zip(MACHINES, (VERMILLION, BLUE, GREEN), strict=True))


def shares(costs: FloatArray, at: FloatArray) -> FloatArray:
    """The share of costs that are at most so much, for each of `at`."""
    return np.searchsorted(np.sort(costs), at, side="right") / len(costs)


@house_style()
def costs_figure(title: str, how: str, costs: Costs) -> Figure:
    """The distribution of costs by machine: a line by the best mappings found, a band to the bounds."""
    grid = Grid((0.14,) * len(OBJECTIVES), 2.2, bottom=0.3)
    figure, panels = grid.make(len(OBJECTIVES), title, how)
    end = max(MOST, 105 * float(costs.most.max(initial=0)))
    for axes, objective in zip(panels, OBJECTIVES, strict=True):
        frame_panel(axes, f"{objective}, {len(costs.of(objective=objective).rows)} problems")
        log_axis(axes, "x", LEAST, end, most=4)
        axes.set_ylim(0, 1.02)
        axes.set_yticks([0, 0.25, 0.5, 0.75, 1], ["0 %", "25 %", "50 %", "75 %", "100 %"])
        axes.set_xlabel("perfect factors cost at most, %", labelpad=2)
        for machine in MACHINES:
            chosen = costs.of(objective=objective, accelerator=machine)
            if chosen.rows:
                _draw(axes, chosen, machine, end)
    y_label(panels[0], "share of problems")
    panels[-1].legend(loc="lower right", frameon=False, fontsize=7, handlelength=1.2)
    return figure


def _draw(axes: Axes, costs: Costs, machine: str, end: float) -> None:
    """One machine's line and band, with a dot at each cost that is proven, a ring at each that is not."""
    least, most, colour = 100 * costs.least, 100 * costs.most, COLOURS[machine]
    at = np.unique(np.clip([LEAST, end, *least, *most], LEAST, end))
    found, bounded = shares(least, at), shares(most, at)
    axes.fill_between(at, bounded, found, step="post", color=colour, alpha=0.15, linewidth=0)
    axes.step(at, found, where="post", color=colour, linewidth=1.2, label=machine)
    known = np.array([one["status"] == OPTIMAL for one in costs.rows])
    for chosen, face in ((known, colour), (~known, "white")):
        shown = least[chosen & (least >= LEAST)]
        axes.scatter(
            shown, shares(least, shown), 7, facecolor=face, edgecolor=colour, linewidth=0.6, zorder=4
        )
