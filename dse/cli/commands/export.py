"""`dse export`: a mapping in the files of another tool."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from dse.cli import output
from dse.cli.completion import complete_format
from dse.cli.exporting import FORMAT_HELP
from dse.cli.networks import note_merged
from dse.cli.options import AcceleratorName, CostModelName, Json, LayerName, chosen_model


def command(
    mapping: Annotated[
        str,
        typer.Argument(help="A mapping in FILE.json, FILE.m or FILE.yaml, or a template.", metavar="MAPPING"),
    ],
    layer: LayerName,
    accelerator: AcceleratorName,
    format: Annotated[
        str,
        typer.Option(help=f"{FORMAT_HELP}.", metavar="FORMAT", autocompletion=complete_format),
    ],
    out: Annotated[Path, typer.Option(help="The folder for the files.", metavar="DIR")],
    cost_model: CostModelName = None,
    json: Json = False,
) -> None:
    """Write a mapping of a layer on an accelerator for MAESTRO, Timeloop or ZigZag, as JSON or as loops.

    With --cost-model timeloop the accelerator is a machine of levels.
    """
    from dse.core.cost_models import is_hierarchical
    from dse.domains.clustered.formats.registry import named

    kind, model = named(format), chosen_model(cost_model, None)
    write = _export_levels if is_hierarchical(model) else _export
    files, unsaid = write(mapping, layer, accelerator, model, kind.name, out)
    note_merged(layer)
    for sentence in unsaid:
        typer.echo(sentence, err=True)
    if json:
        output.print_json({"format": kind.name, "files": [str(file) for file in files], "unsaid": unsaid})
    else:
        for file in files:
            print(file)


Written = tuple[list[Path], list[str]]
"""The files, and in sentences what the format has no words for."""


def _export(mapping: str, layer: str, accelerator: str, model: str, name: str, out: Path) -> Written:
    from dse.cli.exporting import find_mapping
    from dse.domains.clustered.accelerator import load_accelerator
    from dse.domains.clustered.formats import export
    from workloads import load_layer

    found, machine = load_layer(layer), load_accelerator(accelerator)
    return export(name, found, machine, find_mapping(mapping, found, machine, model), out), []


def _export_levels(mapping: str, layer: str, accelerator: str, model: str, name: str, out: Path) -> Written:
    from dse.cli.machine_view import read_mapping_file
    from dse.domains.levels.formats import export_levels
    from dse.domains.making import make_problem
    from workloads import load_layer

    problem: Any = make_problem(load_layer(layer), accelerator, "edp", model)
    return export_levels(name, problem, read_mapping_file(mapping, problem), out)
