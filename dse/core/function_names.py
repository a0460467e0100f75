"""Names of a user's own functions: of a module, `my_costs:price`, or of a file, `./my_costs.py:price`."""

from __future__ import annotations

import os
import re
from pathlib import Path

IN_MODULE = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")
IN_FILE = re.compile(r"(?P<path>.+\.py):(?P<name>[A-Za-z_][\w.]*)", re.DOTALL)


def names_function(text: str) -> bool:
    """Whether a text is a function's name."""
    return bool(IN_MODULE.fullmatch(text) or IN_FILE.fullmatch(text))


def file_of(name: str) -> str | None:
    """The path in a function's name; None if it is of a module."""
    found = IN_FILE.fullmatch(name)
    return found["path"] if found else None


def beside(name: str, folder: Path) -> str:
    """A function's name as seen from a file in `folder`: a path there, if there is such a file."""
    path = file_of(name)
    if path is None or not os.path.isfile(folder / path):
        return name
    return str(folder / path) + name.removeprefix(path)


def without_folders(name: str) -> str:
    """The name with the file's own instead of its path: where a file lies says nothing of its figures."""
    path = file_of(name)
    return name if path is None else Path(path).name + name.removeprefix(path)
