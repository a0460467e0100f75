"""`dse check-cost-model`: whether a cost model keeps the contract."""

from __future__ import annotations

from typing import Annotated

import typer

from dse.cli.completion import complete_model
from dse.cli.options import Json
from dse.cli.verdict_view import report_verdicts


def command(
    name: Annotated[
        str,
        typer.Argument(
            help="A cost model (dse list cost-models).",
            metavar="MODEL",
            autocompletion=complete_model,
        ),
    ],
    json: Json = False,
) -> None:
    """Check that a cost model keeps the rules of the arena, and say where it does not.

    The exit code is 1 if it breaks one.
    """
    from dse.testing import check_cost_model_rules

    if not report_verdicts("cost_model", name, check_cost_model_rules(name), json):
        raise typer.Exit(1)
