"""The same race by the clock: best loss so far against time, for cost models of different speeds."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from dse.analysis.findings import Band, Findings
from dse.analysis.study import Study
from dse.report.plots.canvas import (
    WIDTH,
    Grid,
    draw_curve,
    draw_markers,
    draw_note,
    finite_values,
    frame_panel,
    log_axis,
    reference_line,
)
from dse.report.plots.convergence import curve_ends, labelled_searchers, panel_limits
from dse.report.plots.labels import end_labels, high_enough, label_room
from dse.report.plots.style import Style, house_style, styles_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SAMPLE_SECONDS = {"1 \N{GREEK SMALL LETTER MU}s": 1e-6, "10 ms": 1e-2, "1 min": 60.0}
"""What a sample may cost: a compiled model, a simulator of layers, a simulation of circuits."""
_UNITS = {"ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
_COUNTS = (1,), (1, 10, 100), (1, 3, 10, 30, 100, 300)
"""How many of a unit stand on an axis, from the fewest: the first that come to two ticks and more."""
_APART = 0.23
"""The share of an axis between two ticks, which keeps their names apart."""


@house_style()
def time_figure(study: Study, findings: Findings, width: float = WIDTH) -> Figure:
    """A panel for each cost of a sample: the best so far over the best known, against a run's time.

    A run's time is that of its samples and the searcher's own, which is taken to pass evenly.
    """
    looks = styles_of(study)
    names = labelled_searchers(study, 13)
    wide, beside, height = (
        width >= WIDTH,
        label_room(names.values()),
        max(2.4, high_enough(len(findings.gap))),
    )
    grid = Grid((0.1, 0.1, beside) if wide else (beside,), height, left=0.42, width=width)
    title = "Best loss so far by the clock, if a sample of the cost model takes ..."
    figure, panels = grid.make(
        len(SAMPLE_SECONDS),
        title,
        "best so far / best known, against the time of the searcher and of its samples",
    )
    own = {row.searcher: row.own_seconds / study.budget_of(row.searcher) for row in findings.standing}
    for place, (axes, (cost, seconds)) in enumerate(zip(panels, SAMPLE_SECONDS.items(), strict=True)):
        frame_panel(axes, f"... {cost}" if wide else f"{cost} a sample")
        bands = {name: band for name, band in findings.gap.items() if name in own}
        if not finite_values(float(band.centre[-1]) for band in bands.values()):
            draw_note(axes, "nothing feasible on most problems")
            continue
        _panel(axes, bands, {name: own[name] + seconds for name in bands}, looks)
        if place == len(panels) - 1 or not wide:
            end_labels(axes, curve_ends(bands), looks, names, early=_early(bands, own, seconds))
    return figure


def _panel(
    axes: Axes, bands: Mapping[str, Band], each: Mapping[str, float], looks: Mapping[str, Style]
) -> None:
    """One panel: curves over seconds, of searchers whose samples take `each` seconds."""
    last = max(float(band.samples[-1]) * each[name] for name, band in bands.items())
    first = min(float(band.samples[0]) * each[name] for name, band in bands.items())
    log_axis(axes, "x", max(min(first, last / 10), last / 1e6), last)
    ticks = time_ticks(*axes.get_xlim())
    axes.xaxis.set_ticks(list(ticks), list(ticks.values()))
    log_axis(axes, "y", *panel_limits(bands, 1.0), most=8)
    reference_line(axes, 1.0, "")
    for place, (name, band) in enumerate(bands.items()):
        seconds = band.samples * each[name]
        draw_curve(axes, seconds, band.centre, looks[name], None)
        draw_markers(axes, seconds, band.centre, looks[name], (place + 0.5) / len(bands))


def time_ticks(first: float, last: float) -> dict[float, str]:
    """Round times from `first` to `last` (seconds), each with its name: units alone if that makes two."""
    ends = [*_UNITS.values(), math.inf]
    for counts in _COUNTS:
        ticks: dict[float, str] = {}
        for (name, unit), end in zip(_UNITS.items(), ends[1:], strict=True):
            for at in (n * unit for n in counts if first <= n * unit <= last and n * unit < end):
                if not ticks or at >= max(ticks) * (last / first) ** _APART:
                    ticks[at] = f"{at / unit:g} {name}"
        if len(ticks) > 1:
            break
    return ticks


def _early(bands: Mapping[str, Band], own: Mapping[str, float], seconds: float) -> dict[str, float]:
    """Where the curves end that end before the last."""
    stops = {name: float(band.samples[-1]) * (own[name] + seconds) for name, band in bands.items()}
    return {name: stop for name, stop in stops.items() if stop < max(stops.values())}
