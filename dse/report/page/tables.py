"""Tables as the page shows them: which columns are numbers, and what each cell is sorted by."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from dse.analysis.repriced import Repriced
from dse.analysis.stats.bootstrap import LEAST_SEEDS
from dse.analysis.study import Study
from dse.report.formats import Section
from dse.report.page.markup import NONE
from dse.report.tables.repriced import repriced_caveat, repriced_finding, repriced_sections

_NUMBER = re.compile(
    r"[<>≤≥~]?\s*(?P<number>[-+]?(\d[\d,]*)(\.\d+)?(e[-+]?\d+)?)\s*(%|x)?(\s*[\[(].*[\])]|\s+(of|to)\s.*)?",
    re.IGNORECASE,
)
LABEL = 24
"""Letters of a text that is longer than a searcher's name."""
SENTENCE = 40
NOTHING = frozenset({"", "-", NONE, "infeasible", "never", "nan", "inf", "n/a", "none", "censored", "?"})
"""What stands in a column of numbers where there is none: sorted last, whichever way."""


@dataclass(frozen=True)
class PageCell:
    """A cell's text; `value` is what a column of numbers is sorted by, None where the cell has no number.

    `link` is the address of what the cell is about, if any.
    """

    text: str
    value: float | None
    link: str = ""

    @property
    def long(self) -> bool:
        """Whether the text, such as a problem's, would make a tall row of a narrow column."""
        return len(self.text) > LABEL

    @property
    def wordy(self) -> bool:
        """Whether the text is a sentence, which wants a wide column to wrap in."""
        return len(self.text) > SENTENCE


@dataclass(frozen=True)
class PageTable:
    """A table; `numeric` says which columns are numbers, and `note` how to read it."""

    title: str
    heads: tuple[str, ...]
    numeric: tuple[bool, ...]
    rows: tuple[tuple[PageCell, ...], ...]
    note: str = ""

    def is_about(self, name: str) -> bool:
        """Whether one row, and one only, is headed by that name."""
        return [row[0].text for row in self.rows].count(name) == 1


def page_table(
    title: str, heads: Sequence[str], rows: Sequence[Sequence[str | PageCell]], note: str = ""
) -> PageTable:
    """A table as the page shows it. A column is one of numbers if all that it says are numbers."""
    cells = tuple(tuple(_cell(cell) for cell in row) for row in rows)
    columns = list(zip(*cells, strict=True)) or [()] * len(heads)
    return PageTable(title, tuple(heads), tuple(_numeric(column) for column in columns), cells, note)


def number_in(text: str) -> float | None:
    """The number that a cell begins with: `1,024`, `7 %`, `1.2 [1.1, 1.3]`, `1.1 to 1.3`, `3 of 4`."""
    found = _NUMBER.fullmatch(text.strip())
    if not found:
        return None
    value = float(found["number"].replace(",", ""))
    return value if math.isfinite(value) else None


def _cell(cell: str | PageCell) -> PageCell:
    return PageCell(cell, number_in(cell)) if isinstance(cell, str) else cell


def _numeric(column: Sequence[PageCell]) -> bool:
    said = [cell for cell in column if cell.text.strip().lower() not in NOTHING]
    return bool(said) and all(cell.value is not None for cell in said)


@dataclass(frozen=True)
class PageRanking:
    """A ranking under both models, and what it comes to in words, unless that is said above."""

    sentence: str
    table: PageTable


@dataclass(frozen=True)
class PageRepriced:
    """All rankings by one other model, the result in words, and how they are to be read.

    `anchor` is the section's id on the page.
    """

    anchor: str
    other: str
    finding: str
    caveat: str
    least_seeds: int
    rankings: tuple[PageRanking, ...]


def page_repriced(study: Study, repriced: Sequence[Repriced]) -> tuple[PageRepriced, ...]:
    """The sections of the page, one for each other model."""
    return tuple(_section(study, found, place) for place, found in enumerate(repriced, 1))


def _section(study: Study, repriced: Repriced, place: int) -> PageRepriced:
    anchor = "repriced" if place == 1 else f"repriced-by-{place}"
    words, *sections = tuple(repriced_sections(study, repriced)) or (Section("", [], []),)
    rankings = []
    for number, ((_, sentence), section) in enumerate(zip(words.rows, sections, strict=True)):
        first = number == 0 and repriced.overall is not None
        rankings.append(PageRanking("" if first else sentence, page_table(*section)))
    return PageRepriced(
        anchor,
        repriced.other,
        repriced_finding(repriced),
        repriced_caveat(repriced),
        LEAST_SEEDS,
        tuple(rankings),
    )
