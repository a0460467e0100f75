"""Who ends lower: a matrix of every searcher against every other."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from dse.analysis.findings import Findings, Improvement
from dse.analysis.study import Study
from dse.report.plots.canvas import WIDTH, add_panel, bare, headed_figure, note
from dse.report.plots.convergence import seeds
from dse.report.plots.style import (
    BACKGROUND,
    INK,
    MUTED,
    house_style,
    luminance,
    short_names,
    styles_of,
    widest,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DASH = "\N{EN DASH}"


@house_style()
def improvement_figure(study: Study, findings: Findings, width: float = WIDTH) -> Figure:
    """A matrix of how likely a run of the row's searcher ends lower than one of the column's; best first."""
    looks = styles_of(study)
    found = findings.improvement
    order = ranked(found)
    count = max(len(order), 1)
    names = short_names(found.searchers, 14)
    shown = [names[found.searchers[index]] for index in order]
    longest = widest(shown)
    left = 0.2 + longest
    side = min(1.0, (width - left - 0.15) / count)
    if longest > side:  # The names above are turned, and the last one leans out.
        side = min(side, (width - left - 0.77 * longest) / (count - 0.5))
    high = min(0.72 * side, 0.44)
    turned: dict[str, Any] = {"rotation": 40, "ha": "left", "rotation_mode": "anchor"}
    room = 0.3 + 0.62 * longest if longest > side else 0.26
    over = f"mean over problems, ties count half, {seeds(study, ends=True)}"
    how = f"{over}; below: 95 % confidence interval; bold: it excludes 50 %"
    title = "Probability that a run of the row's searcher ends lower than one of the column's"
    figure, down = headed_figure(width, 0.5 + room + count * high + 0.15, title, how)
    axes = add_panel(figure, left, down + 0.5 + room, side * count, count * high)
    bare(axes)
    if len(order) < 2:
        note(axes, "nobody to compare")
        return figure
    axes.set_xlim(0, count)
    axes.set_ylim(count, 0)
    for row, i in enumerate(order):
        for column, j in enumerate(order):
            if i != j:
                chance, low, high = (values[i, j] for values in (found.probability, found.low, found.high))
                _field(axes, row, column, (float(chance), float(low), float(high)), roomy=side >= 0.42)
    axes.set_yticks(np.arange(count) + 0.5, shown)
    axes.set_xticks(np.arange(count) + 0.5, shown, **(turned if longest > side else {}))
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    for label, i in zip([*axes.get_yticklabels(), *axes.get_xticklabels()], [*order, *order], strict=True):
        style = looks[found.searchers[i]]
        label.set(color=style.text, fontweight="bold" if style.leading else "normal")
    return figure


def ranked(found: Improvement) -> list[int]:
    """The places of the searchers that can be compared with any other, best mean probability first."""
    others = np.where(np.eye(len(found.searchers), dtype=bool), np.nan, found.probability)
    means = {place: np.nanmean(row) for place, row in enumerate(others) if np.isfinite(row).any()}
    return sorted(means, key=lambda place: -means[place])


def _field(axes: Axes, row: int, column: int, interval: tuple[float, float, float], roomy: bool) -> None:
    """One field of the matrix: darker is likelier, so that it reads in grey too."""
    from matplotlib.patches import Rectangle

    chance, low, high = interval
    centre: dict[str, Any] = {"ha": "center", "va": "center"}
    if not math.isfinite(chance):
        axes.text(column + 0.5, row + 0.5, DASH, color=MUTED, **centre)
        return
    shade, ink = _shade(chance)
    axes.add_patch(Rectangle((column, row), 1, 1, facecolor=shade, edgecolor=BACKGROUND, linewidth=1.2))
    weight = "bold" if low > 0.5 or high < 0.5 else "normal"
    text = f"{100 * chance:.0f}" + (" %" if roomy else "")
    height, size = (0.37, 7.5) if roomy else (0.5, 6.0)
    axes.text(column + 0.5, row + height, text, color=ink, fontsize=size, fontweight=weight, **centre)
    if roomy:
        below = f"{100 * low:.0f}{DASH}{100 * high:.0f}"
        axes.text(column + 0.5, row + 0.74, below, color=ink, fontsize=5.5, **centre)


def _shade(chance: float) -> tuple[str, str]:
    """White at 0 to a dark blue at 1, and the ink that can be read on it."""
    light, dark = (0xF6, 0xF9, 0xFC), (0x08, 0x3A, 0x6B)
    mixed = [a + (b - a) * chance**1.3 for a, b in zip(light, dark, strict=True)]
    bright = luminance(*(channel / 255 for channel in mixed))
    return "#" + "".join(f"{round(channel):02x}" for channel in mixed), INK if bright > 0.2 else BACKGROUND
