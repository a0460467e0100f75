"""Reading a TOML file that the user names, with one clear line where it cannot be read."""

from __future__ import annotations

import tomllib
from typing import Any

from dse.support.errors import InputError
from dse.support.files import read_bounded


def is_toml(path: str) -> bool:
    """Whether a name is meant as a TOML file's path: it ends in `.toml`."""
    return path.lower().endswith(".toml")


def read_toml(path: str, where: str) -> dict[str, Any]:
    """The parsed file at `path`; `where` names it in messages, as in "network file 'net.toml'"."""
    try:
        content = read_bounded(path, where)
    except OSError as error:
        raise InputError(f"{where} cannot be read: {error.strerror or error}; name a TOML file") from None
    except InputError:
        raise
    except ValueError as error:  # a path with a NUL character
        raise InputError(f"{where} cannot be read: {error}; name a TOML file") from None
    try:
        # Editors on Windows put a byte order mark in front, which is no part of the text.
        return tomllib.loads(content.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise InputError(
            f"{where} is not UTF-8 text: {error.reason} at byte {error.start}; save it as UTF-8"
        ) from None
    except (ValueError, RecursionError) as error:
        # Besides TOML's own errors: a number too long for Python to read, or nesting too deep.
        raise InputError(f"{where} is not TOML: {error}") from None
