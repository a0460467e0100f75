"""How the best loss falls with samples: on each problem, and over all of them; and what the samples cost."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from dse.analysis.findings import Band, Findings
from dse.analysis.fronts import MISSING
from dse.analysis.study import Study, Triple
from dse.report.limits import label, seeds_in_words
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
    sample_axis,
    single_panel,
    y_label,
)
from dse.report.plots.labels import Ends, end_labels, high_enough, label_room
from dse.report.plots.scales import unit_scale
from dse.report.plots.style import Style, house_style, short_names, short_text, styles_of
from dse.support.arrays import FloatArray
from dse.support.quantities import counted_noun

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Bands = Mapping[str, Band]
Looks = Mapping[str, Style]

TOP_SHARE = 0.02
"""A panel reaches up to what the typical searcher has found after this share of the budget."""
FEW, MANY = 5, 8
"""Up to so many searchers (in a small, a large panel) all curves have bands. More would hide each other:
then whiskers show the intervals of the curves' ends, and the reference alone has a band."""
PARTS = 20
"""The losses drawn are averaged over so many parts of the run: single hundredths hide each other."""


@house_style()
def convergence_figure(
    study: Study, findings: Findings, problems: Sequence[Triple], width: float = WIDTH
) -> Figure:
    """A panel for each problem: the median over seeds of the best loss so far, with its interval."""
    looks = styles_of(study)
    columns = 1 if len(problems) == 1 or width < WIDTH else 2
    names = labelled_searchers(study, 18 if len(problems) == 1 else 13)
    bands = [findings.convergence.get(problem, {}) for problem in problems]
    few = _most(bands) <= (FEW if len(problems) > 1 else MANY)
    beside = _room(names, bands, few)
    height = max(1.45 if len(problems) > 1 else 2.6, high_enough(_most(bands)))
    grid = Grid((beside,) * columns, height, width=width)
    shared = where(study, problems)
    how = f"median of {seeds_in_words(study)}{shared}; {_how(study, few)}"
    figure, panels = grid.make(len(problems), "Best loss so far", how)
    for place, (axes, problem, found) in enumerate(zip(panels, problems, bands, strict=True)):
        _frame(axes, problem, shared)
        sample_axis(axes, study.budget, label=place >= len(problems) - columns)
        if _scale_to(axes, study, problem, found):
            draw_bands(axes, found, looks, few)
            end_labels(axes, curve_ends(found), looks, names, not few, early_ends(study))
    return figure


@house_style()
def mean_loss_figure(
    study: Study, findings: Findings, problems: Sequence[Triple], width: float = WIDTH
) -> Figure:
    """A row for each problem: the mean loss of the samples drawn, and beside it the best so far.

    Lower is better in both.
    """
    looks = styles_of(study)
    names = labelled_searchers(study, 13)
    found = [findings.convergence.get(problem, {}) for problem in problems]
    few = _most(found) <= FEW
    beside = _room(names, found, few)
    rights = (0.1, beside) if width >= WIDTH else (beside,)
    grid = Grid(rights, max(1.45, high_enough(_most(found))), width=width)
    shared = where(study, problems)
    how = f"medians of {seeds_in_words(study)}{shared}; {_how(study, few)}"
    figure, panels = grid.make(
        2 * len(problems), "Mean loss of the samples drawn (left), and best loss so far (right)", how
    )
    for place, (problem, best) in enumerate(zip(problems, found, strict=True)):
        left, right = panels[2 * place : 2 * place + 2]
        drawn = {name: coarse_band(band) for name, band in findings.mean_losses.get(problem, {}).items()}
        _frame(left, problem, shared)
        frame_panel(right, "" if width >= WIDTH else "best so far")
        for axes, bands in ((left, drawn), (right, best)):
            sample_axis(axes, study.budget, label=place == len(problems) - 1, log=False)
            if _scale_to(axes, study, problem, best, drawn if axes is left else None):
                draw_bands(axes, bands, looks, few and axes is right, steps=axes is right)
        if finite_values(_finals(best)):
            end_labels(right, curve_ends(best), looks, names, not few, early_ends(study))
    return figure


@house_style()
def gap_figure(study: Study, findings: Findings, width: float = WIDTH) -> Figure:
    """Over all problems: how many times the best known loss each searcher's best so far is."""
    over = f"of logarithms over {counted_noun(len(study.problems), 'problem')}"
    title = f"{MISSING}, so far" if study.of_fronts else "Best loss so far, as a multiple of the best known"
    figure, axes, draw = _over_all(study, findings.gap, title, over, width)
    y_label(axes, MISSING if study.of_fronts else "best so far / best known")
    if not finite_values(_finals(findings.gap)):
        draw_note(axes, "no searcher has runs with a feasible sample on most problems")
        return figure
    log_axis(axes, "y", *panel_limits(findings.gap, 1.0), most=8)
    reference_line(axes, 1.0, _floor(study))
    draw()
    return figure


@house_style()
def fronts_figure(study: Study, findings: Findings, width: float = WIDTH) -> Figure:
    """Over all problems of several objectives: the share of the exact front's hypervolume that is missing."""
    title = "Hypervolume missing to the exact front"
    figure, axes, draw = _over_all(study, findings.fronts, title, "over problems", width)
    y_label(axes, "regret")
    axes.set_ylim(0, 1)
    draw()
    return figure


def _over_all(
    study: Study, bands: Bands, title: str, over: str, width: float
) -> tuple[Figure, Axes, Callable[[], None]]:
    """A panel of interquartile means `over` something and seeds; and what draws them, with their names, once
    its axis of figures is set.
    """
    names, few = labelled_searchers(study), len(bands) <= MANY
    beside, height = _room(names, [bands], few), max(2.9, high_enough(len(bands)))
    how = f"interquartile mean {over} and {seeds_in_words(study)}; {_how(study, few)}"
    figure, axes = single_panel(title, how, beside, height, width)
    sample_axis(axes, study.budget)

    def draw() -> None:
        looks = styles_of(study)
        draw_bands(axes, bands, looks, few)
        end_labels(axes, curve_ends(bands), looks, names, not few, early_ends(study))

    return figure, axes, draw


def draw_bands(axes: Axes, bands: Bands, looks: Looks, few: bool, steps: bool = True) -> None:
    """Every searcher's curve, and intervals: of all if they are `few`, else of the reference alone.

    What is best so far goes in `steps`; means of parts of a run do not.
    """
    for place, (name, band) in enumerate(bands.items()):
        style = looks[name]
        interval = (band.low, band.high) if few or style.leading else None
        draw_curve(axes, band.samples, band.centre, style, interval, steps)
        draw_markers(axes, band.samples, band.centre, style, (place + 0.5) / len(bands))


def coarse_band(band: Band) -> Band:
    """The band in PARTS parts: geometric means of what is finite in each, at the samples where it ends."""
    if len(band.samples) <= PARTS:
        return band
    parts = np.array_split(np.arange(len(band.samples)), PARTS)

    def mean(values: FloatArray) -> FloatArray:
        shown = [values[part][np.isfinite(values[part])] for part in parts]
        return np.array([np.exp(np.mean(np.log(found))) if len(found) else np.inf for found in shown])

    return Band(
        band.samples[[part[-1] for part in parts]], mean(band.centre), mean(band.low), mean(band.high)
    )


def panel_limits(bands: Bands, target: float, drawn: Bands | None = None) -> tuple[float, float]:
    """The lowest and highest loss that a panel shows: from just below the target to where the race begins.

    All that searchers end with is inside; what the first few samples find may be above. So are the losses
    `drawn`, up to a thousand times the lowest.
    """
    last = finite_values(_finals(bands))
    low = min([*last, *finite_values([target])])
    starts = finite_values(
        float(np.min(band.centre[band.samples <= max(1, TOP_SHARE * band.samples[-1])], initial=math.inf))
        for band in bands.values()
    )
    high = max([*last, float(np.median(starts)) if starts else 0.0, 1.02 * low])
    means = finite_values(value for band in (drawn or {}).values() for value in band.centre)
    high = max([high, *(min(mean, 1000 * low) for mean in means)])
    pad = (high / low) ** 0.07
    return low / pad, high * pad


def curve_ends(bands: Bands) -> Ends:
    """Where each curve ends, and its interval there."""
    return {name: band.end for name, band in bands.items()}


def labelled_searchers(study: Study, width: int | None = None) -> dict[str, str]:
    """The searchers' names beside curves; those whose budget is smaller say where their curves end."""
    shown = short_names(study.searchers) if width is None else short_names(study.searchers, width)
    return {name: label(study, name, text) for name, text in shown.items()}


def early_ends(study: Study) -> dict[str, int]:
    """The samples after which curves end that end before the others."""
    return {name: study.budget_of(name) for name in study.cut}


def where(study: Study, problems: Sequence[Triple]) -> str:
    """The accelerator that all the problems have, for a subtitle; nothing if they differ."""
    machines = {accelerator for _, accelerator, _ in problems}
    return f" on {short_text(study.machine(machines.pop()), 36)}" if len(machines) == 1 else ""


def _scale_to(axes: Axes, study: Study, problem: Triple, bands: Bands, drawn: Bands | None = None) -> bool:
    """Set a panel's axis of losses and its target; False, and a note, where there is nothing to show."""
    target, proven = study.target(problem)
    if not finite_values(_finals(bands)):
        draw_note(axes, "nothing feasible yet" if bands else "no cell is done yet")
        return False
    low, high = panel_limits(bands, target, drawn)
    scale, label = unit_scale(problem[2], study.unit(problem[2]), math.sqrt(low * high))
    log_axis(axes, "y", low, high, scale=scale)
    y_label(axes, label)
    # On a linear axis of samples the curves lie where the words would be; they stand in the panel beside.
    named = drawn is not None or axes.get_xscale() == "log"
    reference_line(axes, target, ("proven optimum" if proven else "best known") if named else "")
    return True


def _frame(axes: Axes, problem: Triple, shared: str) -> None:
    layer, accelerator, _ = problem
    frame_panel(
        axes, short_text(layer, 42) if shared else f"{short_text(layer, 28)} on {short_text(accelerator, 14)}"
    )


def _how(study: Study, few: bool) -> str:
    if study.seeds == 1:
        return "one run each, so no intervals"
    if few:
        return "bands: 95 % confidence intervals"
    return f"whiskers, and {short_text(study.reference, 14)}'s band: 95 % confidence intervals"


def _floor(study: Study) -> str:
    """What the least ratio stands for."""
    proven = all(study.target(problem)[1] for problem in study.problems)
    return "proven optimum" if proven else "best known"


def _most(bands: Iterable[Bands]) -> int:
    return max((len(found) for found in bands), default=0)


def _room(names: Mapping[str, str], bands: Sequence[Bands], few: bool) -> float:
    nothing = any(not math.isfinite(end) for found in bands for end in _finals(found))
    return label_room(names.values(), 0 if few else _most(bands) + 1, nothing)


def _finals(bands: Bands) -> list[float]:
    return [float(band.centre[-1]) for band in bands.values()]
