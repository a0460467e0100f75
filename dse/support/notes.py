"""Exact data as a comment at the end of a YAML file whose format says less than all of it.

A machine of ours in the words of another tool lacks what that tool has no words for. The comment has the
whole, and the digest of the file's data: whoever reads the file takes the comment for it as long as the data
are those that it was written for, and the data themselves once somebody has changed them.
"""

from __future__ import annotations

import json
import re
from typing import Any

from dse.support import strict_json, strict_yaml
from dse.support.errors import InputError
from dse.support.hashing import CANONICAL, digest

HEAD = "# What dse reads back, with what has no words above, as long as nothing above is changed:\n"
PREFIX = "#: "
WIDTH = 110
_PIECE = re.compile(rf".{{1,{WIDTH - len(PREFIX) - 1}}},|.{{1,{WIDTH - len(PREFIX)}}}")


def with_note(text: str, kind: str, exact: object) -> str:
    """The YAML text with the exact data, called `kind`, behind it."""
    note = json.dumps({"of": digest(strict_yaml.parse(text, kind)), kind: exact}, separators=CANONICAL)
    return f"{text}{HEAD}" + "".join(f"{PREFIX}{piece}\n" for piece in _pieces(note))


def noted(text: str, data: object, kind: str, where: str) -> Any:
    """The exact data of that kind that the text ends in, if they are those of its `data`; else None.

    InputError where there is a note that cannot be read.
    """
    lines = [line[len(PREFIX) :] for line in text.splitlines() if line.startswith(PREFIX)]
    if not lines:
        return None
    note = strict_json.parse("".join(lines), f"{where}: its last lines, which begin with {PREFIX.strip()}")
    if not isinstance(note, dict):
        raise InputError(f"{where}: its last lines, which begin with {PREFIX.strip()}, are no note of dse's")
    try:
        unchanged = note.get("of") == digest(data)
    except (TypeError, ValueError):
        unchanged = False
    return note.get(kind) if unchanged else None


def _pieces(note: str) -> list[str]:
    """The note cut behind commas where there is one, so that no line ends in a space."""
    return _PIECE.findall(note)
