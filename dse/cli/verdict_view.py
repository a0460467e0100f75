"""What a contract suite says of a searcher or a cost model, as JSON or for people."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from dse.cli import output
from dse.support.errors import shorten

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dse.testing import Verdict


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


STYLES = {True: "", False: "bold red", None: "dim"}
