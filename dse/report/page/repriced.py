"""The winners under the other cost model as the page shows them."""

from __future__ import annotations

from dataclasses import dataclass

from dse.analysis.repriced import Repriced
from dse.analysis.repriced.ranking import LEAST_SEEDS
from dse.analysis.study import Study
from dse.report.page.tables import PageTable, page_table
from dse.report.repriced import caveat, finding, repriced_table

MANY = 4
"""Rankings beyond these are folded."""


@dataclass(frozen=True)
class PageRanking:
    """A ranking under both models, and what it comes to in words, unless that is said above."""

    sentence: str
    table: PageTable
    folded: bool


@dataclass(frozen=True)
class PageRepriced:
    """All rankings, the result in words, and how they are to be read."""

    other: str
    finding: str
    caveat: str
    least_seeds: int
    rankings: tuple[PageRanking, ...]


def page_repriced(study: Study, repriced: Repriced) -> PageRepriced:
    """The section of the page."""
    words, *sections = repriced_table(study, repriced).sections or (("", [], []),)
    rankings = []
    for place, ((_, sentence), section) in enumerate(zip(words[2], sections, strict=True)):
        first = place == 0 and repriced.overall is not None
        folded = place > 0 and len(sections) > MANY + 1
        rankings.append(PageRanking("" if first else sentence, page_table(*section), folded))
    return PageRepriced(repriced.other, finding(repriced), caveat(repriced), LEAST_SEEDS, tuple(rankings))
