"""The rows of a report's tables: the ledger, every layer, the expected running times."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dse.analysis.findings import LayerRow, LedgerRow, Runtime
from dse.analysis.runs import Runs
from dse.analysis.stats.bootstrap import median_curve
from dse.analysis.stats.runtimes import expected_running_time, times_to

TABLE_TAUS = (1.0, 1.01, 1.05, 1.1, 1.2, 1.5, 2.0)
"""The running times' targets, as multiples of the best known loss."""


def ledger(runs: Runs) -> Iterator[LedgerRow]:
    """What each searcher's cells have drawn."""
    for name in runs.study.searchers:
        cells = [cell for cell in runs.study.summaries if cell.searcher == name]
        reasons = sorted({reason for cell in cells for reason in cell.infeasible})
        yield LedgerRow(
            name,
            len(cells),
            sum(cell.samples for cell in cells),
            sum(cell.distinct for cell in cells),
            {reason: sum(cell.infeasible.get(reason, 0) for cell in cells) for reason in reasons},
            sum(cell.elsewhere for cell in cells),
            sum(cell.searcher_seconds for cell in cells),
            sum(cell.model_seconds for cell in cells),
        )


def layers(runs: Runs) -> Iterator[LayerRow]:
    """Every problem's losses at the tables' budgets."""
    for (problem, searcher), stratum in runs.strata.items():
        budgets = runs.study.budgets_of(searcher)
        losses = stratum.losses(np.array(budgets))
        target, proven = runs.study.target(problem)
        centre, low, high = median_curve(losses, stratum.counts)
        for place, budget in enumerate(budgets):
            column = losses[:, place]
            ratio = float(centre[place] / target) if np.isfinite(target) else np.inf
            yield LayerRow(
                problem, budget, searcher, len(column), int(np.isfinite(column).sum()),
                float(column.min()), float(centre[place]), float(low[place]), float(high[place]),
                float(column.max()), target, proven, ratio,
            )  # fmt: skip


def runtimes(runs: Runs) -> Iterator[Runtime]:
    """Expected running times to the tables' targets."""
    for (problem, searcher), stratum in runs.strata.items():
        if problem not in runs.targets:
            continue
        times = times_to(stratum.runs, runs.targets[problem] * np.array(TABLE_TAUS))
        expected = expected_running_time(times, runs.study.budget_of(searcher))
        for tau, row, ert in zip(TABLE_TAUS, times, expected, strict=True):
            reached = int(np.isfinite(row).sum())
            yield Runtime(problem, tau, searcher, len(row), reached, float(ert), float(np.median(row)))
