"""Reading a TOML file that the user names, and writing plain data as TOML."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from typing import Any

from dse.support.errors import InputError
from dse.support.files import decode_text, read_bounded

MAX_PARTS = 200
"""Of a dotted key: the parser takes a time that grows with the square of them."""

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_LONG_KEY = re.compile(rf"(?<![\w\"'.-])(?:[\w\"'-]++[ \t]*+\.[ \t]*+){{{MAX_PARTS}}}")


def is_toml(path: str) -> bool:
    """Whether a name is meant as a TOML file's path: it ends in `.toml`."""
    return path.lower().endswith(".toml")


def read_toml(path: str, where: str) -> dict[str, Any]:
    """The parsed file at `path`; `where` names it in messages, as in "network file 'net.toml'"."""
    try:
        text = decode_text(read_bounded(path, where), where)
    except OSError as error:
        raise InputError(f"{where} cannot be read: {error.strerror or error}; name a TOML file") from None
    if _LONG_KEY.search(text):
        raise InputError(f"{where} is not usable TOML: a key has more than {MAX_PARTS} parts")
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{where} is not TOML: {error}") from None
    except RecursionError:
        raise InputError(f"{where} is not usable TOML: nested too deeply") from None
    except ValueError:
        # Python refuses to read whole numbers of thousands of digits.
        raise InputError(f"{where} is not usable TOML: a number has too many digits") from None


def toml_value(value: Any) -> str:
    """A string, number, truth value, list or table on one line. None inside it is left out: TOML has none."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        # JSON's escapes are TOML's, but for the one control character that JSON lets stand.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, Mapping):
        pairs = (f"{toml_key(key)} = {toml_value(item)}" for key, item in value.items() if item is not None)
        return f"{{ {', '.join(pairs)} }}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(toml_value(item) for item in value if item is not None)}]"
    return repr(value)


def toml_lines(data: Mapping[str, Any]) -> list[str]:
    """A table's keys as lines, lists of tables last, as `[[key]]`. What is None is left out."""
    tables = {key: value for key, value in data.items() if _is_tables(value)}
    plain = {key: value for key, value in data.items() if key not in tables and value is not None}
    lines = [f"{toml_key(key)} = {toml_value(value)}" for key, value in plain.items()]
    for key, entries in tables.items():
        for entry in entries:
            lines += ["", f"[[{toml_key(key)}]]"]
            lines += [
                f"{toml_key(name)} = {toml_value(item)}" for name, item in entry.items() if item is not None
            ]
    return lines


def _is_tables(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(entry, Mapping) for entry in value)


def toml_key(name: str) -> str:
    """A key, in quotes where it needs them."""
    return name if _BARE.fullmatch(name) else toml_value(name)
