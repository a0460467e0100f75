"""Searchers beside each other: where all their runs end, and who needs how many samples."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from dse.analysis.findings import Efficiency, Findings, Improvement
from dse.analysis.study import Study
from dse.report.limits import seeds_in_words
from dse.report.plots.canvas import (
    WIDTH,
    add_panel,
    bare_axes,
    draw_note,
    frame_panel,
    headed_figure,
    log_axis,
)
from dse.report.plots.convergence import labelled_searchers
from dse.report.plots.scales import axis_number
from dse.report.plots.style import (
    BACKGROUND,
    INK,
    MUTED,
    Style,
    house_style,
    relative_luminance,
    short_names,
    short_text,
    styles_of,
    widest_name,
)
from dse.support.arrays import FloatArray
from dse.support.quantities import counted_noun

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ROW = 0.24
"""Inches for a searcher's row."""
TIMES = "\N{MULTIPLICATION SIGN}"
DOTS = 160
"""A row of more cells than this shows so many of them, evenly spaced in rank."""
DASH = "\N{EN DASH}"


@house_style()
def distribution_figure(study: Study, findings: Findings, width: float = WIDTH) -> Figure:
    """A row for each searcher, the best median first: all runs' final ratios, middle half and median."""
    looks = styles_of(study)
    ratios = {name: values[~np.isnan(values)] for name, values in findings.gap_seeds.items()}
    ratios = {name: values for name, values in ratios.items() if len(values)}
    names = short_names(study.searchers)
    left = 0.25 + widest_name(names.values())
    right = 0.75
    height = max(len(ratios), 1) * ROW
    figure, down = headed_figure(
        width,
        0.52 + height + 0.42,
        "Where each run ends, as a multiple of the best known",
        f"a dot a run ({counted_noun(len(study.problems), 'problem')}, "
        f"{seeds_in_words(study, ends=True)}), box: middle "
        "half, line: median; right: runs without a feasible sample",
    )
    axes = add_panel(figure, left, down + 0.5, width - left - right, height)
    frame_panel(axes, grid="x")
    finite = np.concatenate([values[np.isfinite(values)] for values in ratios.values()] or [np.empty(0)])
    if not len(finite):
        draw_note(axes, "no run has found anything feasible")
        bare_axes(axes)
        return figure
    medians = {name: float(np.median(values)) for name, values in ratios.items()}
    order = sorted(ratios, key=lambda name: medians[name])
    low, high = min(1.0, float(finite.min())), max(float(finite.max()), 1.02)
    pad = (high / low) ** 0.025
    log_axis(axes, "x", low / pad, high * pad, most=9 if width >= WIDTH else 4)
    axes.axvline(1.0, color=INK, linewidth=0.8, zorder=1.5)
    axes.set_xlabel("final loss / best known", labelpad=2)
    axes.set_ylim(len(order) - 0.5, -0.5)
    axes.set_yticks(range(len(order)), [names[name] for name in order])
    axes.tick_params(axis="y", length=0)
    for row, (name, label) in enumerate(zip(order, axes.get_yticklabels(), strict=True)):
        label.set(color=looks[name].text, fontweight="bold" if looks[name].leading else "normal")
        _row_of_runs(axes, row, ratios[name], looks[name])
    return figure


def _row_of_runs(axes: Axes, row: int, ratios: FloatArray, style: Style) -> None:
    from matplotlib.patches import Rectangle

    ends = np.sort(ratios)
    shown = ends[np.isfinite(ends)]
    if len(shown) > DOTS:
        shown = shown[np.linspace(0, len(shown) - 1, DOTS).round().astype(int)]
    # Dots go up and down by the golden ratio: spread evenly without any randomness.
    height = ((np.arange(len(shown)) * 0.618034) % 1 - 0.5) * 0.62
    axes.plot(
        shown,
        row + height,
        color=style.colour,
        marker="o",
        markersize=2.2,
        markeredgewidth=0,
        alpha=0.55,
        linestyle="none",
        zorder=3,
        clip_on=False,
    )
    top = axes.get_xlim()[1]
    quarter, middle, three = (min(float(q), top) for q in _quartiles(ends))
    axes.add_patch(
        Rectangle(
            (quarter, row - 0.36),
            three - quarter,
            0.72,
            facecolor="none",
            edgecolor=INK,
            linewidth=0.7,
            zorder=4,
        )
    )
    axes.plot(
        [middle, middle], [row - 0.36, row + 0.36], color=INK, linewidth=1.6, zorder=5, solid_capstyle="butt"
    )
    lost = int(np.isinf(ends).sum())
    if lost:
        axes.annotate(
            f"∞: {lost} of {len(ends)}",
            (1, row),
            xycoords=("axes fraction", "data"),
            xytext=(6, 0),
            textcoords="offset points",
            fontsize=6.5,
            color=style.text,
            va="center_baseline",
        )


def _quartiles(ends: FloatArray) -> tuple[float, float, float]:
    """The quartiles of sorted values of which some may be infinite: order statistics, nothing in between."""
    quarter, middle, three = np.quantile(ends, [0.25, 0.5, 0.75], method="nearest")
    return float(quarter), float(middle), float(three)


@house_style()
def efficiency_figure(study: Study, findings: Findings, width: float = WIDTH) -> Figure:
    """Two panels: samples of each other searcher over the reference's, and of the reference over each's."""
    looks = styles_of(study)
    reference = study.reference
    ahead = [row for row in findings.efficiency if row.searcher == reference]
    behind = [row for row in findings.efficiency if row.other == reference]
    others = sorted(
        {row.other for row in ahead} | {row.searcher for row in behind}, key=study.searchers.index
    )
    strength = {row.other: row.ratio.value if row.ratio else 0.0 for row in ahead}
    others.sort(key=lambda name: -strength.get(name, -1.0))
    names = labelled_searchers(study, 16)
    left = 0.25 + widest_name(names.values())
    height = max(len(others), 2) * ROW
    me = short_text(reference, 14)
    wide = width >= WIDTH
    apart = height + 0.65
    figure, down = headed_figure(
        width,
        0.7 + height + 0.42 + (0 if wide else apart),
        "Samples of the second searcher over those of the first, to reach the final loss of the second",
        "right of 1 the first needs fewer; median over problems, with 95 % confidence intervals, "
        f"{seeds_in_words(study)}; open: not reached on every problem",
    )
    across = (width - left - 0.75) / 2 if wide else width - left - 0.3
    steps = (across + 0.45, 0.0) if wide else (0.0, apart)
    panels = [
        add_panel(figure, left + i * steps[0], down + 0.68 + i * steps[1], across, height) for i in (0, 1)
    ]
    values = [value for row in (*ahead, *behind) if row.ratio for value in row.ratio]
    seen = [v for v in values if 0 < v < math.inf]
    low, high = min([*seen, 0.5]), max([*seen, 2.0])
    low, high = max(low, 1e-4) / 1.6, min(high, 1e4) * 1.6
    titles = (f"{me} against each", f"each against {me}")
    for axes, rows, title in zip(panels, (ahead, behind), titles, strict=True):
        frame_panel(axes, title, grid="x")
        log_axis(axes, "x", low, high, most=6 if wide else 5, sign=TIMES)
        axes.axvline(1, color=INK, linewidth=0.8)
        axes.set_ylim(max(len(others), 2) - 0.5, -0.5)
        named = axes is panels[0] or not wide
        axes.set_yticks(range(len(others)), [names[name] for name in others] if named else [])
        axes.tick_params(axis="y", length=0, pad=6)
        axes.set_xlabel("samples of the second / samples of the first", labelpad=2)
        for row in rows:
            name = row.other if row.searcher == reference else row.searcher
            _forest(axes, others.index(name), row, looks[name])
        for label, name in zip(axes.get_yticklabels(), others, strict=False):
            label.set_color(looks[name].text)
    if not others:
        for axes in panels:
            draw_note(axes, "nobody to compare with")
    return figure


def _forest(axes: Axes, place: int, row: Efficiency, style: Style) -> None:
    low, high = axes.get_xlim()
    if row.ratio is None:
        axes.text(
            low * (high / low) ** 0.02, place, "never, typically", fontsize=6.5, fontstyle="italic",
            color=style.text, va="center_baseline",
        )  # fmt: skip
        return
    ends = [min(max(end, low), high) for end in (row.ratio.low, row.ratio.high)]
    value = min(max(row.ratio.value, low), high)
    axes.plot(ends, [place, place], color=style.colour, linewidth=1.4, solid_capstyle="butt", zorder=3)
    for end, given, arrow in ((ends[0], row.ratio.low, "<"), (ends[1], row.ratio.high, ">")):
        if end != given:
            axes.plot(end, place, color=style.colour, marker=arrow, markersize=3.5, clip_on=False, zorder=3)
    axes.plot(
        value, place, color=style.colour, marker="o", markersize=4.5, zorder=4,
        markerfacecolor=BACKGROUND if row.censored else style.colour,
    )  # fmt: skip
    axes.annotate(
        f"{_short_number(row.ratio.value)}{TIMES}",
        (value, place),
        xytext=(0, 3.4),
        textcoords="offset points",
        ha="center",
        fontsize=6,
        color=style.text,
        bbox={"facecolor": BACKGROUND, "edgecolor": "none", "pad": 0.3, "alpha": 0.85},
    )


def _short_number(value: float) -> str:
    return axis_number(float(f"{value:.2g}")) if math.isfinite(value) else "∞"


@house_style()
def improvement_figure(study: Study, findings: Findings, width: float = WIDTH) -> Figure:
    """A matrix of how likely a run of the row's searcher ends lower than one of the column's; best first."""
    looks = styles_of(study)
    found = findings.improvement
    order = ranked_contests(found)
    count = max(len(order), 1)
    names = short_names(found.searchers, 14)
    shown = [names[found.searchers[index]] for index in order]
    longest = widest_name(shown)
    left = 0.2 + longest
    side = min(1.0, (width - left - 0.15) / count)
    if longest > side:  # The names above are turned, and the last one leans out.
        side = min(side, (width - left - 0.77 * longest) / (count - 0.5))
    high = min(0.72 * side, 0.44)
    turned: dict[str, Any] = {"rotation": 40, "ha": "left", "rotation_mode": "anchor"}
    room = 0.3 + 0.62 * longest if longest > side else 0.26
    over = f"mean over problems, ties count half, {seeds_in_words(study, ends=True)}"
    how = f"{over}; below: 95 % confidence interval; bold: it excludes 50 %"
    title = "Probability that a run of the row's searcher ends lower than one of the column's"
    figure, down = headed_figure(width, 0.5 + room + count * high + 0.15, title, how)
    axes = add_panel(figure, left, down + 0.5 + room, side * count, count * high)
    bare_axes(axes)
    if len(order) < 2:
        draw_note(axes, "nobody to compare")
        return figure
    axes.set_xlim(0, count)
    axes.set_ylim(count, 0)
    for row, i in enumerate(order):
        for column, j in enumerate(order):
            if i != j:
                _field(axes, row, column, found.chance(i, j), roomy=side >= 0.42)
    axes.set_yticks(np.arange(count) + 0.5, shown)
    axes.set_xticks(np.arange(count) + 0.5, shown, **(turned if longest > side else {}))
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    for label, i in zip([*axes.get_yticklabels(), *axes.get_xticklabels()], [*order, *order], strict=True):
        style = looks[found.searchers[i]]
        label.set(color=style.text, fontweight="bold" if style.leading else "normal")
    return figure


def ranked_contests(found: Improvement) -> list[int]:
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
    bright = relative_luminance(*(channel / 255 for channel in mixed))
    return "#" + "".join(f"{round(channel):02x}" for channel in mixed), INK if bright > 0.2 else BACKGROUND
