"""A mapping onto a machine of levels: as JSON, as loops, in the one line that Timeloop's mapper prints."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from dse.support.errors import InputError
from dse.support.files import make_folder, write_whole

FORMATS = ("json", "nest", "timeloop")
"""The formats that hold any number of levels."""


def export_levels(name: str, problem: Any, mapping: Any, folder: Path) -> list[Path]:
    """Write the mapping of a MachineProblem into the folder: the paths. InputError for other formats."""
    if name not in FORMATS:
        raise InputError(f"format {name} is of two levels; a mapping onto a machine has {', '.join(FORMATS)}")
    if name == "json":
        file, text = "mapping.json", json.dumps(mapping.to_dict(), indent=2)
    elif name == "nest":
        file, text = "mapping.txt", problem.nest(mapping)
    else:
        file, text = "timeloop-mapping.txt", mapping.text()
    make_folder(folder)
    write_whole(folder / file, f"{text}\n", f"{name} file")
    return [folder / file]
