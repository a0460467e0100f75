"""The report as one self-contained HTML page."""

from __future__ import annotations

from dse.report.page.page import render

__all__ = ["render"]
