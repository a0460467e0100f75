"""A mapping onto a machine of levels, with the machine and the layer, in the words of others.

JSON, loops, Timeloop's and ZigZag's files. For the last two a module has `write(problem, mapping)`: the texts
by their files' names, and in sentences what the format has no words for; and `read` for a mapping in YAML.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from dse.domains.levels.mapping import HierarchyMapping
from dse.domains.levels.tiles import has_ragged_tiles
from dse.domains.levels.uneven import straightened_nest
from dse.support import strict_json, strict_yaml
from dse.support.errors import InputError, errors_within, shorten, unknown_name
from dse.support.files import file_within, make_folder, read_text, write_whole

FORMATS = ("json", "nest", "timeloop", "zigzag")
"""The formats that hold any number of levels."""

ONE_RUN = ONE_WIDTH = EVEN_ONLY = ("timeloop", "zigzag")
"""Formats of modules here; each has `refuse(machine)` besides: InputError for one that no mapping helps."""

Written = tuple[Mapping[str, str], list[str]]


def refuse_format(name: str, problem: Any) -> None:
    """InputError for other formats, and for what the format can say of no mapping of a MachineProblem."""
    if name not in FORMATS:
        raise InputError(f"format {name} is of two levels; a mapping onto a machine has {', '.join(FORMATS)}")
    if problem.accelerator.even and name in EVEN_ONLY:
        raise InputError(f"format {name} has no words for uneven nests: leave out --nests uneven")
    widths = problem.accelerator.widths
    if problem.accelerator.bits and name in ONE_WIDTH:
        raise InputError(f"format {name}, as it is written here, has words of one width, not {widths} bits")
    if name in ONE_RUN and problem.layer.folded() is not problem.layer:
        raise InputError(
            f"format {name}, as it is written here, has one group and one sample: map layer.folded()"
        )
    if name in EVEN_ONLY:
        import_module(f"{__name__}.{name}").refuse(problem.accelerator)


def export_levels(
    name: str, problem: Any, mapping: HierarchyMapping, folder: Path
) -> tuple[list[Path], list[str]]:
    """Write the mapping of a MachineProblem into the folder: the paths, and what the format has no words for.

    InputError for what the format cannot say at all.
    """
    refuse_format(name, problem)
    if name in EVEN_ONLY and has_ragged_tiles(problem.space.workload, mapping):
        raise InputError(f"format {name} has no words for tiles that do not divide: leave out --tiles any")
    texts, unsaid = _written(name, problem, mapping)
    make_folder(folder)
    for file, text in texts.items():
        write_whole(folder / file, text, f"{name} file")
    return [folder / file for file in texts], unsaid


def _written(name: str, problem: Any, mapping: HierarchyMapping) -> Written:
    if name == "json":
        return {"mapping.json": mapping.to_json(indent=2) + "\n"}, []
    if name == "nest":
        return {"mapping.txt": problem.nest(mapping)}, []
    written: Written = import_module(f"{__name__}.{name}").write(problem, mapping)
    return written


def read_yaml_mapping(text: str, where: str, problem: Any) -> HierarchyMapping:
    """The mapping in Timeloop's or ZigZag's YAML, onto the problem's machine. InputError where it is none."""
    data = strict_yaml.parse_yaml(text, where)
    name = "zigzag" if isinstance(data, list) else "timeloop"
    found: HierarchyMapping = import_module(f"{__name__}.{name}").read(text, data, where, problem)
    return found


def read_mapping_file(path: str, problem: Any) -> HierarchyMapping:
    """The mapping in a file: JSON (`levels` as in a case line), YAML, or its text, `L1[WIO] K4 - ...`."""
    path = file_within(path, "mapping.json")
    where = f"mapping file {path!r}"
    text = read_text(path, where).strip()
    layout = problem.space.layout
    if path.lower().endswith((".yaml", ".yml")):
        found = read_yaml_mapping(text, where, problem)
    elif text.startswith("L"):
        with errors_within(where, "mapping"):
            found = HierarchyMapping.parse(text)
    else:
        found = problem.read_mapping(strict_json.parse_json(text, where), where)
    for level in found.levels:
        for dim, _ in (*level.temporal, *level.spatial):
            if dim not in layout.dims:
                has = ", ".join(layout.dims)
                raise InputError(f"{where}: the layer has no dim {shorten(dim)}; it has {has}")
        for name in level.keep:
            if name not in layout.tensors:
                raise unknown_name("tensor", name, layout.tensors, where)
    found = straightened_nest(problem.accelerator, found)
    if len(found.levels) != layout.levels:
        raise InputError(f"{where} has {len(found.levels)} levels, the machine {layout.levels}")
    return found
