"""`dse check`: whether a searcher keeps the contract."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dse.cli import output
from dse.cli.options import Json, Settings, complete_searcher
from dse.support.errors import shorten

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dse.testing import Verdict

STYLES = {True: "", False: "bold red", None: "dim"}


def command(
    name: Annotated[
        str,
        typer.Argument(
            help="A searcher (dse list searchers), or ./FILE.py:CLASS.",
            metavar="SEARCHER",
            autocompletion=complete_searcher,
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
    """Check that a searcher keeps the rules.

    It says what the searcher declares, and which rule it breaks where. Choose --samples so
    that even a slow searcher begins to learn within them. The exit code is 1 if it breaks a rule.
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


def report_verdicts(
    kind: str, name: str, verdicts: Iterator[Verdict], json: bool, declared: Mapping[str, Any]
) -> bool:
    """Print what the `kind` of that name declares, and the verdicts; return whether all rules are kept."""
    if not json:
        return _show(name, verdicts, declared)
    judged = list(verdicts)
    kept = all(verdict.passed for verdict in judged)
    rules = [asdict(verdict) for verdict in judged]
    output.print_json({kind: name, "passed": kept, "declares": dict(declared), "rules": rules})
    return kept


def _show(name: str, verdicts: Iterator[Verdict], declared: Mapping[str, Any]) -> bool:
    """Print each verdict as it is reached; return whether all rules are kept."""
    console = output.make_console()
    output.print_heading(console, f"{name}:")
    words = ", ".join(f"{ability} = {shorten(value)}" for ability, value in declared.items())
    console.print(f"      declares {words or 'nothing'}")
    judged = []
    for verdict in verdicts:
        console.print(f"{verdict.word:<4}  {verdict.sentence}", style=STYLES[verdict.passed])
        console.print(f"      {verdict.why}")
        judged.append(verdict)
    failed = sum(verdict.passed is False for verdict in judged)
    outcome = f"breaks {failed} of {len(judged)} rules" if failed else f"keeps all {len(judged)} rules"
    output.print_heading(console, f"{name} {outcome}")
    return not failed
