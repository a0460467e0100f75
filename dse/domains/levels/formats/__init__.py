"""A mapping onto a machine of levels, with the machine and the layer, in the words of others.

JSON, loops, Timeloop's and ZigZag's files. A module a format has `write(problem, mapping)`: the texts by
their files' names, and in sentences what the format has no words for; and `read` for a mapping in YAML.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from dse.domains.levels.mapping import HierarchyMapping
from dse.support import strict_yaml
from dse.support.errors import InputError
from dse.support.files import make_folder, write_whole

FORMATS = {
    name: f"dse.domains.levels.formats.{module}"
    for name, module in (("json", "plain"), ("nest", "nest"), ("timeloop", "timeloop"), ("zigzag", "zigzag"))
}
"""The formats that hold any number of levels."""

ONE_WIDTH = ("timeloop", "zigzag")

Written = tuple[Mapping[str, str], list[str]]


def export_levels(
    name: str, problem: Any, mapping: HierarchyMapping, folder: Path
) -> tuple[list[Path], list[str]]:
    """Write the mapping of a MachineProblem into the folder: the paths, and what the format has no words for.

    InputError for other formats, and for what the format cannot say at all.
    """
    if name not in FORMATS:
        raise InputError(f"format {name} is of two levels; a mapping onto a machine has {', '.join(FORMATS)}")
    widths = problem.accelerator.widths
    if problem.accelerator.bits and name in ONE_WIDTH:
        raise InputError(f"format {name}, as it is written here, has words of one width, not {widths} bits")
    texts, unsaid = import_module(FORMATS[name]).write(problem, mapping)
    make_folder(folder)
    for file, text in texts.items():
        write_whole(folder / file, text, f"{name} file")
    return [folder / file for file in texts], unsaid


def read_yaml_mapping(text: str, where: str, problem: Any) -> HierarchyMapping:
    """The mapping in Timeloop's or ZigZag's YAML, onto the problem's machine. InputError where it is none."""
    data = strict_yaml.parse(text, where)
    name = "zigzag" if isinstance(data, list) else "timeloop"
    found: HierarchyMapping = import_module(FORMATS[name]).read(text, data, where, problem)
    return found
