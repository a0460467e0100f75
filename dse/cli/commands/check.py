"""`dse check`: whether a searcher keeps the contract."""

from __future__ import annotations

from typing import Annotated

import typer

from dse.cli.completion import complete_searcher
from dse.cli.options import Json
from dse.cli.verdict_view import report_verdicts


def command(
    name: Annotated[
        str,
        typer.Argument(
            help="A searcher (dse list searchers).",
            metavar="SEARCHER",
            autocompletion=complete_searcher,
        ),
    ],
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", help="A setting, as in agents=9; repeatable.", metavar="NAME=VALUE"),
    ] = None,
    json: Json = False,
) -> None:
    """Check that a searcher keeps the rules of the arena, and say where it does not.

    The exit code is 1 if it breaks one.
    """
    from dse.search.searcher import make_searcher, parse_settings
    from dse.testing import check_rules

    verdicts = check_rules(make_searcher(name, parse_settings(settings or [])))
    if not report_verdicts("searcher", name, verdicts, json):
        raise typer.Exit(1)
