"""Fixed targets: how many times fewer samples the reference needs than each other searcher to reach them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dse.analysis.findings import Interval, TargetRatio
from dse.analysis.rows import TABLE_TAUS
from dse.analysis.runs import Runs, Stratum
from dse.analysis.stats.bootstrap import interval
from dse.analysis.stats.efficiency import typical
from dse.analysis.stats.runtimes import expected_running_time, times_to
from dse.support.arrays import FloatArray


def target_ratios(runs: Runs) -> Iterator[TargetRatio]:
    """The reference against each other searcher, both up to the smaller of their budgets."""
    reference = runs.study.reference
    for other in runs.study.searchers:
        pairs = [pair for pair in runs.shared(reference, other) if pair[0] in runs.targets]
        if other == reference or not pairs:
            continue
        budget = min(map(runs.study.budget_of, (reference, other)))
        times = [
            tuple(_running_times(stratum, runs.targets[problem], budget) for stratum in (mine, theirs))
            for problem, mine, theirs in pairs
        ]
        for place, tau in enumerate(TABLE_TAUS):
            at = [(a[place], b[place]) for a, b in times]
            yield _ratio(reference, other, tau, budget, at)


def _ratio(
    reference: str, other: str, tau: float, budget: int, at: list[tuple[FloatArray, FloatArray]]
) -> TargetRatio:
    """One row, from both searchers' running times on each problem: of the runs first, then of resamples."""
    reached, theirs = (sum(bool(np.isfinite(pair[side][0])) for pair in at) for side in (0, 1))
    # Where neither gets there, nothing tells them apart, and nothing says that they are alike.
    known = [(a, b) for a, b in at if np.isfinite(a[0]) or np.isfinite(b[0])]
    ratio = None
    if known:
        with np.errstate(invalid="ignore"):
            values = typical(np.stack([b / a for a, b in known], axis=-1))
        ratio = Interval(float(values[0]), *interval(values[1:]))
    return TargetRatio(reference, other, tau, budget, ratio, reached, theirs, len(known), len(at))


def _running_times(stratum: Stratum, target: float, budget: int) -> FloatArray:
    """Expected running times to each of TABLE_TAUS within a budget: (targets, 1 + resamples)."""
    times = times_to(stratum.runs, target * np.array(TABLE_TAUS))
    times = np.where(times <= budget, times, np.inf)[:, None, :]
    counts = np.concatenate([np.ones((1, times.shape[-1]), np.int64), stratum.counts])
    return expected_running_time(times, budget, counts[None])
