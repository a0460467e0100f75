"""What a fitted machine predicts against what was measured, beside what the machine's file predicted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dse.report.plots.canvas import log_axis, single_panel, y_label
from dse.report.plots.style import house_style
from dse.support.arrays import FloatArray

if TYPE_CHECKING:
    from matplotlib.figure import Figure


_LINE, _BEFORE, _AFTER = "#222222", "#bbbbbb", "#4477aa"


@house_style()
def calibration_figure(
    measured: FloatArray, predicted: FloatArray, before: FloatArray, title: str, how: str
) -> Figure:
    """Cycles of each sample by a fit to the others, and by the machine as it was said to be `before`.

    On the line they are as measured.
    """
    figure, axes = single_panel(title, how, 0.3, 3.4)
    every = np.concatenate([measured, predicted, before])
    low, high = float(every.min()) / 1.2, float(every.max()) * 1.2
    axes.plot([low, high], [low, high], color=_LINE, linewidth=0.8)
    for said, colour, label in (
        (before, _BEFORE, "by the file, scaled"),
        (predicted, _AFTER, "fitted, without the sample"),
    ):
        axes.scatter(measured, said, 9, color=colour, linewidth=0, label=label)
    log_axis(axes, "x", low, high)
    log_axis(axes, "y", low, high)
    axes.set_xlabel("cycles measured", labelpad=2)
    y_label(axes, "cycles predicted")
    axes.legend(loc="upper left", frameon=False, fontsize=7)
    return figure
