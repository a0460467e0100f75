"""Shares of runs: of targets reached after so many samples, and of final losses that are near enough."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dse.analysis.findings import Findings
from dse.analysis.study import Study
from dse.report.limits import seeds_in_words
from dse.report.plots.canvas import (
    WIDTH,
    draw_curve,
    draw_markers,
    draw_note,
    log_axis,
    sample_axis,
    single_panel,
    y_label,
)
from dse.report.plots.convergence import MANY, early_ends, labelled_searchers
from dse.report.plots.labels import end_labels, high_enough, label_room
from dse.report.plots.style import house_style, short_names, short_text, styles_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NOBODY = "no searcher has runs with a feasible sample on every problem"


@house_style()
def ecdf_figure(study: Study, findings: Findings, width: float = WIDTH) -> Figure:
    """The share of (problem, seed, target) triples that each searcher has reached after so many samples."""
    looks = styles_of(study)
    names = labelled_searchers(study)
    height = max(2.6, high_enough(len(findings.ecdf)))
    how = (
        f"all problems, {seeds_in_words(study)}; targets from the best known figure to 11 "
        "times it; higher is better"
    )
    title = "Share of targets reached, by samples spent"
    figure, axes = single_panel(title, how, label_room(names.values()), height, width)
    _share_axis(axes, "targets reached")
    sample_axis(axes, study.budget)
    if not findings.ecdf:
        draw_note(axes, NOBODY)
        return figure
    for place, (name, (samples, reached)) in enumerate(findings.ecdf.items()):
        draw_curve(axes, samples, reached, looks[name])
        draw_markers(axes, samples, reached, looks[name], (place + 0.5) / len(findings.ecdf))
    ends = {name: (float(reached[-1]),) * 3 for name, (_, reached) in findings.ecdf.items()}
    end_labels(axes, ends, looks, names, early=early_ends(study))
    return figure


@house_style()
def profile_figure(study: Study, findings: Findings, width: float = WIDTH) -> Figure:
    """The share of runs that end within so many times the best known figure, with its interval."""
    looks = styles_of(study)
    names = short_names(study.searchers)
    few = len(findings.profiles) <= MANY
    height = max(2.6, high_enough(len(findings.profiles)))
    bands = "all bands" if few else f"{short_text(study.reference, 14)}'s band"
    over = f"all problems, {seeds_in_words(study, ends=True)}"
    how = f"{over}; {bands}: 95 % confidence intervals; higher is better"
    title = "Share of runs that end near the best known figure"
    figure, axes = single_panel(title, how, label_room(names.values()), height, width)
    _share_axis(axes, "runs")
    axes.set_xlabel("final loss / best known, at most", labelpad=2)
    if not findings.profiles:
        draw_note(axes, NOBODY)
        axes.set_xticks([])
        return figure
    log_axis(axes, "x", 1.0, _reach(findings), most=9 if width >= WIDTH else 5)
    for place, (name, profile) in enumerate(findings.profiles.items()):
        interval = (profile.low, profile.high) if few or looks[name].leading else None
        draw_curve(axes, profile.at, profile.centre, looks[name], interval)
        draw_markers(axes, profile.at, profile.centre, looks[name], (place + 0.5) / len(findings.profiles))
    right = axes.get_xlim()[1]
    at = {
        name: float(profile.centre[np.searchsorted(profile.at, right, side="right") - 1])
        for name, profile in findings.profiles.items()
    }
    end_labels(axes, {name: (share,) * 3 for name, share in at.items()}, looks, names)
    return figure


def _reach(findings: Findings) -> float:
    """Up to which ratio the profiles differ: where the last has nearly all it will have."""
    reach = 1.0
    for profile in findings.profiles.values():
        near = np.flatnonzero(profile.centre >= 0.98 * profile.centre[-1])
        reach = max(reach, float(profile.at[near[0]]))
    last = max(float(profile.at[-1]) for profile in findings.profiles.values())
    return max(min(1.1 * reach, last), 1.05) if math.isfinite(reach) else max(last, 1.05)


def _share_axis(axes: Axes, what: str) -> None:
    axes.set_ylim(0, 1.02)
    axes.set_yticks([0, 0.25, 0.5, 0.75, 1], ["0 %", "25 %", "50 %", "75 %", "100 %"])
    y_label(axes, f"share of {what}")
