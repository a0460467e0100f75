"""`dse explain`: why a mapping, or every mapping, is not feasible, and what would have to change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from dse.cli import output
from dse.cli.networks import note_merged, problem_asked
from dse.cli.options import (
    AcceleratorName,
    ConstantsFile,
    CostModelName,
    Fix,
    Json,
    LayerName,
    Limit,
    chosen_model,
)
from dse.support.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console

    from dse.core.evaluation import Change, Explanation
    from dse.core.problem import AnyProblem

FACTORS = "factors"
PROOF_SECONDS = 10.0
SHOWN = 5


def command(
    layer: LayerName,
    accelerator: AcceleratorName,
    mapping: Annotated[
        str | None,
        typer.Option(
            help="One mapping: FILE.json, FILE.m, FILE.yaml or a template.", metavar="FILE|TEMPLATE"
        ),
    ] = None,
    tiles: Annotated[
        str | None,
        typer.Option(
            help="Tile sizes: factors (divisors only) or any. By default factors.",
            metavar="factors|any",
        ),
    ] = None,
    fix: Fix = None,
    limit: Limit = None,
    cost_model: CostModelName = None,
    constants: ConstantsFile = None,
    json: Json = False,
) -> None:
    """Say why a mapping, or every mapping of a layer, is not feasible, and the smallest change that helps.

    The change is one of the hardware (buffers, PEs) or of genes: those that --fix holds fast, or one of the
    mapping's own.
    """
    model = chosen_model(cost_model, constants)
    problem = problem_asked(layer, accelerator, "edp", model, tiles=tiles or FACTORS, fix=fix, limits=limit)
    explanation = problem.explanation(None if mapping is None else problem.find_mapping(mapping))
    proof = None if mapping or explanation.feasible else _proof(problem)
    note_merged(layer)
    if json:
        output.print_json({**explanation.to_dict(), "proof": proof})
    else:
        what = f"{mapping} mapping" if mapping else "mappings"
        _show(f"{what} of {layer} ({problem.layer}) on {accelerator}, cost model {model}", explanation, proof)
        if problem.naming and explanation.genes:
            print(problem.naming)


def _proof(problem: AnyProblem) -> str | None:
    """That no mapping is feasible, if that can be proven in a few seconds."""
    from dse.core.certificate import INFEASIBLE
    from dse.optimum import certify

    try:
        certificate = certify(problem, PROOF_SECONDS)
    except InputError:
        return None
    if certificate.status == INFEASIBLE:
        return f"proven: none of all {problem.space.mappings:,} mappings is feasible"
    return None


def _show(title: str, explanation: Explanation, proof: str | None) -> None:
    console = output.make_console()
    output.print_heading(console, title)
    style = "green" if explanation.feasible else "red"
    console.print(explanation.reason, style=style)
    if proof:
        console.print(proof)
    if explanation.tried > 1:
        for reason, count in explanation.refused.items():
            console.print(f"  {count:,} refused: {reason}")
    if explanation.feasible:
        return
    _show_changes(console, "hardware that would do", explanation.hardware)
    _show_changes(console, "genes that would do", explanation.genes)
    _show_changes(console, "limits that would do", explanation.limits)
    if not (explanation.hardware or explanation.genes or explanation.limits):
        console.print("no change of buffers, and none of one or two fixed genes, makes it feasible")


def _show_changes(console: Console, title: str, changes: tuple[Change, ...]) -> None:
    if changes:
        console.print(f"{title}, each by itself:", style="bold")
    for change in changes[:SHOWN]:
        console.print(f"  {change}")
    if len(changes) > SHOWN:
        console.print(f"  and {len(changes) - SHOWN} more; --json has them with their mappings")
