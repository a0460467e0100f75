"""Searchers against each other: who ends lower how often, and who needs how many samples."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from dse.analysis.findings import Comparison, Efficiency, Improvement, Interval
from dse.analysis.runs import Runs, Stratum
from dse.analysis.significance import enough_runs
from dse.analysis.stats.bootstrap import Redraw, confidence_interval, interval_over_problems
from dse.analysis.stats.comparing import chances_of_ending_lower, holm_corrected, order_of, signed_rank_p
from dse.analysis.stats.runtimes import resampled_speedup, runtime_speedup, typical_ratio
from dse.support.arrays import IntArray


def chances_of_improvement(runs: Runs) -> Improvement:
    """Probabilities that one ends lower than another, of those that have the whole budget."""
    names = tuple(name for name in runs.study.searchers if name not in runs.study.cut)
    value, low, high = (np.full((len(names), len(names)), np.nan) for _ in range(3))
    enough = np.zeros((len(names), len(names)), bool)
    for i, one in enumerate(names):
        for j, other in enumerate(names[:i]):
            pairs = [(a, b) for _, a, b in runs.shared(one, other)]
            if pairs:
                found, _ = ends_lower(pairs, runs.study.budget)
                value[i, j], low[i, j], high[i, j] = found
                value[j, i], low[j, i], high[j, i] = 1 - value[i, j], 1 - high[i, j], 1 - low[i, j]
                enough[i, j] = enough[j, i] = _enough(pairs)
        value[i, i] = low[i, i] = high[i, i] = 0.5
    return Improvement(names, value, low, high, enough)


def _enough(pairs: Sequence[tuple[Stratum, Stratum]]) -> bool:
    return enough_runs((len(a.cells), len(b.cells)) for a, b in pairs)


def ends_lower(pairs: Sequence[tuple[Stratum, Stratum]], budget: int) -> tuple[Interval, Interval]:
    """The probability that a run of the first is lower than one of the second after `budget` samples.

    The mean over `pairs`, each of a problem; ties count half. Once with runs resampled, once with problems
    too.
    """
    at = np.array([budget])
    values, found = [], []
    for a, b in pairs:
        once = [np.ones((1, len(stratum.cells)), np.int32) for stratum in (a, b)]
        counts = [np.concatenate(both) for both in zip(once, (a.counts, b.counts), strict=True)]
        chance, *resampled = chances_of_ending_lower(
            a.losses(at)[:, 0], b.losses(at)[:, 0], (counts[0], counts[1])
        )
        values.append(chance)
        found.append(resampled)
    draws, centre = np.array(found), float(np.mean(values))
    wide = Redraw(*draws.shape).figures(draws).mean(axis=1)
    narrow = confidence_interval(draws.mean(axis=0), fewest_runs(pairs), len(pairs))
    return Interval(centre, *narrow), Interval(centre, *interval_over_problems(wide, len(pairs)))


def fewest_runs(pairs: Sequence[tuple[Stratum, Stratum]]) -> int:
    """The fewest runs that either has on a problem."""
    return min(len(stratum.cells) for pair in pairs for stratum in pair)


def sample_efficiency(runs: Runs) -> Iterator[Efficiency]:
    """The reference's samples against each other searcher's, in both directions."""
    reference = runs.study.reference
    for other in runs.study.searchers:
        if other != reference and any(runs.shared(reference, other)):
            yield _efficiency(runs, reference, other)
            yield _efficiency(runs, other, reference)


def _efficiency(runs: Runs, searcher: str, other: str) -> Efficiency:
    # Beyond the smaller budget one of them is unknown, and neither may win by going on.
    budget = min(map(runs.study.budget_of, (searcher, other)))
    values, draws, pairs = [], [], []
    for _, mine, theirs in runs.shared(searcher, other):
        pair = mine.within(budget), theirs.within(budget)
        value = runtime_speedup(*pair, budget)
        if not np.isnan(value):
            pairs.append((mine, theirs))
            values.append(value)
            draws.append(resampled_speedup(*pair, budget, mine.counts, theirs.counts))
    ratio = over_problems = None
    centre = float(typical_ratio(np.array(values))) if values else 0.0
    if centre > 0:
        wide = typical_ratio(Redraw(*np.shape(draws)).figures(np.array(draws)))
        ends = confidence_interval(typical_ratio(np.stack(draws, axis=-1)), fewest_runs(pairs), len(pairs))
        ratio, over_problems = (
            Interval(centre, *ends),
            Interval(centre, *interval_over_problems(wide, len(pairs))),
        )
    reached = sum(value > 0 for value in values)
    censored = reached < len(values)
    enough = _enough([(a, b) for _, a, b in runs.shared(searcher, other)])
    return Efficiency(searcher, other, ratio, censored, reached, len(values), budget, over_problems, enough)


def compare_medians(runs: Runs) -> tuple[Comparison, ...]:
    """The reference against each other searcher, by medians, of those that have the whole budget."""
    reference = runs.study.reference
    if reference in runs.study.cut:
        return ()
    found: list[tuple[str, IntArray, float]] = []
    for other in runs.study.searchers:
        pairs = [
            (float(np.median(a.final)), float(np.median(b.final)))
            for _, a, b in runs.shared(reference, other)
        ]
        if other in (reference, *runs.study.cut) or not pairs:
            continue
        mine, theirs = np.array(pairs).T
        order = order_of(mine, theirs)
        with np.errstate(invalid="ignore"):
            p = signed_rank_p(order, np.abs(np.log(mine) - np.log(theirs)))
        found.append((other, order.astype(np.int64), p))
    corrected = holm_corrected([p for _, _, p in found])
    rows = []
    for (other, signs, p), p_holm in zip(found, corrected, strict=True):
        wins, ties, losses = (int((signs == sign).sum()) for sign in (-1, 0, 1))
        rows.append(Comparison(reference, other, wins, ties, losses, p, float(p_holm)))
    return tuple(rows)
