"""Names for pieces of plain data, by what they hold."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from json.encoder import encode_basestring_ascii
from typing import Any

CANONICAL = (",", ":")
"""JSON's separators without spaces: of the text that `digest` hashes."""


def digest(data: object) -> str:
    """SHA-256, in hex, of plain data written as canonical JSON (sorted keys, no spaces, no NaN)."""
    text = json.dumps(data, sort_keys=True, separators=CANONICAL, allow_nan=False)
    return digest_text(text)


def split_around(
    data: Mapping[str, Any], key: str, separators: tuple[str, str] = (", ", ": ")
) -> tuple[str, str]:
    """JSON of `data`, keys sorted, as it stands before and after the value of one more `key`.

    What differs in one value alone is so written once: `before + "7" + after`.
    """

    def text(part: dict[str, Any]) -> str:
        return json.dumps(part, sort_keys=True, separators=separators, allow_nan=False)[1:-1]

    comma, colon = separators
    before = text({name: value for name, value in data.items() if name < key})
    after = text({name: value for name, value in data.items() if name > key})
    name = json.dumps(key) + colon
    return "{" + (before + comma if before else "") + name, (comma + after if after else "") + "}"


def digest_text(text: str) -> str:
    """`digest` of data of which `text` is the canonical JSON."""
    return hashlib.sha256(text.encode()).hexdigest()


def digest_texts(texts: Iterable[str]) -> str:
    """`digest` of a list of texts, which is written in half of the time."""
    return digest_text(f"[{','.join(map(encode_basestring_ascii, texts))}]")


def plain_data(data: Mapping[str, Any]) -> dict[str, Any]:
    """Plain data as it comes back from JSON, which knows no tuples."""
    found: dict[str, Any] = json.loads(json.dumps(data))
    return found
