"""`dse check`: whether a searcher keeps the contract."""

from __future__ import annotations

from typing import Annotated

import typer

from dse.cli.completion import complete_searcher
from dse.cli.options import Json, Settings
from dse.cli.verdict_view import report_verdicts


def command(
    name: Annotated[
        str,
        typer.Argument(
            help="A searcher (dse list searchers).", metavar="SEARCHER", autocompletion=complete_searcher
        ),
    ],
    settings: Settings = None,
    samples: Annotated[
        int | None,
        typer.Option(
            help="The longest search: at least 100, by default 1,200; fewer for a slow searcher.", metavar="N"
        ),
    ] = None,
    time_limit: Annotated[
        float | None,
        typer.Option(help="How long a search may take, by default 300.", metavar="SECONDS", min=1),
    ] = None,
    json: Json = False,
) -> None:
    """Check that a searcher keeps the rules of the arena, and say where it does not.

    First it says what the searcher declares. A slow one has to begin to learn within --samples. The exit code
    is 1 if it breaks a rule.
    """
    from dse.search.abilities import abilities_of
    from dse.search.searcher import make_searcher, parse_settings
    from dse.testing.candidate import REFERENCE
    from dse.testing.suite import TIME_LIMIT, check_rules

    searcher = make_searcher(name, parse_settings(settings or []))
    verdicts = check_rules(
        searcher,
        time_limit=TIME_LIMIT if time_limit is None else time_limit,
        samples=REFERENCE if samples is None else samples,
    )
    if not report_verdicts("searcher", name, verdicts, json, abilities_of(searcher).declared):
        raise typer.Exit(1)
