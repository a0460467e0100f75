"""Writing and showing a campaign's report. The one module of this package that opens files."""

from __future__ import annotations

import csv
import io
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dse.campaign.curves import CURVES, read_curves
from dse.campaign.summary import Summary
from dse.errors import InputError
from dse.objective import OBJECTIVES
from dse.report.reduction import PAPER, REFERENCE, Layer, Reduction, network_names, reductions, template_rows

if TYPE_CHECKING:
    from rich.console import Console

COLUMNS = tuple(item.name for item in fields(Reduction))
HEADS = ("searcher", "seeds", "median", "best", "median / {0}'s", "best / {0}'s", "paper")


@dataclass(frozen=True)
class Report:
    """A campaign's table and what it was made from. `missing` counts the cells that are not done."""

    rows: tuple[Reduction, ...]
    about: dict[str, Any]
    cells: int
    missing: int


def make_report(folder: Path) -> Report:
    """The report of the campaign in `folder`, from its `curves.parquet` alone."""
    path = folder / CURVES
    if not path.is_file():
        raise InputError(f"{str(folder)!r} holds no {CURVES}; name the folder that `dse run` wrote")
    summaries, about = read_curves(path)
    expected = len(about["problems"]) * len(about["searchers"]) * about["seeds"]
    order = {name: place for place, name in enumerate(about["searchers"])}
    rows = reductions(summaries)
    rows.sort(key=lambda row: (row.network, row.objective, row.budget, order.get(row.searcher, 0)))
    rows += template_rows(_template_points(about), _groups(summaries), rows)
    rows.sort(key=lambda row: (row.network, row.objective, row.budget))
    return Report(tuple(rows), about, len(summaries), expected - len(summaries))


def write_report(folder: Path) -> tuple[Report, Path]:
    """Make the report, write `tables/reduction.csv` and `.md` in the folder; returns it and the `.md`."""
    report = make_report(folder)
    tables = folder / "tables"
    try:
        tables.mkdir(exist_ok=True)
        _write(tables / "reduction.csv", reduction_csv(report.rows))
        _write(tables / "reduction.md", reduction_markdown(report))
    except OSError as error:
        raise InputError(f"report in {str(folder)!r} cannot be written: {error.strerror}") from None
    return report, tables / "reduction.md"


def reduction_csv(rows: Sequence[Reduction]) -> str:
    """The table as CSV: figures with all their digits, empty where there is none."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in rows:
        values = [getattr(row, name) for name in COLUMNS]
        writer.writerow(["" if isinstance(v, float) and math.isnan(v) else v for v in values])
    return out.getvalue()


def reduction_markdown(report: Report) -> str:
    """The table as Markdown: a section a network, objective and budget."""
    parts = [f"# Campaign {report.about['campaign']}\n\n{headline(report)}\n"]
    for title, heads, cells in sections(report.rows):
        lines = [f"## {title}", "", _line(heads), _line(["---", *["---:"] * (len(heads) - 1)])]
        lines += [_line(row) for row in cells]
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def headline(report: Report) -> str:
    """What the tables are of, in one or two sentences."""
    about = report.about
    missing = f" {report.missing:,} of its cells are not done." if report.missing else ""
    return (
        f"{report.cells:,} cells of {about['budget']:,} samples a layer, {about['seeds']} seeds, cost model "
        f"{about['cost_model']}. Ratios are a searcher's figure divided by {REFERENCE}'s: above 1, "
        f"{REFERENCE} is better.{missing}"
    )


def print_report(console: Console, report: Report, path: Path) -> None:
    """Show the tables at the full budget."""
    from rich import box
    from rich.table import Table

    whole = max((row.budget for row in report.rows), default=0)
    console.print(headline(report), soft_wrap=True, markup=False)
    for title, heads, cells in sections([row for row in report.rows if row.budget == whole]):
        table = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)
        for head in heads:
            table.add_column(head, justify="left" if head == heads[0] else "right")
        for row in cells:
            table.add_row(*row, style="bold" if row[0] == REFERENCE else None)
        console.print(table)
    console.print(f"report: {path}", soft_wrap=True, markup=False)


def sections(rows: Sequence[Reduction]) -> list[tuple[str, list[str], list[list[str]]]]:
    """Title, column heads and cells of each network, objective and budget."""
    groups = dict.fromkeys((row.network, row.objective, row.budget) for row in rows)
    found = []
    for network, objective, budget in groups:
        members = [r for r in rows if (r.network, r.objective, r.budget) == (network, objective, budget)]
        paper = PAPER.get((network, objective), {})
        heads = [head.format(REFERENCE) for head in HEADS]
        cells = [_cells(row, paper) for row in members]
        if not paper:
            heads, cells = heads[:-1], [row[:-1] for row in cells]
        unit = OBJECTIVES[objective].unit
        title = f"{network}: {objective}{f' ({unit})' if unit else ''} after {budget:,} samples a layer"
        found.append((title, heads, cells))
    return found


def _cells(row: Reduction, paper: Any) -> list[str]:
    published = paper.get(row.searcher)
    return [
        row.searcher,
        str(row.seeds) if row.seeds else "-",
        _figure(row.median),
        _figure(row.best),
        _ratio(row.ratio_median),
        _ratio(row.ratio_best),
        _ratio(published) if published else "-",
    ]


def _figure(value: float) -> str:
    return f"{value:.4g}" if math.isfinite(value) else "infeasible"


def _ratio(value: float) -> str:
    return f"{value:.3g}" if math.isfinite(value) else "-"


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _template_points(about: dict[str, Any]) -> dict[str, dict[str, Layer]]:
    points = about.get("templates", {})
    return {
        f"{template} dataflow": {label: Layer(**figures) for label, figures in by_label.items()}
        for template, by_label in points.items()
    }


def _groups(summaries: Sequence[Summary]) -> dict[str, tuple[str, str]]:
    names = network_names(summaries)
    return {
        label(s.layer, s.accelerator, s.objective): (names[s.network, s.accelerator], s.objective)
        for s in summaries
    }


def label(layer: str, accelerator: str, objective: str) -> str:
    """A problem's label, as in `vgg16:conv1_2 on edge, edp`."""
    return f"{layer} on {accelerator}, {objective}"


def _write(path: Path, text: str) -> None:
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        part.write_text(text, encoding="utf-8")
        part.replace(path)
    except OSError:
        part.unlink(missing_ok=True)
        raise
