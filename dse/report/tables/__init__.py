"""A report's tables, a module each: every one answers a question, which is its files' first line."""

from __future__ import annotations

from collections.abc import Sequence

from dse.analysis.findings import Findings
from dse.analysis.reduction import Reduction
from dse.analysis.repriced import Repriced
from dse.analysis.study import Study
from dse.report.formats import Table
from dse.report.tables.fronts import fronts_table
from dse.report.tables.layers import layers_table
from dse.report.tables.ledger import ledger_table
from dse.report.tables.reduction import reduction_table
from dse.report.tables.repriced import repriced_table
from dse.report.tables.standing import standing_table
from dse.report.tables.targets import targets_table
from dse.report.tables.versus import versus_table

NAMES = ("standing", "reduction", "versus", "targets", "layers", "ledger", "fronts", "repriced")
"""The tables' names, in the order in which a page shows them."""


def make_tables(
    study: Study, findings: Findings, reductions: Sequence[Reduction], repriced: Sequence[Repriced]
) -> tuple[Table, ...]:
    """All tables of a report, in the order of NAMES; that of other cost models where any is named."""
    return (
        standing_table(study, findings),
        reduction_table(study, reductions),
        versus_table(study, findings),
        targets_table(study, findings),
        layers_table(study, findings),
        ledger_table(findings),
        *([fronts_table(study, findings)] if findings.fronts else []),
        *([repriced_table(study, repriced)] if study.reprice else []),
    )
