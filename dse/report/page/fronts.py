"""The fronts of a study's problems on its page: the exact one and each searcher's, with their mappings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from dse.analysis.study import Made, Study, Triple
from dse.core.objective import several
from dse.core.problem import AnyProblem
from dse.report.page.front import HEIGHT, WIDTH, Shown, drawn
from dse.report.plots.style import styles_of
from dse.support.errors import InputError

EXACT, COLOUR = "exact front", "#222222"
MAX = 16
"""Problems that are drawn."""


@dataclass(frozen=True)
class PageFront:
    """A problem's fronts: what it is, the drawing, or else why there is none."""

    label: str
    svg: Markup
    why_not: str = ""


def page_fronts(study: Study, problems: Mapping[Triple, Made]) -> tuple[PageFront, ...]:
    """The fronts of the first MAX problems of several objectives."""
    chosen = [problem for problem in study.problems if several(problem[2])][:MAX]
    return tuple(_front(study, problem, problems[problem]) for problem in chosen)


def _front(study: Study, problem: Triple, made: Made) -> PageFront:
    label = study.label(problem)
    if made.problem is None:
        return PageFront(label, Markup(), made.why_not)
    try:
        points = list(_points(study, problem, made.problem))
    except (IndexError, InputError, ValueError) as error:
        return PageFront(label, Markup(), f"Its mappings cannot be read from this folder: {error}")
    if not points:
        return PageFront(label, Markup(), "No run has found a feasible mapping.")
    svg = Markup('<svg class="front" viewBox="0 0 {} {}" role="img" aria-label="{}">{}</svg>').format(
        WIDTH, HEIGHT, f"Fronts of {label}", drawn(points, linked=False)
    )
    return PageFront(label, svg)


def _points(study: Study, triple: Triple, problem: AnyProblem) -> Iterator[Shown]:
    """The searchers' points, each of its run that lacks least, and above them the exact ones."""
    looks = styles_of(study)
    for name in study.searchers:
        cell = min(study.cells(triple, name), key=lambda cell: cell.best, default=None)
        if cell is not None and cell.genes:
            rows = np.array(cell.genes, np.int64).reshape(-1, len(problem.space.sizes)).tolist()
            yield from _shown(problem, rows, f"{name}, seed {cell.seed}", looks[name].colour)
    exact = study.about.get("optima", {}).get(study.label(triple), {}).get("front_genes", [])
    yield from _shown(problem, exact, EXACT, COLOUR)


def _shown(problem: AnyProblem, rows: Sequence[Sequence[int]], of: str, colour: str) -> Iterator[Shown]:
    if not rows:
        return
    genes = np.array(rows, np.int64)
    costs = problem.price(genes)
    seconds, joules = costs.cycles / np.asarray(costs.criteria.hertz), costs.energy_nj * 1e-9
    decoded = problem.space.decode(genes)
    for place in np.flatnonzero(costs.reason == 0).tolist():
        yield Shown(float(seconds[place]), float(joules[place]), problem.nest(decoded[place]), of, colour)
