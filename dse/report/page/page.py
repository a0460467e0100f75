"""The report as one HTML file that needs nothing else: styles, scripts and figures are in it.

What comes from outside (names, settings, versions, messages) is escaped by the template engine, and the
page's own policy lets no script run but ours and no address be loaded.
"""

from __future__ import annotations

import base64
import hashlib
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from dse.analysis.findings import Findings
from dse.analysis.repriced import Repriced
from dse.analysis.study import Study, make_problems
from dse.report.conclusions import conclude_study
from dse.report.formats import Table
from dse.report.page.explorer import as_markup, explorer_data, legend_entries, problem_filters, table_marks
from dse.report.page.front import page_fronts
from dse.report.page.mappings import BestMapping, best_mappings
from dse.report.page.markup import (
    NONE,
    breakable_name,
    energy_markup,
    inline_svg,
    nest_markup,
    quantity_markup,
    ratio_text,
)
from dse.report.page.provenance import Provenance, study_provenance, summary_line
from dse.report.page.standing import standings_table
from dse.report.page.tables import PageCell, PageTable, page_repriced, page_table
from dse.report.plots.drawing import draw_figures
from dse.report.warnings import refuted_bounds

if TYPE_CHECKING:
    from jinja2 import Environment

TEMPLATE = "page.html.jinja"
SCRIPTS = ("folds.js", "page.js", "numbers.js", "curves.js", "chart.js", "explore.js", "search.js")
"""The page's script is these together, in a function of its own."""
REDRAWN = r"gap|convergence(-\d+)?"
"""The figures that the page's script draws anew from data; without scripts these stay."""
GENES = "genes-"
"""How the names of figures of a single run begin; its key follows."""


@dataclass(frozen=True)
class PageFigure:
    """A figure on the page: what it is called, the drawing, how to read it, whether the script redraws it."""

    label: str
    svg: Markup
    caption: str
    redrawn: bool


@dataclass(frozen=True)
class Page:
    """A study's page but for its figures, which may come later; `context` is what the template is given."""

    study: Study
    findings: Findings
    context: Mapping[str, Any]

    @classmethod
    def of(
        cls, study: Study, findings: Findings, tables: Iterable[Table] = (), repriced: Sequence[Repriced] = ()
    ) -> Page:
        """The page of a study; `tables` come in the order in which they are shown.

        `repriced` are the winners under other cost models.
        """
        return cls(study, findings, _context(study, findings, tables, repriced))

    def html(self, figures: Mapping[str, str], linked: Iterable[str] = (), coming: Sequence[str] = ()) -> str:
        """The whole page as text, the same for the same arguments.

        `figures` are SVG documents by name, `linked` files beside the page (`tables/reduction.csv`) that it
        names, and `coming` the titles of figures that are still being drawn.
        """
        return (
            _environment()
            .get_template(TEMPLATE)
            .render(
                **self.context,
                figures=_figures(self.study, self.findings, figures),
                files=_by_stem(linked),
                coming=coming,
            )
        )


def _context(
    study: Study, findings: Findings, tables: Iterable[Table], repriced: Sequence[Repriced]
) -> dict[str, Any]:
    problems = make_problems(study)
    conclusions, alarms = conclude_study(study, findings), refuted_bounds(study)
    mappings = best_mappings(study, problems)
    origin = study_provenance(study, problems)
    script = f'"use strict";\n(() => {{\n{"".join(map(_read, SCRIPTS))}}})();\n'
    key = legend_entries(study)
    return {
        "study": study,
        "conclusions": conclusions,
        "reference": study.reference,
        "line": summary_line(study),
        "alarms": alarms,
        "cares": [warning for warning in conclusions.warnings if warning not in alarms],
        "answer": standings_table(study, findings, brief=True),
        "standing": standings_table(study, findings),
        "curves": bool(findings.convergence),
        "tables": [
            (table.question, [page_table(*section) for section in table.brief])
            for table in tables
            if table.brief
        ],
        "overview": _overview(mappings),
        "mappings": mappings,
        "fronts": page_fronts(study, problems),
        "repriced": page_repriced(study, repriced),
        "origin": origin,
        "data": as_markup(explorer_data(study, findings)),
        "filters": problem_filters(study),
        "machine": study.machine,
        "legend": key,
        "looks": {entry.name: entry for entry in key},
        "marks": table_marks(study),
        "problems": _problems(origin),
        "settings_known": bool(study.about.get("settings")),
        "allowed": content_policy(script),
        # These are ours: in a style or script element nothing is escaped.
        "css": Markup(_read("page.css")),
        "js": Markup(script),
    }


def content_policy(script: str) -> str:
    """What the browser may do for the page: apply the styles in it and run this one script."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return (
        f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _figures(study: Study, findings: Findings, figures: Mapping[str, str]) -> list[PageFigure]:
    known, found = captions(study, findings, figures), []
    for place, (name, svg) in enumerate(figures.items(), 1):
        drawing = inline_svg(svg, f"figure{place}", known[name].title)
        redrawn = re.fullmatch(REDRAWN, name) is not None
        found.append(PageFigure(known[name].title, drawing, known[name].text, redrawn))
    return found


def _by_stem(linked: Iterable[str]) -> list[tuple[str, list[tuple[str, str]]]]:
    """Files by what they are of: `reduction` with (`csv`, `tables/reduction.csv`), (`tex`, ...)."""
    found: dict[str, list[tuple[str, str]]] = {}
    for path in map(PurePosixPath, linked):
        found.setdefault(path.stem, []).append((path.suffix.removeprefix("."), str(path)))
    return list(found.items())


def _overview(mappings: Sequence[BestMapping]) -> PageTable:
    """The winners of all problems in a table."""
    heads = ("Problem", "Best loss", "Over the optimum", "Searcher", "Seed", "Sample", "Runs that found it")
    rows = [_overview_row(best, place) for place, best in enumerate(mappings, 1)]
    return page_table("Best mapping of every problem", heads, rows)


def _overview_row(best: BestMapping, place: int) -> tuple[str | PageCell, ...]:
    found = sum(best.equals.values())
    ratio = ratio_text(best.gap.ratio) + (" or less" if best.gap.kind == "bound" else "")
    return (
        PageCell(best.label, None, f"#mapping-{place}"),
        PageCell(best.shown, best.loss if best.cell else None),
        PageCell(ratio, None if math.isnan(best.gap.ratio) else best.gap.ratio),
        best.cell.searcher if best.cell else NONE,
        str(best.cell.seed) if best.cell else NONE,
        f"{best.sample:,}" if best.cell else NONE,
        PageCell(f"{found:,} of {best.runs:,}", found / max(best.runs, 1)),
    )


def _problems(origin: Provenance) -> PageTable:
    heads = ("Problem", "Layer", "Distinct mappings", "Optimum")
    rows = [(fact.label, fact.layer or NONE, fact.space or NONE, fact.optimum) for fact in origin.problems]
    return page_table("Problems", heads, rows)


def _reached(best: BestMapping) -> str:
    """Who else has found as good a mapping."""
    runs = sum(best.equals.values())
    if runs == 1:
        return f"No other of the {best.runs:,} runs found a mapping as good."
    who = ", ".join(f"{count} of {name}" for name, count in best.equals.items())
    return f"{runs:,} of the {best.runs:,} runs found a mapping as good as this: {who}."


def _now(best: BestMapping) -> str:
    """What the mapping costs now and what the record says."""
    loss = best.priced.evaluation.loss[best.problem[2]] if best.priced else None
    now = "infeasible" if loss is None else quantity_markup(loss, best.unit)
    return f"{now} now, {best.shown} there"


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    environment = Environment(
        loader=FunctionLoader(_read),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "nest": nest_markup,
        "breakable": breakable_name,
        "reached": _reached,
        "now": _now,
    }
    environment.globals |= {"energy": energy_markup, "NONE": NONE}
    return environment


def _read(name: str) -> str:
    return (files("dse.report.page") / name).read_text(encoding="utf-8")


@dataclass(frozen=True)
class Caption:
    """A figure's title and how to read it."""

    title: str
    text: str


def captions(study: Study, findings: Findings, names: Iterable[str]) -> dict[str, Caption]:
    """The captions of the figures of those names; one that is not ours has its name alone."""
    drawings = draw_figures(study, findings)
    found = {}
    for name in names:
        if name in drawings:
            found[name] = Caption(drawings[name].title, drawings[name].caption)
        elif name.startswith(GENES):
            run = name.removeprefix(GENES)
            text = f"What the run {run} drew, gene by gene, as its samples went by."
            found[name] = Caption("A run, gene by gene", text)
        else:
            found[name] = Caption(name, "")
    return found
