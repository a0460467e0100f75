"""What the page's script draws from: curves and intervals of the analysis as plain data, and filters."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from markupsafe import Markup

from dse.analysis.analysis import mean_gaps
from dse.analysis.findings import Band, Findings
from dse.analysis.fronts import MISSING
from dse.analysis.runs import Runs
from dse.analysis.study import Study, Triple
from dse.report.page.standing import CLOSE
from dse.report.page.tables import PageTable
from dse.report.plots.style import styles_of

DIGITS, END_DIGITS = 5, 4
"""Of a figure in the data, and of the ends of its interval: a screen shows fewer."""
FACETS = ("network", "accelerator", "objective")
RESAMPLES = 500
"""Of each part: there are many, and an interval's end is seen to two digits."""
MAX_PARTS = 100
"""Parts beyond these are not computed."""


@dataclass(frozen=True)
class Filter:
    """A choice among the values that the problems have of something."""

    name: str
    values: tuple[str, ...]


@dataclass(frozen=True)
class Entry:
    """A searcher in the legend; `dash` is its line's `stroke-dasharray` in SVG, `text` its name's colour."""

    name: str
    colour: str
    text: str
    dash: str
    leading: bool


def legend_entries(study: Study) -> tuple[Entry, ...]:
    """The searchers as figures draw them, in the campaign's order."""
    looks = styles_of(study)
    return tuple(
        Entry(
            name,
            look.colour,
            look.text,
            " ".join(f"{look.width * part:g}" for part in look.dash),
            look.leading,
        )
        for name, look in looks.items()
    )


def problem_filters(study: Study) -> tuple[Filter, ...]:
    """What the page offers to choose problems by: what they do not all have alike."""
    found = [facets(problem) for problem in study.problems]
    values = (tuple(dict.fromkeys(one)) for one in zip(*found, strict=True))
    pairs = (Filter(name, one) for name, one in zip(FACETS, values, strict=False))
    return tuple(one for one in pairs if len(one.values) > 1)


def explorer_data(study: Study, findings: Findings) -> dict[str, Any]:
    """The curves over all problems, over each part of them and on each; searchers and problems by place."""
    place = {name: number for number, name in enumerate(study.searchers)}
    over = [{"problems": list(range(len(study.problems))), "curves": _curves(findings.gap, place)}]
    over += [
        {"problems": list(part.problems), "curves": _curves(part.gap, place)}
        for part in page_selections(study)
    ]
    return {
        "budget": study.budget,
        "reference": place[study.reference],
        "proven": all(study.target(problem)[1] for problem in study.problems),
        "measure": MISSING if study.of_fronts else "",
        "searchers": [
            {"name": one.name, "colour": one.colour, "text": one.text, "dash": one.dash}
            | ({"cut": True} if one.name in study.cut else {})
            for one in legend_entries(study)
        ],
        "over": over,
        "problems": [
            _problem(study, findings, problem, place, row) for row, problem in enumerate(study.problems)
        ],
    }


def as_markup(data: Mapping[str, Any]) -> Markup:
    """The data as JSON for a script element: nothing in it can end the element."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return Markup(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))


def _problem(
    study: Study, findings: Findings, problem: Triple, place: Mapping[str, int], row: int
) -> dict[str, Any]:
    target, proven = study.target(problem)
    network, accelerator, objective = facets(problem)
    ends = {}
    for name, number in place.items():
        final = findings.gap_seeds[name][row]
        cells = study.cells(problem, name)
        infeasible = sum(sum(cell.infeasible.values()) for cell in cells)
        close, runs = int(np.count_nonzero(final <= CLOSE)), int(np.count_nonzero(~np.isnan(final)))
        ends[number] = [close, runs, infeasible, sum(cell.samples for cell in cells)]
    return {
        "label": study.label(problem),
        "layer": problem[0],
        "network": network,
        "accelerator": accelerator,
        "objective": objective,
        "unit": study.unit(objective),
        "target": _figure(target),
        "proven": proven,
        "curves": _curves(findings.convergence.get(problem, {}), place),
        "ends": ends,
    }


def _curves(bands: Mapping[str, Band], place: Mapping[str, int]) -> dict[int, list[list[float | None]]]:
    return {place[name]: curve_points(band) for name, band in bands.items()}


def curve_points(band: Band) -> list[list[float | None]]:
    """`[samples, centre, low, high]` where one of them changes, and at the end: a curve goes in steps."""
    columns = [
        [_figure(float(value), digits) for value in part]
        for part, digits in ((band.centre, DIGITS), (band.low, END_DIGITS), (band.high, END_DIGITS))
    ]
    points = list(zip(*columns, strict=True))
    last = len(points) - 1
    kept = [at for at, point in enumerate(points) if at in (0, last) or point != points[at - 1]]
    return [[int(band.samples[at]) for at in kept], *([column[at] for at in kept] for column in columns)]


def _figure(value: float, digits: int = DIGITS) -> float | None:
    """The figure in so many digits; None where there is none, as JSON has no infinity."""
    return float(f"{value:.{digits}g}") if math.isfinite(value) else None


@dataclass(frozen=True)
class Marks:
    """What a table's parts are of, by place in the study: `data-` attributes that filters hide them by."""

    searchers: Mapping[str, int]
    problems: Mapping[str, int]
    networks: Mapping[str, str]

    def table(self, table: PageTable) -> str:
        """The problems that the whole table is of, where it is of some: `0 3`."""
        return next((found for start, found in self.networks.items() if table.title.startswith(start)), "")

    def column(self, head: str) -> str:
        """The searcher that a column is of."""
        return str(self.searchers.get(head, ""))

    def row(self, table: PageTable, row: int) -> tuple[str, str]:
        """The searchers and the problem that a row is of."""
        texts = [cell.text for cell in table.rows[row]]
        named = [str(self.searchers[text]) for text in texts if text in self.searchers]
        problem = next((str(self.problems[text]) for text in texts if text in self.problems), "")
        return " ".join(named), problem


def table_marks(study: Study) -> Marks:
    """The marks of a study's tables."""
    members: dict[str, list[str]] = {}
    for place, group in enumerate(study.groups.values()):
        unit = study.unit(group.objective)
        shown = f"{group.objective} ({unit})" if unit else group.objective
        members.setdefault(f"{group.network}: {shown} after ", []).append(str(place))
    return Marks(
        {name: place for place, name in enumerate(study.searchers)},
        {study.label(problem): place for place, problem in enumerate(study.problems)},
        {title: " ".join(places) for title, places in members.items()},
    )


@dataclass(frozen=True)
class Selection:
    """Some of a study's problems, by their places in it, and each searcher's figure over them (as `gap`)."""

    problems: tuple[int, ...]
    gap: dict[str, Band]


def facets(problem: Triple) -> tuple[str, str, str]:
    """What a problem is chosen by: its network, accelerator and objective."""
    layer, accelerator, objective = problem
    return layer.rpartition(":")[0] or layer, accelerator, objective


def page_selections(study: Study) -> tuple[Selection, ...]:
    """The parts that one value or any of each facet picks, but for the whole; MAX_PARTS at most."""
    found = [facets(problem) for problem in study.problems]
    parts = dict.fromkeys(
        places
        for wanted in itertools.product(
            *([None, *dict.fromkeys(values)] for values in zip(*found, strict=True))
        )
        if 0 < len(places := _places(found, wanted)) < len(found)
    )
    runs = Runs(study, RESAMPLES)
    return tuple(
        Selection(places, mean_gaps(runs, {study.problems[place] for place in places}))
        for places in itertools.islice(parts, MAX_PARTS)
    )


def _places(found: Sequence[tuple[str, ...]], wanted: Sequence[str | None]) -> tuple[int, ...]:
    return tuple(
        place
        for place, values in enumerate(found)
        if all(want in (None, value) for want, value in zip(wanted, values, strict=True))
    )
