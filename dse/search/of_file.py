"""A searcher that no package offers, by its name: of a file, `./climb.py:Climb`, or of a module."""

from __future__ import annotations

import hashlib
import importlib
import os
import sys
from pathlib import Path
from typing import Any

from dse.core.names import file_of, names_function
from dse.support.errors import InputError, code_of_others, shorten


def is_of_file(name: str) -> bool:
    """Whether a searcher's name is that of a class, and not an installed one's."""
    return names_function(name) or name.endswith(".py")


def class_of_file(name: str) -> Any:
    """The class of that name. InputError where there is none, or where it cannot be loaded.

    It is imported as a module, so that other processes find it too.
    """
    where = f"searcher {shorten(name, 200)}"
    if not names_function(name):
        raise InputError(f"{where}: expected FILE.py:CLASS, as ./climb.py:Climb")
    path, (module, _, inside) = file_of(name), name.rpartition(":")
    if path is not None and not os.path.isfile(path):
        raise InputError(f"{where}: there is no file {path!r}")
    folder = os.getcwd() if path is None else str(Path(path).resolve().parent)
    if folder not in sys.path:
        sys.path.append(folder)
    with code_of_others(f"{where} cannot be loaded"):
        made: Any = importlib.import_module(module if path is None else Path(path).stem)
    if path is not None and not os.path.samefile(str(getattr(made, "__file__", None) or folder), path):
        raise InputError(f"{where}: Python has another module {Path(path).stem!r}: rename the file")
    for part in inside.split("."):
        made = getattr(made, part, None)
    if made is None:
        raise InputError(f"{where}: there is no {inside!r} in {module}")
    return made


def source_of(made: type) -> str:
    """What the file of a class holds, in short: of a searcher without a version, it stands for that."""
    file = getattr(sys.modules.get(made.__module__), "__file__", None)
    return f"source {hashlib.sha256(Path(file).read_bytes()).hexdigest()[:12]}" if file else "unknown source"


def refuse_files(name: str, what: str) -> None:
    """InputError where a searcher is of a file, which other machines need not have."""
    if is_of_file(name):
        raise InputError(
            f"{what} takes installed searchers, got {shorten(name)}: give it an entry point under "
            "dse.searchers (docs/extending.md)"
        )
