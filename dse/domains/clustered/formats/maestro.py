"""`mapping.m`: MAESTRO's dataflow text, of the lowered layer (see `models.maestro.dataflow_text`)."""

from __future__ import annotations

from dataclasses import replace

from dse.core.layer import Layer
from dse.core.widths import NO_WIDTHS
from dse.domains.clustered.accelerator import Accelerator
from dse.domains.clustered.formats.dataflow_text import maestro_text, read_maestro_text
from dse.domains.clustered.mapping import Mapping
from dse.support.errors import InputError


def write(layer: Layer, accelerator: Accelerator, mapping: Mapping) -> dict[str, str]:
    """The layer and the mapping; of the accelerator it says nothing."""
    return {"mapping.m": maestro_text(layer, mapping)}


def read(text: str, where: str, layer: Layer, accelerator: Accelerator) -> Mapping:
    """The mapping in a dataflow text of this layer, as it is or lowered; of widths the text says nothing."""
    found, mapping = read_maestro_text(text, where)
    written = replace(layer, bits=NO_WIDTHS)
    if found not in (written, written.lowered()):
        raise InputError(f"{where} is of {found}; expected {written}, or that lowered, {written.lowered()}")
    return mapping
