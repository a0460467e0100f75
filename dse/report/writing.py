"""Writing a campaign's report: its tables, its figures, its page and a summary for programs."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dse.analysis.analysis import analyse
from dse.analysis.findings import Findings
from dse.analysis.reduction import LayerFigures, NamedTriple, Reduction, reductions, template_rows
from dse.analysis.regret import REGRET_COLUMNS, Regret, regrets
from dse.analysis.repriced import Repriced, reprice
from dse.analysis.study import Study, Triple, load_study
from dse.core.cost_models import other_model
from dse.report.conclusions import Conclusions, conclude, efficiency_sentence
from dse.report.formats import Table, as_csv, counted, latex, markdown, names, plain_markdown
from dse.report.limits import samples, seeds, whose
from dse.report.repriced import caveat, finding, notes
from dse.report.tables import NAMES, make_tables
from dse.report.warnings import refuted
from dse.support.errors import InputError, StorageError
from dse.support.files import refuse_links, write_json, write_whole
from dse.support.telling import Tell, nobody

if TYPE_CHECKING:
    from dse.report.plots import Drawing

SUMMARY = "summary.json"


@dataclass(frozen=True)
class Report:
    """A campaign's report before it is written: the study, its findings and its tables."""

    study: Study
    findings: Findings
    conclusions: Conclusions
    rows: tuple[Reduction, ...]
    regrets: tuple[Regret, ...]
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
        return refuted(self.study)


def make_report(folder: Path, reprice_by: Sequence[str] = (), tell: Tell = nobody) -> Report:
    """The report of the campaign in `folder`. InputError where there is none, or it is damaged.

    `reprice_by` are cost models that price the winners too, beside those that the campaign names.
    """
    tell(f"report: reading {folder}")
    study = load_study(folder)
    if reprice_by:
        more = [other_model(model, study.cost_model) for model in reprice_by]
        study = replace(study, about={**study.about, "reprice": list(dict.fromkeys([*study.reprice, *more]))})
    tell(f"report: analysing {counted(len(study.summaries), 'run')}")
    findings = analyse(study)
    place = {name: place for place, name in enumerate(study.searchers)}
    rows = reductions(study.summaries, study.groups, study.reference, study.budgets)
    rows.sort(key=lambda row: (row.network, row.objective, row.budget, place[row.searcher]))
    rows += template_rows(_template_points(study), study.groups, rows, study.reference)
    rows.sort(key=lambda row: (row.network, row.objective, row.budget))
    found = regrets(study.summaries, study.about.get("optima", {}), study.budgets)
    found.sort(key=lambda row: place[row.searcher])
    found.sort(key=lambda row: (row.layer, row.accelerator, row.objective, row.budget))
    if study.reprice:
        tell(f"report: pricing the winners by {names(study.reprice)} too")
    repriced = reprice(study)
    tables = make_tables(study, findings, rows, repriced)
    conclusions = conclude(study, findings)
    return Report(study, findings, conclusions, tuple(rows), tuple(found), repriced, tables)


def write_report(
    folder: Path,
    *,
    run: str | None = None,
    pictures: bool = True,
    reprice_by: Sequence[str] = (),
    tell: Tell = nobody,
) -> tuple[Report, Path]:
    """Write the campaign's report into its folder; returns it and the path of what to open.

    `tables/` holds every table as CSV, Markdown and LaTeX, `summary.json` the result for programs. With
    `pictures`, `figures/` holds the figures as PNG and PDF and `index.html` is the whole report in one page.
    `run` is the key of a cell whose genes are drawn too; `reprice_by` is for `make_report`. `tell` is told
    what is being done: the page is there before its figures are. StorageError where something cannot be
    written.
    """
    for part in (folder, *(folder / name for name in ("cells", "journals", "figures", "tables"))):
        refuse_links(part)
    report = make_report(folder, reprice_by, tell)
    drawing = _gene_drawing(report.study, run) if run is not None else None
    tables = folder / "tables"
    texts = table_files(report)
    try:
        tables.mkdir(exist_ok=True)
        for name, text in texts.items():
            write_whole(tables / name, text, "table")
        for path in tables.iterdir():
            # A table that an earlier report had, and this one has not.
            if path.stem in NAMES and path.name not in texts:
                path.unlink()
        write_json(folder / SUMMARY, _plain(summary(report)), "report")
        if not pictures:
            return report, tables / "reduction.md"
        more = () if drawing is None else (drawing,)
        return report, _write_pictures(report, more, [f"tables/{name}" for name in texts], tell)
    except OSError as error:
        raise StorageError(f"report in {str(folder)!r} cannot be written: {error.strerror}") from None


def table_files(report: Report) -> dict[str, str]:
    """The texts of all table files, by name."""
    texts = {}
    for table in report.tables:
        texts[f"{table.name}.csv"] = as_csv(table.columns, table.rows)
        if table.name != "reduction":
            texts[f"{table.name}.md"] = "\n".join(map(markdown, table.sections))
        texts[f"{table.name}.tex"] = "\n".join(map(latex, table.sections))
    texts["reduction.md"] = reduction_markdown(report)
    regret = [tuple(getattr(row, name) for name in REGRET_COLUMNS) for row in report.regrets]
    texts["regret.csv"] = as_csv(REGRET_COLUMNS, regret)
    return texts


def reduction_markdown(report: Report) -> str:
    """The headline, what the sceptic should know, and the tables of standing and of reduction."""
    said = [f"Campaign {report.study.name}", report.conclusions.headline, scope(report)]
    said += [f"{finding(found)} {caveat(found)}" for found in report.repriced]
    # Names of searchers, layers and accelerators stand in these sentences too.
    name, *sentences = map(plain_markdown, said)
    parts = [f"# {name}\n", *(f"{sentence}\n" for sentence in sentences)]
    if report.conclusions.warnings:
        warnings = map(plain_markdown, report.conclusions.warnings)
        parts.append("".join(f"- **{sentence}**\n" for sentence in warnings))
    standing, reduction = (table_of(report, name) for name in ("standing", "reduction"))
    return "\n".join([*parts, *map(markdown, (*standing.sections, *reduction.sections))])


def scope(report: Report) -> str:
    """What the tables are of, in a few sentences."""
    study = report.study
    of = f"{counted(report.cells, 'cell')} of {samples(study)} a layer, {seeds(study)}"
    reference = study.reference
    ratios = (
        f"Ratios are a searcher's figure divided by {reference}'s, {whose(study)}: above 1, {reference} is "
        "better."
    )
    named = [study.machine(name) for name in dict.fromkeys(problem[1] for problem in study.problems)]
    machines = f" on {', '.join(named)}" if study.about.get("machines") else ""
    return f"{of}{machines}, cost model {study.cost_model}. {ratios}"


def summary(report: Report) -> dict[str, Any]:
    """The result as plain data, small."""
    study, findings = report.study, report.findings
    targets = {study.label(problem): study.target(problem) for problem in study.problems}
    return {
        "campaign": study.name,
        "budget": study.budget,
        "cost_model": study.cost_model,
        "seeds": study.seeds,
        "searchers": list(study.searchers),
        "reference": study.reference,
        "cells": report.cells,
        "planned": study.planned,
        "missing": study.missing,
        "headline": report.conclusions.headline,
        "sentences": [asdict(sentence) for sentence in report.conclusions.sentences],
        "warnings": list(report.conclusions.warnings),
        "limits": {
            name: {"seeds": study.seeds_of(name), "budget": study.budget_of(name)}
            for name in study.searchers
            if name in study.cut or study.seeds_of(name) < study.seeds
        },
        "standing": {name: asdict(band.end) for name, band in findings.gap.items() if name not in study.cut},
        "geomean": [asdict(row) for row in findings.geomeans],
        "versus": [asdict(row) for row in findings.versus],
        "targets": {label: {"loss": loss, "proven": proven} for label, (loss, proven) in targets.items()},
        "efficiency": [
            asdict(row) | {"sentence": efficiency_sentence(study, row)} for row in findings.efficiency
        ],
        "comparisons": [asdict(row) for row in findings.comparisons],
        "repriced": [_repriced(found) for found in report.repriced],
    }


def _repriced(repriced: Repriced) -> dict[str, Any]:
    overall = repriced.overall
    return {
        "cost_model": repriced.other,
        "finding": finding(repriced),
        "winners": repriced.winners,
        "infeasible": dict(repriced.infeasible),
        "pairs": asdict(overall.pairs) if overall else None,
        "ranking": [asdict(row) for row in overall.rows] if overall else [],
        "notes": notes(repriced),
    }


def table_of(report: Report, name: str) -> Table:
    """A report's table, by its name. InputError where the report has it not."""
    found = next((table for table in report.tables if table.name == name), None)
    if found is None:
        raise InputError(
            f"there is no table {name!r}: no other cost model is named; --reprice MODEL names one"
        )
    return found


def _write_pictures(report: Report, more: Sequence[Drawing], linked: Sequence[str], tell: Tell) -> Path:
    from dse.report.pictures import write_pictures

    sections = [section for table in report.tables if table.name != "repriced" for section in table.brief]
    return write_pictures(
        report.study, report.findings, sections, report.repriced, more=more, tables=linked, tell=tell
    )


def _gene_drawing(study: Study, key: str) -> Drawing:
    """The figure of what a cell drew, from its samples."""
    from dse.analysis.sources import read_cell
    from dse.campaign.worker import RECORDS
    from dse.report.plots import Drawing, gene_figure

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


def _plain(value: Any) -> Any:
    """`value` with what JSON cannot say (infinities, NaN) as None, at any depth."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value
