"""Searchers against each other: who ends lower how often, and who needs how many samples."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from dse.report.findings import Comparison, Efficiency, Improvement, Interval
from dse.report.runs import Runs
from dse.report.stats.bootstrap import interval
from dse.report.stats.comparing import holm, order_of, resampled_improvement, signed_rank_p, victories
from dse.report.stats.efficiency import resampled_speedup, speedup, typical
from dse.report.verdict import efficiency_sentence

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]


def improvement(runs: Runs) -> Improvement:
    """Probabilities that one ends lower than another."""
    names = runs.study.searchers
    value, low, high = (np.full((len(names), len(names)), np.nan) for _ in range(3))
    for i, one in enumerate(names):
        for j, other in enumerate(names[:i]):
            pairs = [(victories(a.final, b.final), a, b) for _, a, b in runs.shared(one, other)]
            if pairs:
                draws = [resampled_improvement(won, a.counts, b.counts) for won, a, b in pairs]
                value[i, j] = np.mean([won.mean() for won, _, _ in pairs])
                low[i, j], high[i, j] = interval(np.mean(draws, axis=0))
                value[j, i], low[j, i], high[j, i] = 1 - value[i, j], 1 - high[i, j], 1 - low[i, j]
        value[i, i] = low[i, i] = high[i, i] = 0.5
    return Improvement(names, value, low, high)


def efficiency(runs: Runs) -> Iterator[Efficiency]:
    """The reference's samples against each other searcher's, in both directions."""
    reference = runs.study.reference
    for other in runs.study.searchers:
        if other != reference and any(runs.shared(reference, other)):
            yield _efficiency(runs, reference, other)
            yield _efficiency(runs, other, reference)


def _efficiency(runs: Runs, searcher: str, other: str) -> Efficiency:
    budget = runs.study.budget
    values, draws = [], []
    for _, mine, theirs in runs.shared(searcher, other):
        value = speedup(mine.runs, theirs.runs, budget)
        if not np.isnan(value):
            values.append(value)
            draws.append(resampled_speedup(mine.runs, theirs.runs, budget, mine.counts, theirs.counts))
    ratio = None
    centre = float(typical(np.array(values))) if values else 0.0
    if centre > 0:
        ratio = Interval(centre, *interval(typical(np.stack(draws, axis=-1))))
    reached = sum(value > 0 for value in values)
    sentence = efficiency_sentence(searcher, other, ratio, reached, len(values))
    return Efficiency(searcher, other, ratio, reached < len(values), reached, len(values), sentence)


def comparisons(runs: Runs) -> tuple[Comparison, ...]:
    """The reference against each other searcher, by medians."""
    reference = runs.study.reference
    found: list[tuple[str, IntArray, float]] = []
    for other in runs.study.searchers:
        pairs = [
            (float(np.median(a.final)), float(np.median(b.final)))
            for _, a, b in runs.shared(reference, other)
        ]
        if other == reference or not pairs:
            continue
        mine, theirs = np.array(pairs).T
        order = order_of(mine, theirs)
        with np.errstate(invalid="ignore"):
            p = signed_rank_p(order, np.abs(np.log(mine) - np.log(theirs)))
        found.append((other, order.astype(np.int64), p))
    corrected = holm([p for _, _, p in found])
    rows = []
    for (other, signs, p), p_holm in zip(found, corrected, strict=True):
        wins, ties, losses = (int((signs == sign).sum()) for sign in (-1, 0, 1))
        rows.append(Comparison(reference, other, wins, ties, losses, p, float(p_holm)))
    return tuple(rows)
