"""Which genes of good samples go together: a tree of clusters beside the matrix of correlations."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from dse.analysis.dependence import ALPHA, Dependence
from dse.report.plots.canvas import WIDTH, add_panel, bare, headed_figure
from dse.report.plots.style import BACKGROUND, INK, MUTED, luminance, short_names, widest

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TREE = 1.15
"""Inches that the tree takes beside the matrix."""
GAP = 0.4
"""Fields between the genes and the objective."""
BOXED = 6
"""Agents whose groups are boxed, if they are asked for: as many as the paper has at its best."""
_NEGATIVE, _POSITIVE = (0x00, 0x72, 0xB2), (0xD5, 0x5E, 0x00)


def correlation_figure(found: Dependence, title: str, subtitle: str = "") -> Figure:
    """The genes' correlations, and at the left the tree of which is nearest to which.

    Genes stand in the tree's order, so that an agent's are next to each other. Correlations that are
    significant are bold; a box holds the genes of an agent.
    """
    from scipy.cluster.hierarchy import dendrogram

    count = len(found.names)
    drawn: dict[str, Any] = dendrogram(found.tree, no_plot=True)
    order = [int(place) for place in drawn["leaves"]]
    names = short_names(found.names, 16)
    shown = [names[found.names[gene]] for gene in order]
    label = widest(shown)
    side = min(0.42, (WIDTH - TREE - label - 0.5) / (count + GAP + 1))
    high = 0.8 * side
    down, turned = 0.5, 0.15 + 0.75 * label
    boxed = BOXED if BOXED in found.groups else max(found.groups, default=0)
    boxes = f"; boxes: the genes of {boxed} agents" if boxed else ""
    how = f"{subtitle}; bold: significant among all pairs{boxes}"
    figure, _ = headed_figure(WIDTH, down + turned + count * high + 0.42, title, how)
    branches = add_panel(figure, 0.12, down + turned, TREE, count * high)
    _draw_tree(branches, drawn, count, found.linkage)
    # The objective stands apart: it is no gene, and nothing is clustered by it.
    axes = add_panel(figure, TREE + label + 0.3, down + turned, side * (count + GAP + 1), count * high)
    _draw_matrix(axes, found, order, shown)
    _draw_objective(axes, found, order)
    if boxed:
        _draw_boxes(axes, found, order, boxed)
    return figure


def _draw_tree(axes: Axes, drawn: dict[str, Any], count: int, linkage: str) -> None:
    """Branches that meet where the distance between them is: 1 - |r| on average, or Ward's."""
    most = max(1.0, math.ceil(2 * max(map(max, drawn["dcoord"]), default=0.0)) / 2)
    for heights, places in zip(drawn["dcoord"], drawn["icoord"], strict=True):
        # scipy puts leaf i at 10 i + 5.
        axes.plot(heights, np.asarray(places) / 10, color=INK, linewidth=0.9, solid_joinstyle="miter")
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.set_xlim(1.02 * most, 0)
    axes.set_ylim(count, 0)
    axes.set_yticks([])
    axes.set_xticks([0, most / 2, most], ["0", f"{most / 2:g}", f"{most:g}"])
    axes.set_xlabel("distance 1 - |r|" if linkage == "average" else "distance (Ward)", labelpad=2)


def _draw_matrix(axes: Axes, found: Dependence, order: list[int], shown: list[str]) -> None:
    from matplotlib.patches import Rectangle

    bare(axes)
    count = len(order)
    axes.set_xlim(0, count + GAP + 1)
    axes.set_ylim(count, 0)
    for row, i in enumerate(order):
        for column, j in enumerate(order):
            r = float(found.correlations[i, j])
            shade, ink = _shade(r if found.varied[i] and found.varied[j] else 0.0)
            axes.add_patch(
                Rectangle((column, row), 1, 1, facecolor=shade, edgecolor=BACKGROUND, linewidth=0.8)
            )
            if i == j or not (found.varied[i] and found.varied[j]):
                continue
            weight = "bold" if found.correlation_p[i, j] <= ALPHA else "normal"
            _write(axes, column, row, r, ink, weight)
    axes.set_yticks(np.arange(count) + 0.5, shown)
    places = [*np.arange(count) + 0.5, count + GAP + 0.5]
    axes.set_xticks(places, [*shown, "1 / loss"], rotation=50, ha="left", rotation_mode="anchor")
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    for tick, gene in zip(
        [*axes.get_yticklabels(), *axes.get_xticklabels()[:-1]], [*order, *order], strict=True
    ):
        tick.set_color(INK if found.varied[gene] else MUTED)


def _draw_objective(axes: Axes, found: Dependence, order: list[int]) -> None:
    """The genes' correlations with the reward, in a column of their own."""
    from matplotlib.patches import Rectangle

    column = len(order) + GAP
    for row, gene in enumerate(order):
        r = float(found.objective[gene])
        shade, ink = _shade(r)
        axes.add_patch(Rectangle((column, row), 1, 1, facecolor=shade, edgecolor=BACKGROUND, linewidth=0.8))
        if found.varied[gene]:
            _write(axes, column, row, r, ink, "normal")


def _write(axes: Axes, column: float, row: int, r: float, ink: str, weight: str) -> None:
    """A correlation in its field: rounded first, and no minus before a zero."""
    text = f"{round(r, 2) + 0.0:.2f}".replace("0.", ".").replace("-", "\N{MINUS SIGN}")
    place: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 5.8}
    axes.text(column + 0.5, row + 0.5, text, color=ink, fontweight=weight, **place)


def _draw_boxes(axes: Axes, found: Dependence, order: list[int], agents: int) -> None:
    """A box on the diagonal for each agent's genes, which the tree's order has next to each other."""
    from matplotlib.patches import Rectangle

    places = {found.names[gene]: place for place, gene in enumerate(order)}
    for group in found.groups[agents]:
        first, size = min(places[name] for name in group), len(group)
        axes.add_patch(
            Rectangle((first, first), size, size, fill=False, edgecolor=INK, linewidth=1.3, clip_on=False)
        )


def _shade(r: float) -> tuple[str, str]:
    """White at 0, blue towards -1 and vermillion towards 1; and the ink that can be read on it."""
    ends = _POSITIVE if r > 0 else _NEGATIVE
    mixed = [255 + (end - 255) * min(abs(r), 1.0) ** 0.8 for end in ends]
    bright = luminance(*(channel / 255 for channel in mixed))
    return "#" + "".join(f"{round(channel):02x}" for channel in mixed), INK if bright > 0.2 else BACKGROUND
