"""A mapping onto a machine of levels in a file, whatever its format."""

from __future__ import annotations

from typing import Any

from dse.domains.levels.formats import read_yaml_mapping
from dse.domains.levels.mapping import HierarchyMapping
from dse.support import strict_json
from dse.support.errors import InputError, shorten, unknown, within
from dse.support.files import read_text


def read_mapping_file(path: str, problem: Any) -> HierarchyMapping:
    """The mapping in a file: JSON (`levels` as in a case line), YAML, or its text, `L1[WIO] K4 - ...`."""
    where = f"mapping file {path!r}"
    text = read_text(path, where).strip()
    layout = problem.space.layout
    if path.lower().endswith((".yaml", ".yml")):
        found = read_yaml_mapping(text, where, problem)
    elif text.startswith("L"):
        with within(where, "mapping"):
            found = HierarchyMapping.parse(text)
    else:
        found = problem.read_mapping(strict_json.parse(text, where), where)
    for level in found.levels:
        for dim, _ in (*level.temporal, *level.spatial):
            if dim not in layout.dims:
                has = ", ".join(layout.dims)
                raise InputError(f"{where}: the layer has no dim {shorten(dim)}; it has {has}")
        for name in level.keep:
            if name not in layout.tensors:
                raise unknown("tensor", name, layout.tensors, where)
    if len(found.levels) != layout.levels:
        raise InputError(f"{where} has {len(found.levels)} levels, the machine {layout.levels}")
    return found
