"""`dse check`: whether a searcher keeps the contract."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from dse.cli import output
from dse.cli.options import Json

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dse.testing import Verdict


def command(
    name: Annotated[str, typer.Argument(help="A searcher (dse list searchers).", metavar="SEARCHER")],
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
    if json:
        judged = list(verdicts)
        kept = all(verdict.passed for verdict in judged)
        rules = [asdict(verdict) for verdict in judged]
        output.print_json({"searcher": name, "passed": kept, "rules": rules})
    else:
        kept = _show(name, verdicts)
    if not kept:
        raise typer.Exit(1)


def _show(name: str, verdicts: Iterator[Verdict]) -> bool:
    """Print each verdict as it is reached; return whether all rules are kept."""
    console = output.make_console()
    output.print_heading(console, f"{name}:")
    judged = []
    for verdict in verdicts:
        console.print(f"{verdict.word:<4}  {verdict.sentence}", style=STYLES[verdict.passed], soft_wrap=True)
        console.print(f"      {verdict.why}", soft_wrap=True)
        judged.append(verdict)
    failed = sum(verdict.passed is False for verdict in judged)
    outcome = f"breaks {failed} of {len(judged)} rules" if failed else f"keeps all {len(judged)} rules"
    output.print_heading(console, f"{name} {outcome}")
    return not failed


STYLES = {True: "", False: "bold red", None: "dim"}
