"""A mapping in the words of others: MAESTRO's dataflow text, Timeloop's and ZigZag's YAML, our JSON, a nest.

One file a format, which says what its files are; here they are by name. Imports what is below `problem`.
"""

from __future__ import annotations

import os.path
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from dse.core.cost_models import DEFAULT_COST_MODEL, cost_model
from dse.core.layer import Layer
from dse.domains.clustered.accelerator import Accelerator
from dse.domains.clustered.cost_model import CostModel
from dse.domains.clustered.mapping import Mapping as DataflowMapping
from dse.domains.clustered.nest import loop_nest
from dse.support.errors import InputError, unknown_name
from dse.support.files import file_within, make_folder, read_text, write_whole

Write = Callable[[Layer, Accelerator, DataflowMapping], Mapping[str, str]]
"""The texts of files, by their names. InputError for what the format cannot say."""
Read = Callable[[str, str, Layer, Accelerator], DataflowMapping]
"""The mapping in a text, which stands at a place for messages; InputError where it says none."""


@dataclass(frozen=True)
class Format:
    """How mappings are written, and read back from files that end in `suffix`, if they are."""

    name: str
    meaning: str
    write: Write
    read: Read | None = None
    suffix: str = ""


def _as_json(layer: Layer, accelerator: Accelerator, mapping: DataflowMapping) -> dict[str, str]:
    return {"mapping.json": mapping.to_json(indent=2) + "\n"}


def _from_json(text: str, where: str, layer: Layer, accelerator: Accelerator) -> DataflowMapping:
    return DataflowMapping.from_json(text, where)


def _as_nest(layer: Layer, accelerator: Accelerator, mapping: DataflowMapping) -> dict[str, str]:
    """The loops, with what the buffers hold under the default cost model."""
    model = cost_model(DEFAULT_COST_MODEL)
    assert isinstance(model, CostModel)
    return {"mapping.txt": loop_nest(layer, mapping, accelerator, model)}


def _of(module: str) -> tuple[Write, Read]:
    """What a module here writes and reads, which is loaded when it is used."""

    def loaded() -> Any:
        return import_module(f"dse.domains.clustered.formats.{module}")

    return lambda *given: loaded().write(*given), lambda *given: loaded().read(*given)


FORMATS = {
    entry.name: entry
    for entry in (
        Format("json", "this framework's own", _as_json, _from_json, ".json"),
        Format("maestro", "MAESTRO's dataflow text", *_of("dataflow_text"), ".m"),
        Format("nest", "the loops, to be read", _as_nest),
        Format("timeloop", "Timeloop v4: architecture, problem, mapping", *_of("timeloop"), ".yaml"),
        Format("zigzag", "ZigZag: accelerator, workload, mapping", _of("zigzag")[0]),
    )
}
SUFFIXES = {entry.suffix: entry for entry in FORMATS.values() if entry.suffix} | {".yml": FORMATS["timeloop"]}
"""By what files end in, the format that they are read as."""


ONE_WIDTH = ONE_MAC = ("timeloop", "zigzag")
"""Formats whose files, as they are written here, say of elements what they take, and have PEs of one MAC."""


def named(name: str) -> Format:
    """The format of that name; InputError if there is none."""
    if name not in FORMATS:
        raise unknown_name("format", name, FORMATS)
    return FORMATS[name]


def refuse_format(name: str, accelerator: Accelerator) -> None:
    """InputError for what the format can say of no mapping onto the accelerator."""
    if name in ONE_WIDTH and accelerator.tensor_bits is not None:
        raise InputError(
            f"format {name}, as it is written here, has words of one width, not {accelerator.bits} bits"
        )
    if name in ONE_MAC and accelerator.simd_lanes != 1:
        raise InputError(f"format {name}: a PE has one MAC there, got simd_lanes = {accelerator.simd_lanes}")


def export_mapping(
    name: str, layer: Layer, accelerator: Accelerator, mapping: DataflowMapping, folder: Path
) -> list[Path]:
    """Write a mapping's files into the folder: their paths. InputError for what the format cannot say."""
    refuse_format(name, accelerator)
    texts = named(name).write(layer, accelerator, mapping)
    make_folder(folder)
    for file, text in texts.items():
        write_whole(folder / file, text, f"{name} file")
    return [folder / file for file in texts]


def mapping_in_file(
    name: str, layer: Layer, accelerator: Accelerator, templates: Iterable[str]
) -> DataflowMapping:
    """The mapping in the file of that name; InputError for no name of one, nor of a template.

    A name is that of a file by its end, or because it is there.
    """
    if Path(name).suffix not in SUFFIXES and not os.path.exists(name):
        raise unknown_name("mapping", name, templates, "the templates (or name a .json, .m or .yaml file)")
    return read_mapping(name, layer, accelerator)


def read_mapping(path: str, layer: Layer, accelerator: Accelerator) -> DataflowMapping:
    """The mapping in a file, read by what its name ends in; its sizes are the layer's and accelerator's."""
    path = file_within(path, "mapping.json")
    where = f"mapping file {path!r}"
    text = read_text(path, where)
    kind = SUFFIXES.get(Path(path).suffix.lower(), FORMATS["json"])
    assert kind.read is not None
    mapping = kind.read(text, where, layer, accelerator)
    mapping.check_ranges(layer, accelerator, where)
    return mapping
