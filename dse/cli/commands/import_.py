"""`dse import`: a network file out of somebody's model."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dse.cli import output
from dse.cli.networks import merged_text
from dse.cli.options import Json
from dse.support.errors import InputError, shorten

if TYPE_CHECKING:
    from workloads import Network

Shape = tuple[tuple[int, ...], str]
INPUT = re.compile(
    r"(?:(?P<name>.+)=)?(?P<shape>(?:0|[1-9]\d{0,9})(?:x(?:0|[1-9]\d{0,9}))*)(?::(?P<kind>\w+))?", re.ASCII
)
MAX_SHOWN = 5


def command(
    model: Annotated[
        str,
        typer.Argument(
            help="FILE.onnx, FILE.yaml, or MODULE:FUNCTION that returns a torch module.",
            metavar="MODEL",
        ),
    ],
    out: Annotated[Path, typer.Option(help="The network file to write.", metavar="FILE.toml")],
    inputs: Annotated[
        list[str] | None,
        typer.Option(
            "--input",
            help="An input's shape, as 1x3x224x224 or ids=1x128:int64; repeatable.",
            metavar="SHAPE",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Write the layers of a model as a network's file.

    An ONNX file, or a torch module. Every operator that is no layer is listed in it. dse list layers
    FILE.toml shows what is there.
    """
    from dse.support.files import write_whole
    from dse.support.toml import is_toml
    from workloads.models.toml_file import network_toml

    if not is_toml(str(out)):
        raise InputError(f"--out must end in .toml, as network files do, got {str(out)!r}")
    network = _network(model, [_parsed(text) for text in inputs or []])
    write_whole(out, network_toml(network), "network file")
    if json:
        output.print_json(_about(network, out))
    else:
        _show(network, out)


def _network(model: str, inputs: list[tuple[str | None, Shape]]) -> Network:
    from dse.core.names import YAML_FILES, is_network_file

    if model.lower().endswith(YAML_FILES):
        from workloads import load

        if inputs:
            raise InputError("--input is of an ONNX file or a torch module; a YAML file says its sizes")
        return load(model)
    if is_network_file(model):
        from workloads import from_onnx

        if any(name is None or kind != FLOAT for name, (_, kind) in inputs):
            raise InputError("--input names an input of an ONNX file and its shape, as in x=1x3x224x224")
        return from_onnx(model, {name: shape for name, (shape, _) in inputs if name is not None})
    if ":" not in model:
        raise InputError(f"{model!r} is neither FILE.onnx nor MODULE:FACTORY")
    from workloads.models.torch_factory import from_factory

    return from_factory(
        model,
        [shape for name, shape in inputs if name is None],
        {name: shape for name, shape in inputs if name is not None},
    )


FLOAT = "float32"
"""What an input holds unless it says so."""


def _parsed(text: str) -> tuple[str | None, Shape]:
    """An input's name, if it has one, its shape and its type."""
    found = INPUT.fullmatch(text)
    if not found:
        raise InputError(f"--input must be a shape such as 1x3x224x224 or x=1x3x224x224, got {shorten(text)}")
    sizes = tuple(map(int, found["shape"].split("x")))
    return found["name"], (sizes, found["kind"] or FLOAT)


def _about(network: Network, out: Path) -> dict[str, object]:
    from dataclasses import asdict

    return {
        "network": network.name,
        "source": network.source,
        "out": str(out),
        "distinct_layers": len(network.layers),
        "layers": sum(layer.repeats for layer in network.layers),
        "macs": network.macs,
        "merged": network.merged,
        "left_out": [asdict(entry) for entry in network.left_out],
    }


def _show(network: Network, out: Path) -> None:
    console = output.make_console()
    runs = sum(layer.repeats for layer in network.layers)
    console.print(
        f"{out}: {len(network.layers)} distinct layers, {runs:,} with repeats, {network.macs:,} MACs"
    )
    if network.merged:
        console.print(merged_text(network.merged))
    heavy = [entry for entry in network.left_out if entry.macs != 0]
    for entry in heavy:
        macs = "MACs not known" if entry.macs is None else f"{entry.macs:,} MACs"
        console.print(f"left out: {entry.count} x {entry.operator}, {macs}: {entry.reason}", style="yellow")
    plain = [f"{entry.count} x {entry.operator}" for entry in network.left_out if entry.macs == 0]
    more = f" and {len(plain) - MAX_SHOWN} other kinds" if len(plain) > MAX_SHOWN else ""
    if plain:
        console.print(
            f"left out, without a MAC: {', '.join(plain[:MAX_SHOWN])}{more} (dse list layers {out})"
        )
