"""The rows of a report's tables: the ledger, and every layer."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dse.analysis.findings import TABLE_TAUS, LayerRow, LedgerRow
from dse.analysis.runs import Runs
from dse.analysis.stats.bootstrap import median_curve
from dse.analysis.stats.runtimes import time_within, times_to


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
    """Every problem's losses and expected running times at the tables' budgets."""
    for (problem, searcher), stratum in runs.strata.items():
        budgets = runs.study.budgets_of(searcher)
        losses = stratum.losses(np.array(budgets))
        target, proven = runs.study.target(problem)
        known = bool(np.isfinite(target))
        times = times_to(stratum.runs, target * np.array(TABLE_TAUS)) if known else None
        centre, low, high = median_curve(losses, stratum.counts)
        for place, budget in enumerate(budgets):
            column = losses[:, place]
            samples_to = () if times is None else tuple(time_within(times, budget).tolist())
            yield LayerRow(
                problem, budget, searcher, len(column), int(np.isfinite(column).sum()),
                float(column.min()), float(centre[place]), float(low[place]), float(high[place]),
                float(column.max()), target, proven, runs.study.bound(problem),
                float(centre[place] / target) if known else np.inf, samples_to,
            )  # fmt: skip
