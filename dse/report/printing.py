"""A report on a terminal: the headline, its tables and what to read with care."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from dse.report.formats import Section, holds_sentences
from dse.report.tables.repriced import repriced_finding
from dse.report.writing import Report, table_of, tables_scope

if TYPE_CHECKING:
    from rich.console import Console

SHOWN = ("reduction", "ledger", "standing")
"""The tables that the terminal shows unasked, at the full budget."""


def print_report(
    console: Console, report: Report, path: Path | None = None, names: Sequence[str] = ()
) -> None:
    """Show the headline, tables and warnings: the tables of `names` in full, or SHOWN in brief.

    `path` is what to open of the report that was written, None if none was.
    """
    console.print(report.conclusions.headline, style="bold", soft_wrap=True, markup=False)
    console.print(tables_scope(report), soft_wrap=True, markup=False)
    for found in report.repriced:
        console.print(repriced_finding(found), soft_wrap=True, markup=False)
    for name in names or SHOWN:
        table = table_of(report, name)
        console.print(table.question, style="bold underline", soft_wrap=True, markup=False)
        for section in table.sections if names else table.brief:
            _print_section(console, section, report.study.reference)
    for sentence in report.conclusions.warnings:
        style = "bold red" if sentence in report.beaten else "yellow"
        console.print(f"note: {sentence}", style=style, soft_wrap=True, markup=False)
    if path is None:
        return
    tables = report.study.folder / "tables"
    console.print(
        f"LaTeX: {tables}/*.tex" if any(tables.glob("*.tex")) else "--latex writes the tables as LaTeX too",
        soft_wrap=True,
        markup=False,
    )
    console.print(f"report: {path}", soft_wrap=True, markup=False)


def _print_section(console: Console, section: Section, reference: str) -> None:
    from rich import box
    from rich.table import Table as RichTable

    title, heads, cells, note = section
    console.print(title, style="bold", soft_wrap=True, markup=False)
    if note:
        console.print(note, style="dim", soft_wrap=True, markup=False)
    table = RichTable(box=box.SIMPLE_HEAD)
    for place, head in enumerate(heads):
        column = [row[place] for row in cells]
        justify: Literal["left", "right"] = "left" if place == 0 or holds_sentences(column) else "right"
        # Sentences may break, figures and names not.
        whole = None if holds_sentences(column) else max(map(len, [head, *column]))
        table.add_column(head, justify=justify, min_width=whole)
    for row in cells:
        table.add_row(*row, style="bold" if row[0] == reference else None)
    # Where the console is narrower than the figures, the terminal breaks lines, not the figures.
    least = console.measure(table, options=console.options.update(width=1000)).minimum
    console.width = max(console.width, least)
    console.print(table)
