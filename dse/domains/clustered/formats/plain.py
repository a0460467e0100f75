"""`mapping.json`: a mapping as this framework writes it."""

from __future__ import annotations

from dse.core.layer import Layer
from dse.domains.clustered.accelerator import Accelerator
from dse.domains.clustered.mapping import Mapping


def write(layer: Layer, accelerator: Accelerator, mapping: Mapping) -> dict[str, str]:
    """The mapping alone."""
    return {"mapping.json": mapping.to_json(indent=2) + "\n"}


def read(text: str, where: str, layer: Layer, accelerator: Accelerator) -> Mapping:
    """The mapping in a JSON text."""
    return Mapping.from_json(text, where)
