"""Tables as the page shows them: which columns are numbers, and what each cell is sorted by."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

_NUMBER = re.compile(
    r"[<>≤≥~]?\s*(?P<number>[-+−]?(\d[\d,]*)(\.\d+)?(e[-+]?\d+)?)\s*(%|x|×|s|J|J s)?(\s*[\[(].*[\])])?", re.IGNORECASE
)
NOTHING = frozenset({"", "-", "–", "—", "infeasible", "never", "nan", "inf", "n/a", "none", "censored", "?"})
"""What stands in a column of numbers where there is none: sorted last, whichever way."""


@dataclass(frozen=True)
class PageCell:
    """A cell's text; `value` is what a column of numbers is sorted by, None where the cell has no number."""

    text: str
    value: float | None


@dataclass(frozen=True)
class PageTable:
    """A table; `numeric` says which columns are numbers. `files` are links: what they are called, and where."""

    title: str
    heads: tuple[str, ...]
    numeric: tuple[bool, ...]
    rows: tuple[tuple[PageCell, ...], ...]


def page_table(title: str, heads: Sequence[str], cells: Sequence[Sequence[str]]) -> PageTable:
    """A table of text as the page shows it. A column is one of numbers if all that it says are numbers."""
    rows = tuple(tuple(PageCell(text, number_in(text)) for text in row) for row in cells)
    columns = list(zip(*rows, strict=True)) or [()] * len(heads)
    return PageTable(title, tuple(heads), tuple(_numeric(column) for column in columns), rows)


def number_in(text: str) -> float | None:
    """The number that a cell says, which may have an interval or a unit after it: `1,024`, `1.2 [1.1, 1.3]`."""
    found = _NUMBER.fullmatch(text.strip())
    if not found:
        return None
    value = float(found["number"].replace(",", "").replace("−", "-"))
    return value if math.isfinite(value) else None


def _numeric(column: Sequence[PageCell]) -> bool:
    said = [cell for cell in column if cell.text.strip().lower() not in NOTHING]
    return bool(said) and all(cell.value is not None for cell in said)
