"""What one search drew, gene by gene, as it went on."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dse.core.cost_models import unit_of
from dse.core.evaluations import Evaluations
from dse.core.problem import AnyProblem
from dse.report.plots.canvas import WIDTH, Grid, draw_note, frame_panel, log_axis, panel_note
from dse.report.plots.scales import axis_number, unit_scale
from dse.report.plots.style import INK, MUTED, clean_text, house_style
from dse.search.record import Record
from dse.support.arrays import FloatArray, IntArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BINS = 100
"""Into how many parts of equal length the run is cut: a column of a picture each."""
CLASSES = 16
"""A gene with more values than this shows them in so many ranges."""
BEST = "#d55e00"


@dataclass(frozen=True)
class Trace:
    """A gene's values over a run: `drawn[n]` is the class of sample n's value, `names` names the classes.

    `chosen` is the value of the best sample, in words.
    """

    drawn: IntArray
    names: tuple[str, ...]
    chosen: str


@house_style()
def gene_figure(problem: AnyProblem, record: Record, title: str = "", width: float = WIDTH) -> Figure:
    """Each gene's values over the run, dark where drawn often; on it, the value of the best sample so far.

    Values are those of the decoded mapping: tile sizes, dims, loop orders. Last comes the loss.
    """
    found, evaluations = gene_traces(problem, record), record.evaluations()
    room = max(0.45, 0.1 + 0.068 * max(len(trace.chosen) for trace in found.values()))
    grid = Grid((room,) * (2 if width >= WIDTH else 1), 0.6, left=0.6, above=0.24, below=0.22, width=width)
    how = (
        "shade: how often it was drawn at that time; line: value of the best sample so far, named at its end"
    )
    heading = clean_text(title) if title else "What the search drew, gene by gene"
    figure, (*panels, last) = grid.make(len(found) + 1, heading, how)
    for axes, (name, trace) in zip(panels, found.items(), strict=True):
        frame_panel(axes, "cluster size" if name == "cluster" else name.replace(".", " "))
        _draw_trace(axes, trace, best_holders(evaluations))
    frame_panel(last, "loss")
    _draw_losses(last, problem, evaluations)
    for axes in figure.axes:
        axes.tick_params(labelsize=6, length=2)
        axes.set_xlim(0, max(len(record), 1))
        axes.set_xticks([0, max(len(record), 1)], ["0", f"{len(record):,}"])
    return figure


def gene_traces(problem: AnyProblem, record: Record) -> dict[str, Trace]:
    """Every gene's trace by its name."""
    named = problem.space.decode(record.genes()).named()
    return {gene.name: _trace(named[gene.name], record.best) for gene in problem.space.genes}


def _trace(drawn: NDArray[Any], best: int | None) -> Trace:
    """Values, each its own class or, where there are many sizes, in ranges of equal ratio."""
    values = np.unique(drawn)
    chosen = "" if best is None else str(drawn[best])
    if len(values) <= CLASSES or drawn.dtype.kind not in "iu":
        return Trace(np.searchsorted(values, drawn), tuple(map(str, values)), chosen)
    edges = np.unique(np.geomspace(values[0], values[-1] + 1, CLASSES + 1).round().astype(np.int64))
    names = tuple(
        str(low) if high - low == 1 else f"{low}-{high - 1}" for low, high in pairwise(edges.tolist())
    )
    return Trace(np.searchsorted(edges, drawn, side="right") - 1, names, chosen)


def best_holders(evaluations: Evaluations) -> IntArray:
    """For each sample, the sample with the lowest loss up to there; -1 before the first feasible one."""
    losses = evaluations.loss
    better = np.flatnonzero(losses < np.minimum.accumulate(np.concatenate([[np.inf], losses]))[: len(losses)])
    place = np.searchsorted(better, np.arange(len(evaluations)), side="right") - 1
    return np.where(place >= 0, np.append(better, -1)[place], -1).astype(np.int64)


def class_occupancy(trace: Trace, samples: int) -> FloatArray:
    """The share of each part's samples (columns) in each class of values (rows)."""
    parts = min(BINS, samples)
    column = np.arange(samples) * parts // max(samples, 1)
    counts = np.zeros((len(trace.names), parts))
    np.add.at(counts, (trace.drawn, column), 1)
    return np.asarray(counts / counts.sum(axis=0))


def _draw_trace(axes: Axes, trace: Trace, holders: IntArray) -> None:
    samples = len(trace.drawn)
    if not samples:
        draw_note(axes, "no sample")
        return
    # The root shows what is drawn seldom: a value with a hundredth of the samples is still there.
    extent = (0.0, float(samples), -0.5, len(trace.names) - 0.5)
    shades = np.sqrt(class_occupancy(trace, samples))
    axes.imshow(
        shades, cmap="Greys", vmin=0, vmax=1.15, aspect="auto", origin="lower", extent=extent,
        interpolation="none",
    )  # fmt: skip
    places = list(range(0, len(trace.names), -(-len(trace.names) // 5)))
    axes.set_yticks(places, [trace.names[place].split("-")[0] for place in places])
    held = np.flatnonzero(holders >= 0)
    if len(held):
        _best_line(axes, held, trace.drawn[holders[held]].astype(np.float64), trace.chosen)


def _best_line(axes: Axes, at: IntArray, values: FloatArray, text: str) -> None:
    """The value of the best sample so far, and in words what it is at the end."""
    turns = np.flatnonzero(np.diff(values, prepend=np.nan) != 0)
    across, up = np.append(at[turns], at[-1] + 1), np.append(values[turns], values[-1])
    axes.plot(across, up, color=BEST, linewidth=1.3, drawstyle="steps-post", clip_on=False)
    axes.annotate(
        text, (1, values[-1]), (3, 0), ("axes fraction", "data"), "offset points", fontsize=6.5, color=BEST,
        fontweight="bold", va="center_baseline",
    )  # fmt: skip


def _draw_losses(axes: Axes, problem: AnyProblem, evaluations: Evaluations) -> None:
    """The median and the middle half of the feasible losses in each part of the run, and the best so far."""
    losses = evaluations.loss
    feasible = np.flatnonzero(np.isfinite(losses))
    if not len(feasible):
        draw_note(axes, "nothing feasible")
        return
    parts = [part for part in np.array_split(feasible, min(BINS, len(feasible))) if len(part)]
    at = np.array([part.mean() + 0.5 for part in parts])
    quarter, median, three = np.array([np.quantile(losses[part], (0.25, 0.5, 0.75)) for part in parts]).T
    best = np.minimum.accumulate(losses)
    low, high = float(best[-1]), float(np.max(three))
    unit = unit_of(problem.objective, problem.model.name)
    scale, label = unit_scale(problem.objective, unit, float(np.sqrt(low * high)))
    pad = max(high / low, 1.02) ** 0.06
    frame_panel(axes, f"{label}: median, middle half, best so far")
    panel_note(axes, f"{100 * (1 - len(feasible) / len(losses)):.0f} % infeasible")
    log_axis(axes, "y", low / pad, high * pad, most=4, scale=scale)
    axes.fill_between(at, quarter, three, color=MUTED, alpha=0.3, linewidth=0)
    axes.plot(at, median, color=INK, linewidth=0.8)
    first = np.arange(feasible[0], len(losses))
    _best_line(axes, first, best[first], axis_number(float(f"{low / scale:.4g}")))
