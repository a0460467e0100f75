"""Plain data as TOML, as far as a campaign's file needs it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

_BARE = re.compile(r"[A-Za-z0-9_-]+")


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


def toml_key(name: str) -> str:
    """A key, in quotes where it needs them."""
    return name if _BARE.fullmatch(name) else toml_value(name)
