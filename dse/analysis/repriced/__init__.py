"""A campaign's winners under each other cost model, and what becomes of the searchers' ranking there."""

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
