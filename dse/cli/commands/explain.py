"""`dse explain`: why a mapping, or every mapping, is not feasible, and what would have to change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from dse.cli import output
from dse.cli.networks import ProblemOptions, note_merged, problem_asked
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
from dse.cli.waiting_view import tell_of_steps
from dse.support.errors import InputError
from dse.support.quantities import quantity_in_words

if TYPE_CHECKING:
    from rich.console import Console

    from dse.core.certificate import Certificate
    from dse.core.evaluation import Change, Explanation
    from dse.core.problem import AnyProblem
    from dse.optimum.what_if import WhatIf

SAID = 3
"""Resources that the last line names."""
FACTORS = "factors"
PROOF_SECONDS = 10.0
SHOWN = 5


def command(
    layer: LayerName,
    accelerator: AcceleratorName,
    mapping: Annotated[
        str | None,
        typer.Option(
            help="One mapping: FILE.json, FILE.m, FILE.yaml, a search's folder or a template.",
            metavar="FILE|TEMPLATE",
        ),
    ] = None,
    what_if: Annotated[
        bool,
        typer.Option(
            "--what-if",
            help="What limits the layer: its optimum again with twice of each resource.",
        ),
    ] = False,
    objective: Annotated[
        str | None,
        typer.Option(help="With --what-if: what is minimised. By default latency.", metavar="OBJECTIVE"),
    ] = None,
    time_limit: Annotated[
        float | None,
        typer.Option(
            help="With --what-if: seconds for each proof. By default 60 over tiles of any size.", metavar="S"
        ),
    ] = None,
    tiles: Annotated[
        str | None,
        typer.Option(
            help="Tile sizes: factors (divisors only) or any; with --what-if any is the default.",
            metavar="factors|any",
        ),
    ] = None,
    fix: Fix = None,
    limit: Limit = None,
    cost_model: CostModelName = None,
    constants: ConstantsFile = None,
    json: Json = False,
) -> None:
    """Say why nothing fits, or what limits a layer.

    With the smallest change that helps. The change is one of the hardware (buffers, PEs) or of genes:
    those that --fix holds fast, or one of the mapping's own. With --what-if: what limits a layer that has
    feasible mappings.
    """
    model = chosen_model(cost_model, constants)
    options = ProblemOptions(tiles or FACTORS, fix=fix, limits=limit)
    if what_if:
        if mapping is not None:
            raise InputError("--what-if is of the best of all mappings: leave --mapping out")
        given = objective or "latency"
        problem = problem_asked(layer, accelerator, given, model, options)
        note_merged(layer)
        explain_what_if(problem, layer, accelerator, tiles=tiles, time_limit=time_limit, json=json)
        return
    if objective is not None or time_limit is not None:
        raise InputError("--objective and --time-limit are of --what-if: add it, or leave them out")
    problem = problem_asked(layer, accelerator, "edp", model, options)
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
        if explanation.tried > 1:
            console.print("nothing has to change; --what-if says what limits the best of them")
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


def explain_what_if(
    problem: AnyProblem,
    layer: str,
    accelerator: str,
    *,
    tiles: str | None,
    time_limit: float | None,
    json: bool,
) -> None:
    """Prove the optimum as the machine is and with twice of each resource, and print what that brings.

    InputError where no mapping is feasible: then `dse explain` without `--what-if` says what would help.
    """
    from dse.core.objective import names_several
    from dse.optimum.default import certify
    from dse.optimum.what_if import what_if

    if names_several(problem.objective):
        raise InputError("--what-if is of one objective, as in latency or edp")
    with tell_of_steps() as tell:
        tell(f"{layer}: as the machine is")
        base = certify(problem, time_limit, tiles=tiles, more_nests=False)
        if base.best is None:
            raise InputError(
                f"{layer} has no mapping that is feasible; dse explain without --what-if says why"
            )
        found = []
        for one in what_if(problem, base, time_limit):
            found.append(one)
            tell(f"{layer}: {len(found)} resources are proven, the last {one.name}")
    found.sort(key=lambda one: -one.gain[0] if one.gain else 0.0)
    if json:
        given = base.to_dict(problem.with_changes(tiles=base.tiles), layer, accelerator)
        output.print_json({**given, "what_if": [one.to_dict() for one in found]})
    else:
        _show_what_if(problem, layer, accelerator, base, found)


def _show_what_if(
    problem: AnyProblem, layer: str, accelerator: str, base: Certificate, found: list[WhatIf]
) -> None:
    from dse.cli.best_view import DIGITS
    from dse.core.chains import TILES_IN_WORDS
    from dse.core.cost_models import unit_of
    from dse.optimum.what_if import GAINS

    assert base.best is not None
    unit = unit_of(problem.objective, problem.model.name)
    console = output.make_console()
    where = f"{problem.accelerator.called(accelerator)}, cost model {problem.model_spec}"
    output.print_heading(console, f"{layer} ({problem.layer}), {where}: what limits it")
    claim = f"{base.status} {problem.objective} {quantity_in_words(base.best.loss, unit, DIGITS)}"
    console.print(f"{claim} as the machine is, over {TILES_IN_WORDS[base.tiles]}")
    heads = ("resource", "now", "then", problem.objective, "better by")
    rows = [
        (
            one.name,
            _values(one.own),
            _values(one.then),
            quantity_in_words(one.certificate.best.loss, unit, DIGITS)
            if one.certificate and one.certificate.best
            else "",
            _gain(one),
        )
        for one in found
    ]
    output.print_table(console, "the optimum with one resource changed", heads, rows, figures=heads[1:])
    for one in found:
        if one.refused:
            console.print(f"{one.name}: {one.refused}")
    limits = [f"{one.name} ({_gain(one)})" for one in found if one.limits]
    if limits:
        console.print(f"limited by {', then '.join(limits[:SAID])}")
    elif any(one.gain and one.gain[1] >= GAINS for one in found):
        console.print("not known: no proof of a change came far enough; --time-limit gives more")
    else:
        console.print("no resource limits it by itself: none brings 1 % alone")


def _values(values: tuple[float, ...]) -> str:
    return ", ".join(f"{value:,.7g}" for value in dict.fromkeys(values))


def _gain(one: WhatIf) -> str:
    if one.gain is None:
        return "refused" if one.refused else "nothing feasible"
    least, most = (f"{value:.3f}" for value in one.gain)
    return f"{least} x" if least == most else f"{least} to {most} x"
