"""The report as one self-contained HTML page."""

from __future__ import annotations

from dse.report.page.page import render_page

__all__ = ["render_page"]
