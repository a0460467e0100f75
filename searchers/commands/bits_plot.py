"""What fewer bits cost: shares by which a policy is worse, against bits, with intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from dse.report.plots.canvas import Grid, frame_panel, y_label
from dse.report.plots.style import house_style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#b35a93", "#e69f00", "#56b4e9", "#000000", "#7f7f7f")
_MARKERS = "osD^vP*X"

Points = Mapping[int, tuple[float, float, float]]
"""By bits: a share, and the ends of its interval."""


@house_style()
def bits_figure(
    title: str, how: str, y: str, panels: Mapping[str, Mapping[str, Points]], ends: tuple[float, float]
) -> Figure:
    """A panel's series, each with its points, in per cent. Above and below `ends` they are cut off."""
    columns = min(len(panels), 3)
    bits = sorted({bit for lines in panels.values() for points in lines.values() for bit in points})
    grid = Grid((0.06,) * columns, 1.9, below=0.42, bottom=0.42)
    figure, panes = grid.make(len(panels), title, how)
    series = {name: None for lines in panels.values() for name in lines}
    for place, (axes, (panel, lines)) in enumerate(zip(panes, panels.items(), strict=True)):
        frame_panel(axes, panel)
        axes.axhline(0, color="#7f7f7f", linewidth=0.6)
        for number, name in enumerate(series):
            if name in lines:
                _draw(axes, lines[name], bits, number, len(series), name)
        axes.set_xticks(range(len(bits)), [str(bit) for bit in bits])
        axes.set_xlabel("bits", labelpad=2)
        axes.set_ylim(*ends)
        if place % columns == 0:
            y_label(axes, y)
    drawn = {
        label: handle
        for axes in panes
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    if len(drawn) > 1:
        columns = min(len(drawn), 6)
        figure.legend(
            [*drawn.values()], [*drawn], loc="lower center", ncols=columns, frameon=False, fontsize=6.5
        )
    return figure


def _draw(axes: object, points: Points, bits: Sequence[int], number: int, of: int, name: str) -> None:
    known = [bit for bit in bits if bit in points]
    middle, low, high = 100 * np.array([points[bit] for bit in known]).T
    at = np.array([bits.index(bit) for bit in known]) + 0.5 * ((number + 0.5) / of - 0.5)
    colour, marker = _COLOURS[number % 8], _MARKERS[number % 8]
    whiskers = np.nan_to_num(np.abs(np.stack((middle - low, high - middle))))
    axes.errorbar(  # type: ignore[attr-defined]
        at, middle, whiskers, color=colour, marker=marker, markersize=3, linewidth=0.9, label=name
    )
