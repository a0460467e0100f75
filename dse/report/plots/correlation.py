"""Which genes of good samples go together: a tree of clusters beside the matrix of correlations."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dse.analysis.dependence import ALPHA, Dependence
from dse.report.plots.canvas import WIDTH, add_panel, bare_axes, headed_figure
from dse.report.plots.style import INK, short_names, widest_name

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TREE = 1.15
"""Inches that the tree takes beside the matrix."""


def correlation_figure(found: Dependence, title: str, subtitle: str = "") -> Figure:
    """The genes' correlations, and at the left the tree of which is nearest to which.

    Genes stand in the tree's order, so that an agent's are next to each other; the last column is the reward.
    Correlations that are significant among all pairs are bold.
    """
    from scipy.cluster.hierarchy import dendrogram

    count, names = len(found.names), short_names(found.names, 16)
    label = widest_name(names.values())
    side = min(0.42, (WIDTH - TREE - label - 0.5) / (count + 1))
    high, top = 0.8 * side, 0.65 + 0.75 * label
    how = f"{subtitle}; bold: significant among all pairs"
    figure, _ = headed_figure(WIDTH, top + count * high + 0.42, title, how)
    branches = add_panel(figure, 0.12, top, TREE, count * high)
    drawn = dendrogram(
        found.tree, orientation="left", ax=branches, no_labels=True, link_color_func=lambda _: INK
    )
    branches.invert_yaxis()
    for edge in ("top", "right", "left"):
        branches.spines[edge].set_visible(False)
    of = "distance 1 - |r|" if found.linkage == "average" else "distance (Ward)"
    branches.set_xlabel(of, labelpad=2)
    order = np.array(drawn["leaves"])
    values = np.column_stack([found.correlations[np.ix_(order, order)], found.objective[order]])
    values[~found.varied[order]] = 0.0
    values[:, :-1][:, ~found.varied[order]] = 0.0
    axes = add_panel(figure, TREE + label + 0.3, top, side * (count + 1), count * high)
    bare_axes(axes)
    axes.imshow(values, cmap="RdBu_r", vmin=-1.4, vmax=1.4, aspect="auto", interpolation="none")
    for row, column in np.ndindex(values.shape):
        shown = found.varied[order[row]] and (column == count or found.varied[order[column]])
        if shown and row != column:
            # Rounded first, and no minus before a zero.
            text = f"{round(float(values[row, column]), 2) + 0.0:.2f}".replace("0.", ".").replace(
                "-", "\N{MINUS SIGN}"
            )
            sure = column < count and found.correlation_p[order[row], order[column]] <= ALPHA
            weight = "bold" if sure else "normal"
            axes.text(column, row, text, ha="center", va="center", fontsize=5.8, fontweight=weight)
    shown_names = [names[found.names[gene]] for gene in order]
    axes.set_yticks(range(count), shown_names)
    heads = [*shown_names, "1 / loss"]
    axes.set_xticks(range(count + 1), heads, rotation=50, ha="left", rotation_mode="anchor")
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    return figure
