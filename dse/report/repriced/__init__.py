"""A campaign's winners under the other cost model, and what becomes of the searchers' ranking there."""

from __future__ import annotations

from dse.report.repriced.pricing import other_model
from dse.report.repriced.ranking import Place, Ranked, Ranking
from dse.report.repriced.repricing import Repriced, reprice
from dse.report.repriced.table import repriced_table
from dse.report.repriced.words import caveat, finding

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
