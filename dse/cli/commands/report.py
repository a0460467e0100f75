"""`dse report`: a campaign's tables, from its folder alone."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from dse.cli import output
from dse.cli.options import Json


def command(
    folder: Annotated[Path, typer.Argument(help="The folder that `dse run` wrote.", metavar="DIR")],
    json: Json = False,
) -> None:
    """Write a campaign's tables and print those at the full budget."""
    from dse.report.writing import print_report, write_report

    report, path = write_report(folder)
    if json:
        output.print_json(
            {
                "campaign": report.about["campaign"],
                "cells": report.cells,
                "missing": sum(report.missing.values()),
                "report": str(path),
                "reduction": [asdict(row) for row in report.rows],
                "regret": [asdict(row) for row in report.regrets],
                "beaten": list(report.beaten),
            }
        )
    else:
        print_report(output.make_console(), report, path)
