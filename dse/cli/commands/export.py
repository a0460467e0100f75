"""`dse export`: a mapping in the files of another tool."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dse.cli import output
from dse.cli.exporting import FORMAT_HELP, check_format
from dse.cli.networks import note_merged
from dse.cli.options import (
    ACCELERATOR_OPTION,
    LAYER_OPTION,
    CostModelName,
    Json,
    chosen_model,
    complete_format,
)
from dse.support.errors import InputError

IOH = "ioh"


def command(
    mapping: Annotated[
        str,
        typer.Argument(
            help="A mapping's file, a search's folder, or a template; of ioh a campaign's folder.",
            metavar="MAPPING",
        ),
    ],
    format: Annotated[
        str, typer.Option(help=f"{FORMAT_HELP}; or ioh.", metavar="FORMAT", autocompletion=complete_format)
    ],
    out: Annotated[Path, typer.Option(help="The folder for the files.", metavar="DIR")],
    layer: Annotated[str | None, LAYER_OPTION] = None,
    accelerator: Annotated[str | None, ACCELERATOR_OPTION] = None,
    cost_model: CostModelName = None,
    json: Json = False,
) -> None:
    """Write a mapping for another tool.

    MAESTRO, Timeloop or ZigZag, JSON, or loops to be read. With --cost-model timeloop the accelerator is
    a machine of levels. With --format ioh, the runs of a campaign's folder in the files that IOHanalyzer
    reads.
    """
    if format == IOH:
        _export_runs(Path(mapping), out, json)
        return
    if layer is None or accelerator is None:
        raise InputError(
            f"missing option '--{'layer' if layer is None else 'accelerator'}'; see 'dse export --help'"
        )
    from dse.core.domains import domain_of, make_problem
    from workloads import load_layer

    model = chosen_model(cost_model, None)
    check_format(format)
    if format not in domain_of(model).formats:
        able = ", ".join(domain_of(model).formats)
        raise InputError(f"under cost model {model!r} there is no format {format}; expected {able}")
    problem = make_problem(load_layer(layer), accelerator, "edp", model)
    files, unsaid = problem.export(format, problem.find_mapping(mapping), out)
    note_merged(layer)
    for sentence in unsaid:
        typer.echo(sentence, err=True)
    if json:
        output.print_json({"format": format, "files": [str(file) for file in files], "unsaid": unsaid})
    else:
        for file in files:
            print(file)


def _export_runs(campaign: Path, out: Path, json: bool) -> None:
    """Write a campaign's runs for IOHanalyzer."""
    from dse.analysis.study import load_study
    from dse.report.ioh import export_study

    files = export_study(load_study(campaign), out)
    if json:
        output.print_json({"format": IOH, "files": [str(file) for file in files], "unsaid": []})
    else:
        print(f"{out}: {len(files)} files")
