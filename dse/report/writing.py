"""Writing a campaign's report: its tables, its figures, its page and a summary for programs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dse.analysis.analysis import analyse_study
from dse.analysis.findings import Findings
from dse.analysis.reduction import LayerFigures, NamedTriple, Reduction, reduction_rows, template_rows
from dse.analysis.repriced import Repriced, reprice_winners
from dse.analysis.study import Study, Triple, load_study
from dse.core.cost_models import other_model
from dse.report.conclusions import Conclusions, conclude_study
from dse.report.formats import (
    Table,
    as_csv,
    as_latex,
    markdown_table,
    names_in_sentence,
    plain_markdown,
)
from dse.report.limits import samples_in_words, seeds_in_words
from dse.report.summary import SUMMARY, study_summary
from dse.report.tables import NAMES, make_tables
from dse.report.tables.repriced import repriced_caveat, repriced_finding
from dse.report.warnings import refuted_bounds
from dse.support.errors import InputError, StorageError
from dse.support.files import refuse_links, write_json, write_whole
from dse.support.quantities import counted_noun
from dse.support.telling import Tell, tell_nobody

if TYPE_CHECKING:
    from dse.report.plots.drawing import Drawing

FORMER = ("geomean", "efficiency", "comparisons", "improvement", "runtimes", "regret")
"""Tables that reports have had: they go where a folder is reported again."""


@dataclass(frozen=True)
class Report:
    """A campaign's report before it is written: the study, its findings and its tables."""

    study: Study
    findings: Findings
    conclusions: Conclusions
    rows: tuple[Reduction, ...]
    repriced: tuple[Repriced, ...]
    tables: tuple[Table, ...]

    @property
    def about(self) -> dict[str, Any]:
        """What the campaign was."""
        return self.study.about

    @property
    def cells(self) -> int:
        """How many cells are done."""
        return len(self.study.summaries)

    @property
    def missing(self) -> dict[str, int]:
        """How many cells are not done, by searcher."""
        return self.study.missing

    @property
    def beaten(self) -> tuple[str, ...]:
        """Which proofs of an optimum the records refute: none, or something is wrong."""
        return refuted_bounds(self.study)


def make_report(folder: Path, reprice_by: Sequence[str] = (), tell: Tell = tell_nobody) -> Report:
    """The report of the campaign in `folder`. InputError where there is none, or it is damaged.

    `reprice_by` are cost models that price the winners too, beside those that the campaign names.
    """
    tell(f"report: reading {folder}")
    study = load_study(folder)
    if reprice_by:
        more = [other_model(model, study.cost_model) for model in reprice_by]
        study = replace(study, about={**study.about, "reprice": list(dict.fromkeys([*study.reprice, *more]))})
    tell(f"report: analysing {counted_noun(len(study.summaries), 'run')}")
    findings = analyse_study(study)
    place = {name: place for place, name in enumerate(study.searchers)}
    rows = reduction_rows(study.summaries, study.groups, study.reference, study.budgets)
    rows.sort(key=lambda row: (row.network, row.objective, row.budget, place[row.searcher]))
    rows += template_rows(_template_points(study), study.groups, rows, study.reference)
    rows.sort(key=lambda row: (row.network, row.objective, row.budget))
    if study.reprice:
        tell(f"report: pricing the winners by {names_in_sentence(study.reprice)} too")
    repriced = reprice_winners(study)
    tables = make_tables(study, findings, rows, repriced)
    conclusions = conclude_study(study, findings)
    return Report(study, findings, conclusions, tuple(rows), repriced, tables)


def write_report(
    folder: Path,
    *,
    run: str | None = None,
    pictures: bool = True,
    latex: bool = False,
    reprice_by: Sequence[str] = (),
    tell: Tell = tell_nobody,
) -> tuple[Report, Path]:
    """Write the campaign's report into its folder; returns it and the path of what to open.

    `tables/` holds every table as CSV and Markdown, `summary.json` the result for programs. With `pictures`,
    `figures/` holds the figures as PNG and `index.html` is the whole report in one page; with `latex`, tables
    are there as LaTeX too, and figures as PDF.
    `run` is the key of a cell whose genes are drawn too; `reprice_by` is for `make_report`. `tell` is told
    what is being done: the page is there before its figures are. StorageError where something cannot be
    written.
    """
    for part in (folder, *(folder / name for name in ("cells", "journals", "figures", "tables"))):
        refuse_links(part)
    report = make_report(folder, reprice_by, tell)
    drawing = _gene_drawing(report.study, run) if run is not None else None
    tables = folder / "tables"
    texts = table_files(report, latex)
    try:
        tables.mkdir(exist_ok=True)
        for name, text in texts.items():
            write_whole(tables / name, text, "table")
        for path in tables.iterdir():
            # A table that an earlier report had, and this one has not.
            if path.stem in (*NAMES, *FORMER) and path.name not in texts:
                path.unlink()
        result = study_summary(report.study, report.findings, report.conclusions, report.repriced)
        write_json(folder / SUMMARY, result, "report")
        if not pictures:
            return report, tables / "reduction.md"
        more = () if drawing is None else (drawing,)
        return report, _write_pictures(report, more, [f"tables/{name}" for name in texts], latex, tell)
    except OSError as error:
        raise StorageError(f"report in {str(folder)!r} cannot be written: {error.strerror}") from None


def table_files(report: Report, latex: bool = False) -> dict[str, str]:
    """The texts of all table files, by name."""
    texts = {}
    for table in report.tables:
        if table.columns:
            texts[f"{table.name}.csv"] = as_csv(table.columns, table.rows)
        texts[f"{table.name}.md"] = "\n".join([f"# {table.question}\n", *map(markdown_table, table.sections)])
        if latex:
            texts[f"{table.name}.tex"] = "\n".join(map(as_latex, table.sections))
    texts["reduction.md"] = reduction_markdown(report)
    return texts


def reduction_markdown(report: Report) -> str:
    """The headline, what the sceptic should know, the standing in brief and the table of reduction."""
    said = [f"Campaign {report.study.name}", report.conclusions.headline, tables_scope(report)]
    said += [f"{repriced_finding(found)} {repriced_caveat(found)}" for found in report.repriced]
    # Names of searchers, layers and accelerators stand in these sentences too.
    name, *sentences = map(plain_markdown, said)
    parts = [f"# {name}\n", *(f"{sentence}\n" for sentence in sentences)]
    if report.conclusions.warnings:
        warnings = map(plain_markdown, report.conclusions.warnings)
        parts.append("".join(f"- **{sentence}**\n" for sentence in warnings))
    for name in ("standing", "reduction"):
        table = table_of(report, name)
        shown = table.brief if name == "standing" else table.sections
        parts += [f"# {table.question}\n", *map(markdown_table, shown)]
    return "\n".join(parts)


def tables_scope(report: Report) -> str:
    """What the tables are of, in a few sentences."""
    study = report.study
    of = f"{counted_noun(report.cells, 'cell')} of {samples_in_words(study)} a layer, {seeds_in_words(study)}"
    reference = study.reference
    ratios = (
        f"Ratios to the reference: a searcher's figure divided by that of {reference}. Above 1, {reference} "
        "is better."
    )
    named = [study.machine(name) for name in dict.fromkeys(problem[1] for problem in study.problems)]
    machines = f" on {', '.join(named)}" if study.about.get("machines") else ""
    space = f", {study.tiles}" if study.tiles else ""
    return f"{of}{machines}, cost model {study.cost_model}{space}. {ratios}"


def table_of(report: Report, name: str) -> Table:
    """A report's table, by its name. InputError where the report has it not."""
    found = next((table for table in report.tables if table.name == name), None)
    if found is None:
        raise InputError(
            f"there is no table {name!r}: no other cost model is named; --reprice MODEL names one"
        )
    return found


def _write_pictures(
    report: Report, more: Sequence[Drawing], linked: Sequence[str], latex: bool, tell: Tell
) -> Path:
    from dse.report.page.page import Page
    from dse.report.pictures import write_pictures

    tables = [table for table in report.tables if table.name != "repriced"]
    page = Page.of(report.study, report.findings, tables, report.repriced)
    return write_pictures(report.study, report.findings, page, more=more, linked=linked, pdf=latex, tell=tell)


def _gene_drawing(study: Study, key: str) -> Drawing:
    """The figure of what a cell drew, from its samples."""
    from dse.analysis.sources import read_cell
    from dse.campaign.worker import RECORDS
    from dse.report.plots.drawing import Drawing
    from dse.report.plots.genes import gene_figure

    path = study.folder / RECORDS / f"{key}.parquet"
    if not path.is_file():
        known = sorted(summary.key for summary in study.summaries)
        raise InputError(
            f"run {key!r} has no samples in {str(path.parent)!r}; name a finished cell of the campaign"
            + (f", such as {known[0]}" if known else "")
        )
    problem, record = read_cell(path)
    name = f"genes-{re.sub(r'[^A-Za-z0-9._-]', '_', key)}"
    caption = f"What the run {key} drew, gene by gene, as its samples went by."
    return Drawing(
        name, "A run, gene by gene", caption, lambda width: gene_figure(problem, record, key, width)
    )


def _template_points(study: Study) -> dict[str, dict[NamedTriple, LayerFigures]]:
    found: dict[str, dict[Triple, LayerFigures]] = {}
    for template, figures in study.about.get("templates", {}).items():
        points = {problem: figures.get(study.label(problem)) for problem in study.problems}
        found[f"{template} dataflow"] = {
            problem: LayerFigures(**point) for problem, point in points.items() if point is not None
        }
    return found
