"""A user's function by its name: of a module, `my_costs:price`, or of a file, `./my_costs.py:price`."""

from __future__ import annotations

import hashlib
import importlib
import inspect
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from dse.core.names import file_of, names_function
from dse.support.errors import InputError, code_of_others, shorten
from dse.support.files import read_bounded

EXPECTED = "expected MODULE:FUNCTION or FILE.py:FUNCTION, as in my_costs:price or ./my_costs.py:price"


@dataclass(frozen=True)
class Function:
    """A function, the file that it is from (empty if unknown), and what that file holds, in short."""

    call: Callable[..., Any]
    file: str
    source: str


def load_function(name: str) -> Function:
    """The function of that name. InputError where it cannot be imported, or is nothing to be called."""
    where = f"cost model {shorten(name, 200)}"
    if not names_function(name):
        raise InputError(f"{where}: {EXPECTED}")
    path, inside = file_of(name), name.rpartition(":")[2]
    module = _module(name.rpartition(":")[0], where) if path is None else _file(Path(path), where)
    found: Any = module
    for part in inside.split("."):
        with code_of_others(f"{where} cannot be loaded"):
            found = getattr(found, part, None)
    if found is None:
        missing = f"{name.rpartition(':')[0]} has no {inside!r}{_functions_of(module)}"
        raise InputError(f"{where} cannot be loaded: AttributeError: {missing}")
    if not callable(found):
        raise InputError(f"{where} must be a function, got {shorten(found)}")
    if path is None:
        return Function(found, *_source(found))
    return Function(found, str(module.__file__), _short(module.__dict__["__source__"]))


def _module(name: str, where: str) -> ModuleType:
    here = os.getcwd()
    if here not in sys.path:
        # As `python -m` has it: one's own module need not be installed.
        sys.path.append(here)
    with code_of_others(f"{where} cannot be loaded"):
        return importlib.import_module(name)


def _file(path: Path, where: str) -> ModuleType:
    """What a file makes when it is run, once for each text that it holds; modules beside it are found."""
    if not os.path.isfile(path):
        raise InputError(f"{where}: there is no file {str(path)!r}")
    try:
        source = read_bounded(path, f"{where}: file {str(path)!r}")
    except OSError as error:
        raise InputError(f"{where}: file {str(path)!r} cannot be read: {error.strerror}") from None
    full = path.resolve()
    # No name that anybody imports: a file may be called json.py.
    name = f"dse_function_{hashlib.sha256(bytes(full) + b':' + source).hexdigest()[:16]}"
    if name in sys.modules:
        return sys.modules[name]
    module = ModuleType(name)
    module.__dict__.update(__file__=str(full), __source__=source)
    if str(full.parent) not in sys.path:
        sys.path.append(str(full.parent))
    sys.modules[name] = module
    try:
        with code_of_others(f"{where} cannot be loaded"):
            exec(compile(source, str(full), "exec", dont_inherit=True), module.__dict__)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _functions_of(module: ModuleType) -> str:
    """The functions that a module has of its own, for messages."""
    own = [name for name, value in vars(module).items() if inspect.isfunction(value) and name[0] != "_"]
    own = [name for name in own if getattr(module, name).__module__ == module.__name__]
    return f"; its functions are {', '.join(own[:8])}" if own else ""


def _source(function: Callable[..., Any]) -> tuple[str, str]:
    """The file of a module's function, and what it holds in short."""
    try:
        file = inspect.getfile(inspect.unwrap(function))
        return file, _short(Path(file).read_bytes())
    except (OSError, TypeError):
        return "", "unknown source"


def _short(source: bytes) -> str:
    return f"source {hashlib.sha256(source).hexdigest()[:12]}"
