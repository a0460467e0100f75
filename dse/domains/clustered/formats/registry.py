"""The formats by name: what each writes of a mapping, and what is read back."""

from __future__ import annotations

import os.path
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from dse.core.layer import Layer
from dse.domains.clustered.accelerator import Accelerator
from dse.domains.clustered.mapping import Mapping as DataflowMapping
from dse.support.errors import InputError, unknown
from dse.support.files import make_folder, read_text, write_whole

Write = Callable[[Layer, Accelerator, DataflowMapping], Mapping[str, str]]
"""The texts of files, by their names. InputError for what the format cannot say."""
Read = Callable[[str, str, Layer, Accelerator], DataflowMapping]
"""The mapping in a text, which stands at a place for messages; InputError where it says none."""


@dataclass(frozen=True)
class Format:
    """`module` has `write(layer, accelerator, mapping)`, and `read(text, where, layer, accelerator)` if
    files that end in `suffix` are read back.
    """

    name: str
    module: str
    meaning: str
    suffix: str = ""

    @property
    def write(self) -> Write:
        """How the format writes a mapping."""
        write: Write = import_module(self.module).write
        return write

    @property
    def read(self) -> Read:
        """How the format reads a mapping."""
        read: Read = import_module(self.module).read
        return read


FORMATS = {
    entry.name: entry
    for entry in (
        Format("json", "dse.domains.clustered.formats.plain", "this framework's own", ".json"),
        Format("maestro", "dse.domains.clustered.formats.maestro", "MAESTRO's dataflow text", ".m"),
        Format("nest", "dse.domains.clustered.formats.nest", "the loops, to be read"),
        Format(
            "timeloop",
            "dse.domains.clustered.formats.timeloop",
            "Timeloop v4: architecture, problem, mapping",
            ".yaml",
        ),
        Format("zigzag", "dse.domains.clustered.formats.zigzag", "ZigZag: accelerator, workload, mapping"),
    )
}
SUFFIXES = {entry.suffix: entry for entry in FORMATS.values() if entry.suffix} | {".yml": FORMATS["timeloop"]}
"""By what files end in, the format that they are read as."""


ONE_WIDTH = ("timeloop", "zigzag")
"""Formats whose files, as they are written here, say of elements what they take."""


def named(name: str) -> Format:
    """The format of that name; InputError if there is none."""
    if name not in FORMATS:
        raise unknown("format", name, FORMATS)
    return FORMATS[name]


def export(
    name: str, layer: Layer, accelerator: Accelerator, mapping: DataflowMapping, folder: Path
) -> list[Path]:
    """Write a mapping's files into the folder: their paths. InputError for what the format cannot say."""
    if accelerator.tensor_bits is not None and name in ONE_WIDTH:
        raise InputError(
            f"format {name}, as it is written here, has words of one width, not {accelerator.bits} bits"
        )
    texts = named(name).write(layer, accelerator, mapping)
    make_folder(folder)
    for file, text in texts.items():
        write_whole(folder / file, text, f"{name} file")
    return [folder / file for file in texts]


def names_file(name: str) -> bool:
    """Whether a name is that of a file with a mapping, by its end or because it is there."""
    return Path(name).suffix in SUFFIXES or os.path.exists(name)


def mapping_in_file(
    name: str, layer: Layer, accelerator: Accelerator, templates: Iterable[str]
) -> DataflowMapping:
    """The mapping in the file of that name; InputError for no name of one, nor of a template."""
    if not names_file(name):
        raise unknown("mapping", name, templates, "the templates (or name a .json, .m or .yaml file)")
    return read_mapping(name, layer, accelerator)


def read_mapping(path: str, layer: Layer, accelerator: Accelerator) -> DataflowMapping:
    """The mapping in a file, read by what its name ends in; its sizes are the layer's and accelerator's."""
    where = f"mapping file {path!r}"
    text = read_text(path, where)
    kind = SUFFIXES.get(Path(path).suffix.lower(), FORMATS["json"])
    mapping = kind.read(text, where, layer, accelerator)
    mapping.check_ranges(layer, accelerator, where)
    return mapping
