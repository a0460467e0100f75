"""What commands and reports ask of networks: the workloads know it, and only the command line knows those."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import typer


def merged_layers(spec: str) -> dict[str, tuple[str, ...]]:
    """Of a network, or a layer's network, the layers that stand for others as well, with those.

    Of a single layer that is asked for by the name of another only that one: all else has its own name.
    """
    from workloads import find

    network, layer = find(spec)
    if layer is None:
        return network.merged
    others = network.merged.get(layer.name, ())
    return {layer.name: others} if spec.rpartition(":")[2] in others else {}


def note_merged(spec: str) -> None:
    """Say on stderr which layers are one, if any are, so that nobody looks for a name in vain."""
    text = merged_text(merged_layers(spec))
    if text:
        typer.echo(f"{spec}: {text}", err=True)


def merged_text(merged: Mapping[str, Sequence[str]]) -> str:
    """`equal layers are one, with the repeats of all: query is also key and value`; "" without any."""
    stand = [f"{name} is also {', '.join(others)}" for name, others in merged.items()]
    return f"equal layers are one, with the repeats of all: {'; '.join(stand)}" if stand else ""
