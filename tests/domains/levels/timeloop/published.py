"""The published rows that are committed, and what it means to agree with one."""

from __future__ import annotations

import gzip
import json
import math
from functools import cache
from typing import Any

from tests import DATA

Row = dict[str, Any]


@cache
def rows(name: str) -> list[Row]:
    """The rows of a committed set: `dosa` or `exercises`."""
    with gzip.open(DATA / "timeloop" / f"{name}.jsonl.gz", "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def row(name: str, beginning: str) -> Row:
    """The row of a set whose id begins so."""
    return next(entry for entry in rows(name) if entry["id"].startswith(beginning))


def macs(entry: Row) -> int:
    """Multiply-accumulates of a row's layer."""
    return math.prod(entry["layer"]["dims"].values())


def same_digits(value: float, published: str) -> bool:
    """Whether `value` prints as published, with six decimals or, for some rows, six significant digits."""
    decimals = f"{value:.6f}".rstrip("0").rstrip(".")
    return decimals == published.rstrip("0").rstrip(".") or float(f"{value:.6g}") == float(published)
