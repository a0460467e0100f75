"""Names for pieces of plain data, by what they hold."""

from __future__ import annotations

import hashlib
import json


def digest(data: object) -> str:
    """SHA-256, in hex, of plain data written as canonical JSON (sorted keys, no spaces, no NaN)."""
    text = json.dumps(data, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()
