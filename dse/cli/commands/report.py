"""`dse report`: a campaign's report, from its folder alone."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from dse.cli import output
from dse.cli.options import Json, complete_model


def command(
    folder: Annotated[Path, typer.Argument(help="The folder that `dse run` wrote.", metavar="DIR")],
    run: Annotated[
        str | None,
        typer.Option(help="Draw the genes of this finished cell too: a name in cells/.", metavar="CELL"),
    ] = None,
    table: Annotated[
        list[str] | None,
        typer.Option(
            help="Print this table and write nothing: versus, targets, layers, ...", metavar="TABLE"
        ),
    ] = None,
    reprice: Annotated[
        list[str] | None,
        typer.Option(
            help="Price the winners by this cost model too; repeatable.",
            metavar="MODEL",
            autocompletion=complete_model,
        ),
    ] = None,
    tables_only: Annotated[
        bool, typer.Option("--tables-only", help="Write the tables alone: no figures, no page.")
    ] = False,
    latex: Annotated[
        bool, typer.Option("--latex", help="Write the tables as LaTeX and the figures as PDF too.")
    ] = False,
    json: Json = False,
) -> None:
    """Write a campaign's report, finished or not.

    Writes page, figures and tables, and prints the result. With --table it prints those tables and writes
    nothing, unless --run, --tables-only, --latex or --json is given too.
    """
    from dse.cli.waiting_view import tell_of_steps
    from dse.report.printing import print_report
    from dse.report.summary import study_regrets
    from dse.report.tables import NAMES
    from dse.report.writing import make_report, write_report
    from dse.support.errors import InputError, unknown_name

    for name in table or ():
        if name not in NAMES:
            raise unknown_name("table", name, NAMES, "--table")

    if run is not None and tables_only:
        raise InputError("--run draws a figure, which --tables-only leaves out; give one of the two")
    if table and not (run or tables_only or latex or json):
        with tell_of_steps() as tell:
            report = make_report(folder, reprice or (), tell)
        print_report(output.make_console(), report, names=table)
        return
    with tell_of_steps() as tell:
        report, path = write_report(
            folder, run=run, pictures=not tables_only, latex=latex, reprice_by=reprice or (), tell=tell
        )
    if json:
        output.print_json(
            {
                "campaign": report.about["campaign"],
                "cells": report.cells,
                "missing": sum(report.missing.values()),
                "report": str(path),
                "headline": report.conclusions.headline,
                "warnings": list(report.conclusions.warnings),
                "reduction": [asdict(row) for row in report.rows],
                "regret": study_regrets(report.findings),
                "beaten": list(report.beaten),
            }
        )
    else:
        print_report(output.make_console(), report, path, table or ())
