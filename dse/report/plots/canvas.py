"""Panels laid out in inches, their axes, and curves with intervals on them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from dse.report.plots.scales import axis_number, log_ticks, thin_points, thin_steps
from dse.report.plots.style import BACKGROUND, INK, MUTED, RULE, Style, wrapped_text
from dse.support.arrays import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


WIDTH, COLUMN = 7.2, 3.8
"""Inches: the text width of a two-column paper, and one column's, which a page shows on a telephone too."""
POINT = 1 / 72
SMALL, LINE = 7.5, 0.135
"""Points of a subtitle's letters, and inches from one of its lines to the next."""
UNTITLED = 0.14
"""Inches above a panel that has no title of its own."""


@dataclass(frozen=True)
class Grid:
    """Panels of one size, in inches: `rights` holds, for each column, the room for names right of it."""

    rights: tuple[float, ...]
    height: float
    left: float = 0.64
    above: float = 0.3
    below: float = 0.2
    top: float = 0.4
    bottom: float = 0.22
    width: float = WIDTH

    @property
    def panel(self) -> float:
        """A panel's width."""
        return (self.width - sum(self.rights)) / len(self.rights) - self.left

    def make(self, count: int, title: str, subtitle: str = "") -> tuple[Figure, list[Axes]]:
        """A figure of `count` panels, row by row, under a title."""
        columns = len(self.rights)
        row = self.above + self.height + self.below
        high = self.top + math.ceil(count / columns) * row + self.bottom
        figure, top = headed_figure(self.width, high, title, subtitle)
        axes = []
        for place in range(count):
            down, across = divmod(place, columns)
            x = across * (self.left + self.panel) + sum(self.rights[:across]) + self.left
            y = top + self.top + down * row + self.above
            axes.append(add_panel(figure, x, y, self.panel, self.height))
        return figure, axes


def single_panel(
    title: str, subtitle: str, right: float, height: float, width: float = WIDTH, below: float = 0.2
) -> tuple[Figure, Axes]:
    """A figure of one framed panel without a title of its own, with so much room for names right of it."""
    grid = Grid((right,), height, above=UNTITLED, below=below, width=width)
    figure, (axes,) = grid.make(1, title, subtitle)
    frame_panel(axes)
    return figure, axes


def new_figure(width: float, height: float) -> Figure:
    """An empty figure, in inches, that no global state knows of."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height))
    FigureCanvasAgg(figure)
    return figure


def add_panel(figure: Figure, x: float, down: float, width: float, height: float) -> Axes:
    """A panel whose upper left corner is `x` and `down` inches from the figure's."""
    whole_width, whole_height = figure.get_size_inches()
    return figure.add_axes(
        (x / whole_width, 1 - (down + height) / whole_height, width / whole_width, height / whole_height)
    )


def headed_figure(width: float, height: float, title: str, subtitle: str) -> tuple[Figure, float]:
    """A figure with its title, and under it in small what is to be known to read it.

    One as wide as a column has its title from what is around it, and lines of the rest as needed. Returns the
    figure too how many inches lower its panels stand than under a heading of two lines.
    """
    lines = [subtitle] if width >= WIDTH else wrapped_text(subtitle, width - 0.2, SMALL)
    first = 0.25 if width >= WIDTH else 0.06
    down = first + LINE * (len(lines) - 1) - 0.25
    figure = new_figure(width, height + down)
    x, top = 0.1 / width, height + down
    if width >= WIDTH:
        figure.text(x, 1 - 0.06 / top, title, fontsize=9.5, fontweight="bold", ha="left", va="top")
    for place, line in enumerate(lines):
        y = 1 - (first + place * LINE) / top
        figure.text(x, y, line, fontsize=SMALL, color=MUTED, ha="left", va="top")
    return figure, down


def frame_panel(axes: Axes, title: str = "", grid: Literal["x", "y"] = "y") -> None:
    """What all panels share: two spines, a light grid on `grid` (x or y), a title at the left."""
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.set_axisbelow(True)
    axes.grid(axis=grid, color=RULE, linewidth=0.5)
    axes.set_title(title, fontsize=8, loc="left", pad=5)


def log_axis(
    axes: Axes, which: str, low: float, high: float, most: int = 6, scale: float = 1.0, sign: str = ""
) -> None:
    """A logarithmic axis from `low` to `high` with ticks that say what they are, in units of `scale`."""
    if which == "x":
        axes.set_xscale("log")
        axes.set_xlim(low, high)
    else:
        axes.set_yscale("log")
        axes.set_ylim(low, high)
    axis = axes.xaxis if which == "x" else axes.yaxis
    ticks = log_ticks(low / scale, high / scale, most)
    axis.set_ticks([tick * scale for tick in ticks], [axis_number(tick) + sign for tick in ticks])
    axis.set_ticks([], minor=True)


def sample_axis(axes: Axes, budget: int, label: bool = True, log: bool = True) -> None:
    """The axis of samples, up to the budget, which has its tick; logarithmic, over its last three decades."""
    width = panel_points(axes)[0]
    if log:
        first = max(1.0, budget / 1000) if budget > 1 else 0.5
        log_axis(axes, "x", first, budget)
        near = (budget / first) ** (32 / width)
        ticks = [tick for tick in log_ticks(first, budget, 4) if tick * near < budget]
    else:
        axes.set_xlim(0, budget)
        ticks = [0, budget / 2] if budget % 2 == 0 else [0]
    ticks.append(budget)
    axes.xaxis.set_ticks(ticks, [axis_number(tick) for tick in ticks])
    if label:
        axes.set_xlabel("samples", labelpad=2)


def y_label(axes: Axes, text: str) -> None:
    """The y axis's name, at the same distance in every panel."""
    axes.set_ylabel(text)
    axes.yaxis.set_label_coords(-33 / panel_points(axes)[0], 0.5)


def panel_points(axes: Axes) -> tuple[float, float]:
    """A panel's width and height in points."""
    box = axes.get_position()
    figure = axes.get_figure(root=True)
    assert figure is not None
    width, height = figure.get_size_inches()
    return box.width * width * 72, box.height * height * 72


def draw_curve(
    axes: Axes,
    x: NDArray[Any],
    centre: FloatArray,
    style: Style,
    interval: tuple[FloatArray, FloatArray] | None = None,
    steps: bool = True,
) -> None:
    """A searcher's curve, and its interval as a band, where they are finite. The axes must be set.

    The best so far stays what it is until a better one is found, as shares of what is reached do: such a
    curve goes in `steps`, and nothing is drawn that no run had between two of its points.
    """
    kept = thin_steps if steps else thin_points
    line = _finite(x, centre)
    if interval is not None:
        low, high = interval
        inside = np.isfinite(low) & np.isfinite(centre)
        if inside.any():
            top = np.where(np.isfinite(high), high, axes.get_ylim()[1])
            at, least, most = x[inside], low[inside], top[inside]
            some = kept(
                axis_shares(axes, "x", at), axis_shares(axes, "y", least), axis_shares(axes, "y", most)
            )
            axes.fill_between(
                at[some], least[some], most[some], step="post" if steps else None,
                color=style.colour, alpha=0.13, linewidth=0, zorder=2,
            )  # fmt: skip
    if line is None:
        return
    at, value = line
    some = kept(axis_shares(axes, "x", at), axis_shares(axes, "y", value), tolerance=0.002)
    axes.plot(
        at[some],
        value[some],
        drawstyle="steps-post" if steps else "default",
        color=style.colour,
        linestyle=style.line,
        linewidth=style.width,
        zorder=4 if style.leading else 3,
        solid_capstyle="round",
        dash_capstyle="butt",
    )


def _finite(x: NDArray[Any], y: FloatArray) -> tuple[NDArray[Any], FloatArray] | None:
    inside = np.isfinite(y)
    return (x[inside], y[inside]) if inside.any() else None


def axis_shares(axes: Axes, which: str, values: NDArray[Any]) -> FloatArray:
    """Values as shares of the axis that they are on."""
    scale, limits = (
        (axes.get_xscale(), axes.get_xlim()) if which == "x" else (axes.get_yscale(), axes.get_ylim())
    )
    if scale == "log":
        low, high = np.log(limits)
        return np.asarray((np.log(values) - low) / (high - low), dtype=np.float64)
    low, high = limits
    return np.asarray((values - low) / (high - low), dtype=np.float64)


def draw_markers(axes: Axes, x: NDArray[Any], y: FloatArray, style: Style, place: float) -> None:
    """The searcher's marker on its curve at three spots; `place`, 0 to 1, keeps searchers' spots apart."""
    line = _finite(x, y)
    if line is None:
        return
    at, value = line
    spots = axis_shares(axes, "x", at)
    low, high = axes.get_ylim()
    seen = np.flatnonzero((spots >= 0) & (spots < 0.97) & (value >= low) & (value <= high))
    if not len(seen):
        return
    wanted = np.array([(i + 0.15 + 0.7 * place) / 3 for i in range(3)])
    chosen = np.unique([seen[np.argmin(np.abs(spots[seen] - spot))] for spot in wanted])
    chosen = chosen[np.min(np.abs(spots[chosen][:, None] - wanted[None, :]), axis=1) < 0.1]
    axes.plot(
        at[chosen],
        value[chosen],
        color=style.colour,
        marker=style.marker,
        markersize=3.2,
        markeredgewidth=0.8,
        markerfacecolor=style.colour,
        linestyle="none",
        zorder=5,
    )


def reference_line(axes: Axes, value: float, text: str) -> None:
    """The optimum or the best known: a thin line across, its name above it at the left."""
    if not math.isfinite(value):
        return
    axes.axhline(value, color=INK, linewidth=0.8, zorder=2.5)
    axes.annotate(
        text,
        (0, value),
        xycoords=("axes fraction", "data"),
        xytext=(3, 2),
        textcoords="offset points",
        fontsize=6.5,
        color=INK,
        va="bottom",
        bbox={"facecolor": BACKGROUND, "edgecolor": "none", "pad": 0.4, "alpha": 0.8},
    )


def finite_values(values: Iterable[float]) -> list[float]:
    """Those of the values that are numbers above 0."""
    return [float(value) for value in values if 0 < value < math.inf]


def bare_axes(axes: Axes) -> None:
    """Take a panel's frame and ticks away."""
    for side in axes.spines.values():
        side.set_visible(False)
    axes.set_xticks([])
    axes.set_yticks([])


def draw_note(axes: Axes, text: str) -> None:
    """A remark in the middle of a panel that has nothing else to show."""
    axes.grid(False)
    axes.set_yticks([])
    axes.text(0.5, 0.5, text, transform=axes.transAxes, ha="center", va="center", color=MUTED, fontsize=7.5)


def panel_note(axes: Axes, text: str) -> None:
    """A remark in a panel's upper right corner."""
    axes.text(0.985, 0.97, text, transform=axes.transAxes, ha="right", va="top", color=MUTED, fontsize=7)
