"""A campaign's winners under the other cost model, and what becomes of the searchers' ranking there."""

from __future__ import annotations

from dse.analysis.repriced.pricing import other_model
from dse.analysis.repriced.ranking import Place, Ranked, Ranking
from dse.analysis.repriced.repricing import Repriced, reprice
from dse.analysis.repriced.table import repriced_table
from dse.analysis.repriced.words import caveat, finding

__all__ = [
    "Place",
    "Ranked",
    "Ranking",
    "Repriced",
    "caveat",
    "finding",
    "other_model",
    "reprice",
    "repriced_table",
]
