"""A campaign's winners under other cost models, as tables and in words."""

from __future__ import annotations

from dse.report.repriced.table import repriced_sections, repriced_table
from dse.report.repriced.words import caveat, finding, notes

__all__ = ["caveat", "finding", "notes", "repriced_sections", "repriced_table"]
