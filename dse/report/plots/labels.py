"""Names at the ends of curves, pushed apart until none is on another, and the intervals of those ends."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dse.report.plots.canvas import POINT, axis_shares, panel_points
from dse.report.plots.scales import spread_positions
from dse.report.plots.style import Style, widest_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SIZE = 7
STEP = 8.6
"""Points from one name to the next."""
WHISKER = 2.3
"""Points from one interval to the next."""
NONE = ": none"
"""What stands after the name of a searcher that has nothing to show."""

Ends = Mapping[str, tuple[float, float, float]]
"""By searcher, where its curve ends, and that figure's interval."""


def label_room(names: Iterable[str], whiskers: int = 0, nothing: bool = False) -> float:
    """Inches needed right of a panel for names after so many whiskers; `nothing` if one may have none."""
    return (whiskers * WHISKER + 15 + 8) * POINT + widest_name(
        (name + NONE * nothing for name in names), SIZE
    )


def high_enough(searchers: int) -> float:
    """Inches of height that the names of so many searchers need."""
    return (searchers * STEP + 2) * POINT


def end_labels(
    axes: Axes,
    ends: Ends,
    looks: Mapping[str, Style],
    names: Mapping[str, str],
    whiskers: bool = False,
    early: Mapping[str, float] | None = None,
) -> None:
    """Each searcher's name right of the panel, at the height of its curve's end or as near as there is room.

    A thin line leads from the end to the name, by way of the searcher's marker. With `whiskers`, the ends'
    intervals stand between. Searchers without a finite end have their names at the top. Curves of `early`
    end after so many samples, within the panel: an end there, with its interval, and no line to the name.
    """
    early = early or {}
    width, height = panel_points(axes)
    shown = [name for name, (end, _, _) in ends.items() if math.isfinite(end)]
    lost = [name for name in ends if name not in shown]
    heights = {name: float(np.clip(axis_shares(axes, "y", np.array(ends[name][0])), 0, 1)) for name in shown}
    step = min(STEP / height, 1.12 / max(len(ends) - 1, 1))
    places = spread_positions([*heights.values(), *(2.0 for _ in lost)], step, 0.0, 1.0)
    size = SIZE * min(1.0, step * height / STEP)
    start = 1 + (WHISKER * (len(shown) + 1) if whiskers else 0) / width
    order = sorted(shown, key=lambda name: -heights[name])
    for name, place in zip([*shown, *lost], places, strict=True):
        style = looks[name]
        if name in heights and name in early:
            _early_end(axes, early[name], ends[name], style)
        elif name in heights:
            at = 1 + (order.index(name) + 1) * WHISKER / width if whiskers else 1 + 1 / width
            if whiskers:
                _whisker(axes, at, ends[name], style)
            path = [at, start + 2 / width, start + 7 / width, start + 10 / width]
            axes.plot(
                path, [heights[name]] * 2 + [place] * 2, color=style.colour, linewidth=0.5, **_free(axes)
            )
        dot = start + 11 / width
        axes.plot(dot, place, color=style.colour, marker=style.marker, markersize=3.4, **_free(axes))
        axes.text(
            start + 15 / width,
            place,
            names[name] if name in heights else names[name] + NONE,
            transform=axes.transAxes,
            color=style.text,
            fontsize=size,
            fontweight="bold" if style.leading else "normal",
            fontstyle="normal" if name in heights else "italic",
            va="center_baseline",
        )


def _early_end(axes: Axes, at: float, end: tuple[float, float, float], style: Style) -> None:
    """Where a curve ends before the others: a dot, and the interval there."""
    value, low, high = end
    if math.isfinite(low) and low < high:
        top = min(high, axes.get_ylim()[1])
        axes.plot([at, at], [low, top], color=style.colour, linewidth=1.3, solid_capstyle="butt", zorder=5)
    axes.plot(at, value, color=style.colour, marker="o", markersize=3.2, zorder=5)


def _whisker(axes: Axes, at: float, end: tuple[float, float, float], style: Style) -> None:
    """An end's interval, with a dot at the end."""
    top = axes.get_ylim()[1]
    value, low, high = (min(figure, top) if figure == figure else top for figure in end)
    y = np.clip(axis_shares(axes, "y", np.array([low, high, value])), 0, 1)
    axes.plot([at, at], y[:2], color=style.colour, linewidth=1.3, solid_capstyle="butt", **_free(axes))
    axes.plot(at, y[2], color=style.colour, marker="o", markersize=2.4, **_free(axes))


def _free(axes: Axes) -> dict[str, Any]:
    """What draws beside a panel, in shares of it."""
    return {"transform": axes.transAxes, "clip_on": False, "zorder": 3}
