"""A study's whole page in one call."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from dse.analysis.findings import Findings
from dse.analysis.repriced import Repriced
from dse.analysis.study import Study
from dse.report.formats import Table
from dse.report.page.page import Page


def render_page(
    study: Study,
    findings: Findings,
    figures: Mapping[str, str] | None = None,
    tables: Iterable[Table] = (),
    linked: Iterable[str] = (),
    repriced: Sequence[Repriced] = (),
) -> str:
    """The page of a study; the arguments are those of `Page`."""
    return Page.of(study, findings, tables, repriced).html(figures or {}, linked)
