"""The winners under other cost models as the page shows them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dse.analysis.repriced import Repriced
from dse.analysis.stats.bootstrap import LEAST_SEEDS
from dse.analysis.study import Study
from dse.report.formats import Section
from dse.report.page.tables import PageTable, page_table
from dse.report.tables.repriced import caveat, finding, repriced_sections


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
        anchor, repriced.other, finding(repriced), caveat(repriced), LEAST_SEEDS, tuple(rankings)
    )
