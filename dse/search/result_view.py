"""A search's result as a notebook shows it: a figure, and HTML."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import numpy as np

from dse.support.quantities import energy_of_mapping, quantity_in_words

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dse.search.api import Result


def best_so_far(result: Result) -> Figure:
    """The best loss so far against samples, both on log scales; nothing is drawn before a feasible sample."""
    from matplotlib.figure import Figure

    problem = result.cell.problem
    losses = np.minimum.accumulate(result.record.evaluations().loss)
    feasible = np.flatnonzero(np.isfinite(losses))
    figure = Figure(figsize=(6.4, 4), layout="constrained")
    axes = figure.subplots()
    axes.step(feasible + 1, losses[feasible], where="post")
    axes.set(
        xscale="log", yscale="log", xlabel="samples", ylabel=f"best {problem.objective} ({unit(result)})"
    )
    axes.set_title(heading(result), fontsize="medium", loc="left")
    axes.grid(visible=True, alpha=0.3)
    return figure


def as_html(result: Result) -> str:
    """The search in a line, its best figures, and the best mapping as a loop nest."""
    best, problem = result.best, result.cell.problem
    head = f"<p><b>{escape(heading(result))}</b>: {result.counted}</p>"
    if best is None:
        return f"{head}<p>nothing feasible was found</p>"
    figures = (
        f"best {problem.objective} {quantity_in_words(best.loss, unit(result), 6)}, found "
        f"by sample {best.index + 1:,}: "
        f"{best.cycles:,} cycles, {energy_of_mapping(best.energy_nj, 6)}, {problem.needs(best.mapping)}"
    )
    if hardware := problem.hardware_of(best.genes):
        figures += f", on {hardware}"
    nest = result.best_problem.nest(best.mapping)
    return f"{head}<p>{escape(figures)}</p><pre>{escape(nest)}</pre>"


def heading(result: Result) -> str:
    """Who searched what."""
    problem = result.cell.problem
    return f"{result.cell.name} on {problem.layer}, cost model {problem.model_spec}"


def unit(result: Result) -> str:
    """The unit of the objective."""
    from dse.core.cost_models import unit_of

    return unit_of(result.cell.problem.objective, result.cell.problem.model_spec)
