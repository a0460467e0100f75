"""Fronts on the page, the exact one and each searcher's; and one as a page of its own, with its mappings."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from markupsafe import Markup

from dse.analysis.study import Made, Study, Triple
from dse.core.objective import names_several
from dse.core.problem import AnyProblem
from dse.report.page.markup import nest_markup
from dse.report.plots.scales import log_ticks
from dse.report.plots.style import styles_of
from dse.support.errors import InputError
from dse.support.quantities import quantity_in_words

WIDTH, HEIGHT, LEFT, BELOW, ROOM = 760, 420, 90, 44, 1.1
DIGITS = 6

_PAGE = Markup("""<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{style}
svg {{ width: 100%; height: auto; }} svg text {{ fill: var(--muted); font-size: 12px; }}
svg circle {{ fill: var(--accent); }} svg a:is(:hover, :focus) circle {{ fill: var(--bad); r: 7px; }}
details {{ border-top: 1px solid var(--rule); padding: .3rem 0; }} pre {{ overflow-x: auto; }}
</style></head>
<body><header><h1>{title}</h1><p class="line">{how}</p></header>
<main><svg viewBox="0 0 {width} {height}" role="img" aria-label="{title}">{drawn}</svg>
<p class="note">Each dot is a mapping: hover to see it, click to go to it.</p>
{points}</main></body></html>
""")
EXACT, COLOUR = "exact front", "#222222"
MAX_DRAWN = 16
"""Problems that are drawn."""


@dataclass(frozen=True)
class Shown:
    """A point of a front: seconds, joules, and its mapping as a nest of loops.

    Where there are several fronts, `of` says whose it is, and `colour` is theirs.
    """

    seconds: float
    joules: float
    nest: str
    of: str = ""
    colour: str = ""

    @property
    def words(self) -> str:
        """Its figures."""
        return (
            f"{quantity_in_words(self.seconds, 's', DIGITS)}, {quantity_in_words(self.joules, 'J', DIGITS)}"
        )


def front_page(title: str, how: str, points: Sequence[Shown]) -> str:
    """The page, whole and without scripts, of one point or more."""
    found = Markup("\n").join(
        Markup('<details id="p{}"><summary>{}</summary><pre>{}</pre></details>').format(
            place, point.words, nest_markup(point.nest)
        )
        for place, point in enumerate(points)
    )
    return _PAGE.format(
        title=title,
        how=how,
        style=Markup(Path(__file__).with_name("page.css").read_text(encoding="utf-8")),
        width=WIDTH,
        height=HEIGHT,
        drawn=drawn(points),
        points=found,
    )


def drawn(points: Sequence[Shown], *, linked: bool = True) -> Markup:
    """Both axes, logarithmic, and the dots; `linked` to the points' places on the page."""
    across = _axis([point.seconds for point in points], LEFT, WIDTH - 12)
    up = _axis([point.joules for point in points], HEIGHT - BELOW, 12)
    parts = [
        Markup('<text x="{}" y="{}" text-anchor="middle">{}</text>').format(
            x, HEIGHT - 20, quantity_in_words(tick, "s", 3)
        )
        for tick, x in across[1]
    ]
    for tick, y in up[1]:
        parts += [
            Markup('<line x1="{}" x2="{}" y1="{}" y2="{}" stroke="var(--rule)"/>').format(LEFT, WIDTH, y, y),
            Markup('<text x="{}" y="{}" text-anchor="end">{}</text>').format(
                LEFT - 6, y + 4, quantity_in_words(tick, "J", 3)
            ),
        ]
    for place, point in enumerate(points):
        colour = Markup(' style="fill:{}"').format(point.colour) if point.colour else ""
        dot = Markup('<circle cx="{}" cy="{}" r="5"{}/><title>{}</title>').format(
            across[0](point.seconds),
            up[0](point.joules),
            colour,
            f"{point.of}{': ' if point.of else ''}{point.words}\n{point.nest}",
        )
        link = Markup('<a href="#p{}">{}</a>').format(place, dot)
        parts.append(link if linked else Markup("<g>{}</g>").format(dot))
    return Markup("\n").join(parts)


def _axis(
    values: Sequence[float], begin: float, end: float
) -> tuple[Callable[[float], float], list[tuple[float, float]]]:
    """Where a value is between two ends of an axis, and its ticks with their places."""
    low, high = min(values) / ROOM, max(values) * ROOM
    span = math.log(high / low)

    def place(value: float) -> float:
        return round(begin + (end - begin) * math.log(value / low) / span, 2)

    return place, [(tick, place(tick)) for tick in log_ticks(low, high)]


@dataclass(frozen=True)
class PageFront:
    """A problem's fronts: what it is, the drawing, or else why there is none."""

    label: str
    svg: Markup
    why_not: str = ""


def page_fronts(study: Study, problems: Mapping[Triple, Made]) -> tuple[PageFront, ...]:
    """The fronts of the first MAX_DRAWN problems of several objectives."""
    chosen = [problem for problem in study.problems if names_several(problem[2])][:MAX_DRAWN]
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
