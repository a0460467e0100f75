"""A campaign's winners under other cost models that it names, and what becomes of the ranking there."""

from __future__ import annotations

from dse.analysis.repriced.ranking import Place, Ranked, Ranking
from dse.analysis.repriced.repricing import Repriced, reprice

__all__ = [
    "Place",
    "Ranked",
    "Ranking",
    "Repriced",
    "reprice",
]
