"""Writing and showing a campaign's report. The one module of this package that opens files."""

from __future__ import annotations

import csv
import io
import math
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dse.campaign.curves import CURVES, read_curves
from dse.errors import InputError, StorageError, shorten, told
from dse.objective import OBJECTIVES
from dse.report.reduction import (
    PAPER,
    REFERENCE,
    Layer,
    NamedTriple,
    Reduction,
    problem_of,
    reductions,
    template_rows,
)
from dse.report.regret import Regret, beaten, overall, regrets

if TYPE_CHECKING:
    from rich.console import Console

COLUMNS = tuple(item.name for item in fields(Reduction))
REGRET_COLUMNS = tuple(item.name for item in fields(Regret))
HEADS = ("searcher", "seeds", "median", "best", "median / {0}'s", "best / {0}'s", "paper")


Section = tuple[str, list[str], list[list[str]]]
"""A table's title, column heads and cells."""


@dataclass(frozen=True)
class Report:
    """A campaign's table and what it was made of: `cells` are done, `missing` are not, by searcher.

    `beaten` says which proofs of an optimum its records refute: none, or something is wrong.
    """

    rows: tuple[Reduction, ...]
    about: dict[str, Any]
    cells: int
    missing: dict[str, int]
    regrets: tuple[Regret, ...] = ()
    beaten: tuple[str, ...] = ()


def make_report(folder: Path) -> Report:
    """The report of the campaign in `folder`, from its `curves.parquet` alone."""
    path = folder / CURVES
    if not path.is_file():
        raise InputError(f"{str(folder)!r} holds no {CURVES}; name a folder in which `dse run` has ended")
    summaries, about = read_curves(path)
    try:
        problems = [(layer, accelerator, objective) for layer, accelerator, objective in about["problems"]]
        place = {name: place for place, name in enumerate(about["searchers"])}
        each = len(problems) * about["seeds"]
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{str(path)!r} does not say what its campaign was: {told(error)}") from None
    for summary in summaries:
        if problem_of(summary) not in problems or summary.searcher not in place:
            raise InputError(f"{str(path)!r} is damaged: its campaign has no cell {shorten(summary.key)}")
    rows = reductions(summaries, problems)
    rows.sort(key=lambda row: (row.network, row.objective, row.budget, place[row.searcher]))
    rows += template_rows(_template_points(about, problems), problems, rows)
    rows.sort(key=lambda row: (row.network, row.objective, row.budget))
    done = Counter(summary.searcher for summary in summaries)
    missing = {name: each - done[name] for name in place if done[name] < each}
    optima = about.get("optima", {})
    found = sorted(regrets(summaries, optima), key=lambda row: place[row.searcher])
    found.sort(key=lambda row: (row.layer, row.accelerator, row.objective, row.budget))
    refuted = tuple(beaten(summaries, optima))
    return Report(tuple(rows), about, len(summaries), missing, tuple(found), refuted)


def write_report(folder: Path) -> tuple[Report, Path]:
    """Make the report and write its `tables/` in the folder; returns it and the path of `reduction.md`."""
    report = make_report(folder)
    tables = folder / "tables"
    try:
        tables.mkdir(exist_ok=True)
        _write(tables / "reduction.csv", as_csv(COLUMNS, report.rows))
        _write(tables / "reduction.md", reduction_markdown(report))
        _write(tables / "regret.csv", as_csv(REGRET_COLUMNS, report.regrets))
    except OSError as error:
        raise StorageError(f"report in {str(folder)!r} cannot be written: {error.strerror}") from None
    return report, tables / "reduction.md"


def as_csv(columns: Sequence[str], rows: Sequence[Reduction] | Sequence[Regret]) -> str:
    """A table as CSV: figures with all their digits, empty where there is none."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        values = [getattr(row, name) for name in columns]
        writer.writerow(["" if isinstance(v, float) and math.isnan(v) else v for v in values])
    return out.getvalue()


def reduction_markdown(report: Report) -> str:
    """The table as Markdown: a section a network, objective and budget."""
    parts = [f"# Campaign {report.about['campaign']}\n\n{headline(report)}\n"]
    parts += [f"**{sentence}**\n" for sentence in report.beaten]
    for title, heads, cells in [*regret_section(report), *sections(report.rows)]:
        lines = [f"## {title}", "", _line(heads), _line(["---", *["---:"] * (len(heads) - 1)])]
        lines += [_line(row) for row in cells]
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def headline(report: Report) -> str:
    """What the tables are of, in a few sentences."""
    about = report.about
    seeds = "1 seed" if about["seeds"] == 1 else f"{about['seeds']} seeds"
    lacking = ", ".join(f"{count:,} of {name}" for name, count in report.missing.items())
    of = f"{report.cells:,} cells of {about['budget']:,} samples a layer, {seeds}"
    ratios = (
        f"Ratios are a searcher's figure divided by {REFERENCE}'s: above 1, {REFERENCE} is better."
        if REFERENCE in about["searchers"]
        else f"Without {REFERENCE} in the campaign there are no ratios."
    )
    return f"{of}, cost model {about['cost_model']}. {ratios}" + (
        f" Cells not done: {lacking}." if lacking else ""
    )


def print_report(console: Console, report: Report, path: Path) -> None:
    """Show the tables at the full budget."""
    from rich import box
    from rich.table import Table

    whole = max((row.budget for row in report.rows), default=0)
    console.print(headline(report), soft_wrap=True, markup=False)
    tables = sections([row for row in report.rows if row.budget == whole])
    for title, heads, cells in [*tables, *regret_section(report)]:
        console.print(title, style="bold", soft_wrap=True, markup=False)
        table = Table(box=box.SIMPLE_HEAD)
        for head in heads:
            table.add_column(head, justify="left" if head == heads[0] else "right")
        for row in cells:
            table.add_row(*row, style="bold" if row[0] == REFERENCE else None)
        console.print(table)
    for sentence in report.beaten:
        console.print(sentence, style="bold red", soft_wrap=True, markup=False)
    console.print(f"report: {path}", soft_wrap=True, markup=False)


def regret_section(report: Report) -> list[Section]:
    """How far searchers are from the proven optima at each budget, if any are known."""
    means = overall(report.regrets)
    if not means:
        return []
    problems = {(row.layer, row.accelerator, row.objective) for row in report.regrets}
    open_ones = {(row.layer, row.accelerator, row.objective) for row in report.regrets if not row.proven}
    over = "1 problem" if len(problems) == 1 else f"geometric mean over {len(problems)} problems"
    bound = f"; for {len(open_ones)} of them a lower bound stands in" if open_ones else ""
    budgets = sorted(next(iter(means.values())))
    cells = [
        [searcher, *(_over_optimum(by_budget[budget]) for budget in budgets)]
        for searcher, by_budget in means.items()
    ]
    order = report.about["searchers"]
    cells.sort(key=lambda row: order.index(row[0]))
    title = f"best loss after so many samples / proven optimum: median over seeds, {over}{bound}"
    return [(title, ["searcher", *(f"{budget:,}" for budget in budgets)], cells)]


def sections(rows: Sequence[Reduction]) -> list[Section]:
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


def _over_optimum(value: float) -> str:
    return f"{value:.3f}" if math.isfinite(value) else "infeasible"


def _ratio(value: float) -> str:
    return f"{value:.3g}" if math.isfinite(value) else "-"


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _template_points(
    about: dict[str, Any], problems: Sequence[NamedTriple]
) -> dict[str, dict[NamedTriple, Layer]]:
    found: dict[str, dict[NamedTriple, Layer]] = {}
    for template, figures in about.get("templates", {}).items():
        points = {problem: figures.get(_label(problem)) for problem in problems}
        found[f"{template} dataflow"] = {
            problem: Layer(**point) for problem, point in points.items() if point is not None
        }
    return found


def _label(problem: NamedTriple) -> str:
    """A problem's label in the campaign, as in `vgg16:conv1_2 on edge, edp`."""
    layer, accelerator, objective = problem
    return f"{layer} on {accelerator}, {objective}"


def _write(path: Path, text: str) -> None:
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        part.write_text(text, encoding="utf-8")
        part.replace(path)
    except OSError:
        part.unlink(missing_ok=True)
        raise
