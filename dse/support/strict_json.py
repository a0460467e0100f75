"""JSON read strictly: no NaN or Infinity, no repeated keys, and every complaint in one line."""

from __future__ import annotations

import json
import math
from collections import Counter
from typing import Any, NoReturn

from dse.support.errors import InputError, shorten


def parse_json(text: str, where: str) -> Any:
    """The value of the JSON `text`; an InputError that begins with `where` if it is not strict JSON."""
    try:
        return _DECODER.decode(text)
    except _Refused as error:
        raise InputError(f"{where}: {error}") from None
    except json.JSONDecodeError as error:
        place = f"line {error.lineno} column {error.colno}" if "\n" in text else f"column {error.colno}"
        # Some of the parser's own messages end in "at", to be followed by the place.
        message = (error.msg[:1].lower() + error.msg[1:]).removesuffix(" at")
        raise InputError(f"{where}: not JSON: {message} at {place}") from None
    except RecursionError:
        raise InputError(f"{where}: not usable JSON: nested too deeply") from None
    except ValueError:
        # Python refuses to convert integers of thousands of digits.
        raise InputError(f"{where}: not usable JSON: a number has too many digits") from None


class _Refused(Exception):
    """Valid for Python's parser, and yet not what strict JSON allows."""


def _refuse_constant(name: str) -> NoReturn:
    raise _Refused(f"not JSON: {name} is not a JSON number")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) < len(pairs):
        seen = Counter(name for name, _ in pairs)
        repeated = next(name for name, times in seen.items() if times > 1)
        raise _Refused(f"the key {shorten(repeated)} is there twice")
    return table


_DECODER = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_refuse_constant)


def plain(value: Any) -> Any:
    """`value` with its infinite and NaN floats, which JSON cannot say, replaced by None, at any depth."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value
