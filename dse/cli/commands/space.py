"""`dse space`: the genes of a mapping space and how large it is."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from dse.cli import output
from dse.cli.networks import ProblemOptions, note_merged, problem_asked
from dse.cli.options import (
    ACCELERATOR_OPTION,
    LAYER_OPTION,
    CostModelName,
    Fix,
    Hardware,
    Json,
    SpaceName,
    Tiles,
    chosen_model,
)
from dse.support.errors import InputError

if TYPE_CHECKING:
    from dse.core.problem import DesignSpace


ESTIMATES = {"eq1": "Equation 1"}
"""Estimates of a space's size, as they are called."""


def command(
    layer: Annotated[str | None, LAYER_OPTION] = None,
    accelerator: Annotated[str | None, ACCELERATOR_OPTION] = None,
    tiles: Tiles = "factors",
    space: SpaceName = "default",
    hardware: Hardware = None,
    fix: Fix = None,
    cost_model: CostModelName = None,
    equation1: Annotated[
        bool, typer.Option(help="Instead published sizes (Table II), with Equation 1's parts.")
    ] = False,
    json: Json = False,
) -> None:
    """Show the genes and the size of a mapping space."""
    if equation1:
        _show_table2(json)
        return
    if layer is None or accelerator is None:
        missing = "--layer" if layer is None else "--accelerator"
        raise InputError(f"missing option '{missing}'; see 'dse space --help'")
    model = chosen_model(cost_model, None)
    problem = problem_asked(layer, accelerator, "edp", model, ProblemOptions(tiles, space, hardware, fix))
    made = problem.space
    note_merged(layer)
    if json:
        sizes = {"vectors": made.vectors, "mappings": made.mappings}
        output.print_json({"genes": [asdict(gene) for gene in made.genes], **sizes, **made.estimates})
    else:
        named = "" if space == "default" else f" space {space},"
        _show(made, f"{layer} ({problem.layer}) on {accelerator},{named} tiles {tiles}")
        if problem.naming:
            print(problem.naming)


def _show_table2(json: bool) -> None:
    from dse.core.equation1 import table2

    rows = table2()
    if json:
        output.print_json(rows)
        return
    cells = [tuple(_count(x) if isinstance(x, int) else x for x in row.values()) for row in rows]
    title = "Equation 1, (10^d d! d! / (d - 3)!)^levels, of layers with d dims"
    output.print_table(output.make_console(), title, tuple(rows[0]), cells)


def _show(space: DesignSpace, title: str) -> None:
    console = output.make_console()
    rows = [(gene.name, gene.kind, gene.size, _fixed_at(space, gene.name)) for gene in space.genes]
    heads = ("gene", "kind", "values", "fixed at" if space.fixed else "")
    output.print_table(console, f"Mapping space of {title}", heads, rows)
    sizes = [("gene vectors", space.vectors, ""), ("distinct mappings", space.mappings, "")]
    remark = "(an estimate, not this space's size)"
    sizes += ((ESTIMATES.get(name, name), size, remark) for name, size in space.estimates.items())
    for name, size, remark in sizes:
        console.print(f"{name:<18} {_count(size)} {remark}".rstrip())


def _fixed_at(space: DesignSpace, name: str) -> str:
    value = space.fixed.get(name, "")
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


def _count(number: int) -> str:
    return f"{number:,}" if number < 10**15 else f"{number:.3e}"
