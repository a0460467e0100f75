"""What the samples and the CPU time went to."""

from __future__ import annotations

from dse.analysis.findings import Findings
from dse.core.reasons import Reason
from dse.report.formats import NOTHING, Section, Table

QUESTION = "What were the samples and the CPU time spent on?"
COUNTS = ("cells", "samples", "distinct")
REST = ("elsewhere", "searcher_seconds", "model_seconds")


def ledger_table(findings: Findings) -> Table:
    """Each searcher's samples, the infeasible by reason, those spent elsewhere, and CPU seconds."""
    reasons = sorted({reason for row in findings.ledger for reason in row.infeasible})
    rows, cells = [], []
    for row in findings.ledger:
        infeasible = [row.infeasible.get(reason, 0) for reason in reasons]
        known, rest = ([getattr(row, name) for name in names] for names in (COUNTS, REST))
        rows.append((row.searcher, *known, sum(infeasible), *infeasible, *rest))
        share = f"{sum(infeasible) / row.samples:.0%}" if row.samples else NOTHING
        counts = (f"{count:,}" for count in (*infeasible, row.elsewhere))
        seconds = (f"{spent:,.1f}" for spent in (row.searcher_seconds, row.model_seconds))
        cells.append([row.searcher, *(f"{count:,}" for count in known), share, *counts, *seconds])
    heads = ["searcher", *COUNTS, "infeasible", *(reason.replace("_", " ") for reason in reasons)]
    heads += ["spent elsewhere", "searcher, CPU s", "cost model, CPU s"]
    why = [Reason[name.upper()] for name in reasons if name.upper() in Reason.__members__]
    note = " ".join(f"{reason.label.capitalize()}: {reason.meaning}." for reason in why)
    section = Section("What the samples went to, and CPU time", heads, cells, note)
    return Table.of("ledger", QUESTION, ("searcher", *COUNTS, "infeasible", *reasons, *REST), rows, [section])
