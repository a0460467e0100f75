"""What a directive of a Timeloop mapping says of its loops: factors and a permutation."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from dse.support.errors import InputError, shorten, unknown

Counts = dict[str, tuple[int, int]]
"""By dim, how often a loop runs, and how often in the last round."""

MAX_LETTERS = 400
"""Of the factors of a directive."""
_FACTOR = re.compile(r"([A-Za-z]+)\s*=?\s*([0-9]{1,10})(?:,([0-9]{1,10}))?")


def read_factors(given: Any, at: str, names: Mapping[str, str]) -> Counts:
    """`[M=4, C=2]`, or as one text, by our dims, whose `names` in the file say which; left out are 1s."""
    found: Counts = {}
    text = ",".join(map(str, given)) if isinstance(given, list) else str(given)
    if len(text) > MAX_LETTERS:
        raise InputError(f"{at}.factors must be at most {MAX_LETTERS} letters, got {shorten(given)}")
    for name, count, last in _FACTOR.findall(text):
        if name in names:
            found[names[name]] = (int(count), int(last or count))
        elif (int(count), last) != (1, ""):
            raise unknown("dim", name, names, f"{at}.factors")
    if _FACTOR.sub("", text).strip(", ") or any(
        min(pair) < 1 or pair[1] > pair[0] for pair in found.values()
    ):
        raise InputError(f"{at}.factors must be as in [M=4, C=2] or M=4,3, got {shorten(given)}")
    return found


def read_order(given: Any, at: str, names: Mapping[str, str], every: Sequence[str]) -> tuple[str, ...]:
    """A permutation, innermost first; those of `every` dim that it leaves out are outermost."""
    listed = [str(name) for name in given] if isinstance(given, list) else re.findall(r"[A-Za-z]", str(given))
    dims = [names[name] for name in listed if name in names]
    if len(dims) != len(set(dims)):
        raise InputError(f"{at}.permutation must hold each dim once, got {shorten(given)}")
    return (*dims, *(dim for dim in every if dim not in dims))
