"""A network's layers under the roofline of its machine: work done a cycle against work for a word moved."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dse.report.plots.canvas import log_axis, single_panel, y_label
from dse.report.plots.style import house_style
from dse.support.arrays import FloatArray

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_ROOF, _DOT = "#777777", "#4477aa"
_NAMED = 12
"""Layers that are named; with more, those with the most work are."""
_WIDE, _HIGH = 0.16, 0.05
"""Names nearer to each other than these shares of the panel would overlap."""


@house_style()
def roofline_figure(title: str, how: str, layers: Sequence[Mapping[str, Any]], unit: str = "word") -> Figure:
    """`layers` have a `name`, a share of the network's `work`, and `macs_per_word`, `macs_per_cycle`,
    `peak_macs_per_cycle` and `words_per_cycle`, or the like of bits, as `unit` says; the roof is that of the
    machine of all."""
    figure, axes = single_panel(title, how, 0.3, 3.4, below=0.4)
    # What is read and what is written may have links of their own: the roof is that of the fastest mix.
    slopes = [layer[f"{unit}s_per_cycle"] for layer in layers]
    slope = math.inf if None in slopes else max(slopes)
    peak = max(layer["peak_macs_per_cycle"] for layer in layers)
    reach = np.array([layer[f"macs_per_{unit}"] for layer in layers])
    done = np.array([layer["macs_per_cycle"] for layer in layers])
    ridge = peak / slope or float(reach.min())
    low, high = min(float(reach.min()), ridge) / 2, max(float(reach.max()), ridge) * 6
    at = np.exp(np.linspace(math.log(low), math.log(high), 400))
    axes.plot(at, np.minimum(peak, slope * at), color=_ROOF, label="no mapping is above")
    work = np.array([layer["work"] for layer in layers])
    sizes = 12 + 160 * work / work.max()
    axes.scatter(reach, done, sizes, color=_DOT, alpha=0.65, linewidth=0, label="best mappings")
    log_axis(axes, "x", low, high)
    log_axis(axes, "y", min(float(done.min()), slope * low, peak) / 1.5, peak * 1.6)
    for place in _named(np.log(reach / low) / math.log(high / low), np.log(done / done.min()), work):
        at_dot = (reach[place], done[place])
        axes.annotate(layers[place]["name"], at_dot, xytext=(6, -8), textcoords="offset points", fontsize=6)
    axes.set_xlabel(f"MACs for a {unit} between DRAM and chip, each word moved once", labelpad=2)
    y_label(axes, "MACs a cycle")
    axes.legend(loc="lower right", frameon=False, fontsize=7)
    return figure


def _named(across: FloatArray, up: FloatArray, work: FloatArray) -> list[int]:
    """The layers whose names have room, those with the most work first."""
    found: list[int] = []
    for place in np.argsort(-work).tolist():
        near = (
            abs(across[place] - across[other]) < _WIDE and abs(up[place] - up[other]) < _HIGH * np.ptp(up)
            for other in found
        )
        if not any(near):
            found.append(place)
    return found[:_NAMED]
