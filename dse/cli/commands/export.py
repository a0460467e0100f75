"""`dse export`: a mapping in the files of another tool."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dse.cli import output
from dse.cli.completion import complete_format
from dse.cli.exporting import FORMAT_HELP
from dse.cli.options import AcceleratorName, Json, LayerName


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
    json: Json = False,
) -> None:
    """Write a mapping of a layer on an accelerator for MAESTRO, Timeloop or ZigZag, as JSON or as loops."""
    from dse.cli.exporting import find_mapping
    from dse.cost import DEFAULT_COST_MODEL
    from dse.formats import export
    from dse.formats.registry import named
    from dse.spec.accelerator import load_accelerator
    from workloads import load_layer

    found, machine, kind = load_layer(layer), load_accelerator(accelerator), named(format)
    files = export(kind.name, found, machine, find_mapping(mapping, found, machine, DEFAULT_COST_MODEL), out)
    if json:
        output.print_json({"format": kind.name, "files": [str(file) for file in files]})
    else:
        for file in files:
            print(file)
