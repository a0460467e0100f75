"""What one search drew, gene by gene, as it went on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise, permutations
from math import factorial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dse.core.cost_models import unit_of
from dse.core.evaluations import Evaluations
from dse.core.problem import AnyProblem
from dse.core.space import Gene
from dse.report.plots.canvas import WIDTH, add_panel, headed_figure, log_axis, note, panel_note
from dse.report.plots.scales import number, unit_scale
from dse.report.plots.style import INK, MUTED, clean, house_style
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
HEIGHTS = {"permutation": 0.8, "categorical": 0.46, "ordinal": 0.72}
"""Of the panel of a gene of each kind, in inches."""


@dataclass(frozen=True)
class Trace:
    """A gene's values over a run: `drawn[n]` is the class of sample n's value, `names` names the classes."""

    name: str
    drawn: IntArray
    names: tuple[str, ...]
    chosen: str
    """The value of the best sample, in words."""


def gene_figure(problem: AnyProblem, record: Record, title: str = "", width: float = WIDTH) -> Figure:
    """Each gene's values over the run, dark where drawn often; on it, the value of the best sample so far.

    Values are those of the decoded mapping: tile sizes, dims, loop orders. Last comes the loss.
    """
    with house_style():
        return _draw(problem, record, clean(title) if title else "What the search drew, gene by gene", width)


def _draw(problem: AnyProblem, record: Record, title: str, width: float) -> Figure:
    found = traces(problem, record)
    evaluations = record.evaluations()
    holders = best_holders(evaluations)
    genes, last = _by_part(problem.space.genes)
    room = max(0.45, 0.1 + 0.068 * max(len(trace.chosen) for trace in found.values()))
    figure, panels = _panels(width, [HEIGHTS[gene.kind] for gene in genes], title, room)
    for axes, gene in zip(panels, genes, strict=False):
        _draw_trace(axes, found[gene.name], holders, len(record))
    cluster, losses = panels[-2:]
    _draw_trace(cluster, found[last.name], holders, len(record))
    _draw_losses(losses, problem, evaluations)
    for axes in (cluster, losses):
        _sample_ticks(axes, len(record))
        axes.set_xlabel("samples", labelpad=2)
    return figure


def _by_part(genes: Sequence[Gene]) -> tuple[list[Gene], Gene]:
    """The genes, one kind of part after the other at all levels; and the last of those of no level."""
    parts: dict[str, list[Gene]] = {}
    for gene in genes:
        parts.setdefault(gene.name.partition(".")[2] or gene.name, []).append(gene)
    every = [gene for part in parts.values() for gene in part]
    last = next((gene for gene in reversed(every) if gene.level is None), every[-1])
    return [gene for gene in every if gene is not last], last


def _panels(width: float, heights: Sequence[float], title: str, room: float) -> tuple[Figure, list[Axes]]:
    """Panels of those heights, those of a pair beside each other where there is enough of it, and two last.

    `room` is what the text at a panel's right edge takes, in inches.
    """
    left, top, last = 0.6, 0.52, 0.95
    columns = 2 if width >= WIDTH else 1
    across = (width - columns * (left + room)) / columns
    every = [*heights, last, last]
    rows = [every[at : at + columns] for at in range(0, len(every), columns)]
    # Behind the last panels but one there are ticks and a label.
    down = [max(row) + 0.2 for row in rows]
    labelled = (len(every) - 2) // columns
    if labelled < len(rows) - 1:
        down[labelled] += 0.25
    figure, start = headed_figure(
        width,
        top + sum(down) + 0.3,
        title,
        "shade: how often it was drawn at that time; line: value of the best sample so far, named at its end",
    )
    panels = []
    for row, place in zip(rows, start + top + 0.12 + np.cumsum([0, *down[:-1]]), strict=True):
        for column, height in enumerate(row):
            at = left + column * (across + room + left)
            panels.append(add_panel(figure, at, float(place), across, height))
    return figure, panels


def traces(problem: AnyProblem, record: Record) -> dict[str, Trace]:
    """Every gene's trace by its name."""
    genes, named = problem.space.genes, problem.space.decode(record.genes()).named()
    dims = tuple(dict.fromkeys(gene.dim for gene in genes if gene.dim))
    return {
        gene.name: _sized(gene.name, named[gene.name], record.best)
        if gene.kind == "ordinal"
        else _named(gene.name, named[gene.name], _values(gene, named[gene.name], dims), record.best)
        for gene in genes
    }


def _values(gene: Gene, drawn: NDArray[Any], dims: Sequence[str]) -> Sequence[str]:
    """What a gene without sizes stands for: dims, or all their orders, else what was drawn of it."""
    if gene.kind == "permutation" and gene.size == factorial(len(dims)):
        known = ["".join(order) for order in permutations(dims)]
    else:
        known = list(dims)
    values = [str(value) for value in np.unique(drawn)]
    return known if set(values) <= set(known) else values


def best_holders(evaluations: Evaluations) -> IntArray:
    """For each sample, the sample with the lowest loss up to there; -1 before the first feasible one."""
    better = _improvements(evaluations.loss)
    place = np.searchsorted(better, np.arange(len(evaluations)), side="right") - 1
    return np.where(place >= 0, np.append(better, -1)[place], -1).astype(np.int64)


def _improvements(losses: FloatArray) -> IntArray:
    """The samples that beat all before."""
    before = np.minimum.accumulate(np.concatenate([[np.inf], losses[:-1]])) if len(losses) else losses
    return np.flatnonzero(losses < before)


def occupancy(trace: Trace, samples: int) -> FloatArray:
    """The share of each part's samples (columns) in each class of values (rows)."""
    parts = min(BINS, samples)
    column = np.arange(samples) * parts // max(samples, 1)
    counts = np.zeros((len(trace.names), parts))
    np.add.at(counts, (trace.drawn, column), 1)
    return np.asarray(counts / counts.sum(axis=0))


def _named(name: str, values: NDArray[Any], names: Sequence[str], best: int | None) -> Trace:
    ranks = np.argsort(names)
    drawn = ranks[np.searchsorted(np.array(names)[ranks], values)]
    return Trace(name, drawn, tuple(names), "" if best is None else str(values[best]))


def _sized(name: str, sizes: IntArray, best: int | None) -> Trace:
    """Sizes, each its own class or, where there are many, in ranges of equal ratio."""
    values = np.unique(sizes)
    chosen = "" if best is None else f"{sizes[best]:,}"
    if len(values) <= CLASSES:
        return Trace(name, np.searchsorted(values, sizes), tuple(f"{value:,}" for value in values), chosen)
    edges = np.unique(np.geomspace(values[0], values[-1] + 1, CLASSES + 1).round().astype(np.int64))
    names = tuple(
        f"{low:,}" if high - low == 1 else f"{low:,}-{high - 1:,}" for low, high in pairwise(edges.tolist())
    )
    return Trace(name, np.searchsorted(edges, sizes, side="right") - 1, names, chosen)


def _draw_trace(axes: Axes, trace: Trace, holders: IntArray, samples: int) -> None:
    axes.set_title(_words(trace.name), fontsize=7, loc="left", pad=2)
    axes.tick_params(labelsize=6, length=2)
    axes.set_xticks([])
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    if not samples:
        axes.set_yticks([])
        note(axes, "no sample")
        return
    share = occupancy(trace, samples)
    extent = (0.0, float(samples), -0.5, len(trace.names) - 0.5)
    # The root shows what is drawn seldom: a value with a hundredth of the samples is still there.
    axes.imshow(
        np.sqrt(share),
        cmap="Greys",
        vmin=0,
        vmax=1.15,
        aspect="auto",
        origin="lower",
        extent=extent,
        interpolation="none",
    )
    held = np.flatnonzero(holders >= 0)
    if len(held):
        value = trace.drawn[holders[held]].astype(np.float64)
        turns = np.flatnonzero(np.diff(value, prepend=value[0] - 1))
        _best_line(axes, np.append(held[turns], samples), np.append(value[turns], value[-1]), trace.chosen)
    _value_ticks(axes, trace)


def _best_line(axes: Axes, at: IntArray, values: FloatArray, text: str) -> None:
    """The value of the best sample so far, in steps, and in words what it is at the end."""
    axes.plot(at, values, color=BEST, linewidth=1.3, drawstyle="steps-post", clip_on=False)
    axes.annotate(
        text,
        (1, values[-1]),
        xycoords=("axes fraction", "data"),
        xytext=(3, 0),
        textcoords="offset points",
        fontsize=6.5,
        color=BEST,
        fontweight="bold",
        va="center_baseline",
    )


def _value_ticks(axes: Axes, trace: Trace) -> None:
    count = len(trace.names)
    step = max(1, -(-count // 6))
    places = list(range(0, count, step))
    axes.set_yticks(places, [trace.names[place].split("-")[0] for place in places])


def _words(name: str) -> str:
    """A gene's name as a title: outer tile K, cluster size."""
    return "cluster size" if name == "cluster" else name.replace(".", " ").replace("parallel", "parallel dim")


def _draw_losses(axes: Axes, problem: AnyProblem, evaluations: Evaluations) -> None:
    """The median and the middle half of the feasible losses in each part of the run, and the best so far."""
    losses = evaluations.loss
    best = np.minimum.accumulate(losses) if len(losses) else losses
    axes.tick_params(labelsize=6, length=2)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    lost = float(np.mean(~np.isfinite(losses))) if len(losses) else 0.0
    if not np.isfinite(losses).any():
        axes.set_title("loss", fontsize=7, loc="left", pad=2)
        axes.set_yticks([])
        note(axes, "nothing feasible")
        return
    parts = np.array_split(np.arange(len(losses)), min(BINS, len(losses)))
    parts = [part[np.isfinite(losses[part])] for part in parts]
    at = np.array([part.mean() + 0.5 for part in parts if len(part)])
    quarter, median, three = (
        np.array([np.quantile(losses[part], q) for part in parts if len(part)]) for q in (0.25, 0.5, 0.75)
    )
    low, high = float(best[-1]), float(np.max(three))
    unit = unit_of(problem.objective, problem.model.name)
    scale, label = unit_scale(problem.objective, unit, float(np.sqrt(low * high)))
    pad = max(high / low, 1.02) ** 0.06
    axes.set_title(f"{label}: median, middle half, best so far", fontsize=7, loc="left", pad=2)
    panel_note(axes, f"{100 * lost:.0f} % infeasible")
    axes.set_xlim(0, len(losses))
    log_axis(axes, "y", low / pad, high * pad, most=5, scale=scale)
    axes.fill_between(at, quarter, three, color=MUTED, alpha=0.3, linewidth=0)
    axes.plot(at, median, color=INK, linewidth=0.8)
    better = _improvements(losses)
    text = number(float(f"{low / scale:.4g}"))
    _best_line(axes, np.append(better, len(losses)), np.append(best[better], low), text)


def _sample_ticks(axes: Axes, samples: int) -> None:
    axes.set_xlim(0, max(samples, 1))
    ticks = [0, samples // 2, samples] if samples > 2 else [0, max(samples, 1)]
    axes.set_xticks(ticks, [f"{tick:,}" for tick in ticks], fontsize=7)
