"""`dse check-cost-model`: whether a cost model keeps the contract."""

from __future__ import annotations

from typing import Annotated

import typer

from dse.cli.commands.check import report_verdicts
from dse.cli.options import Json, complete_model


def command(
    name: Annotated[
        str,
        typer.Argument(
            help="A cost model (dse list cost-models), perhaps with settings.",
            metavar="MODEL",
            autocompletion=complete_model,
        ),
    ],
    mappings: Annotated[
        int | None,
        typer.Option(
            help="Mappings to try, of each kind and in each setting; fewer for a slow model.", metavar="N"
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Check that a cost model keeps the rules.

    It says what the model declares, and which rule it breaks where. The exit code is 1 if it breaks a
    rule.
    """
    from dse.core.cost_models import cost_model, declared_abilities
    from dse.support.validation import whole_number
    from dse.testing import check_cost_model_rules
    from dse.testing.cost_models.candidate import MAPPINGS

    count = MAPPINGS if mappings is None else whole_number(mappings, "--mappings", most=100_000)
    verdicts, declared = check_cost_model_rules(name, mappings=count), declared_abilities(cost_model(name))
    if not report_verdicts("cost_model", name, verdicts, json, declared):
        raise typer.Exit(1)
