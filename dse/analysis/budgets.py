"""What is known at each of the tables' budgets: who is lower than the reference, how near to the optimum."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dse.analysis.findings import Geomean, Interval, Versus
from dse.analysis.runs import Runs, Stratum
from dse.analysis.stats.bootstrap import interval, median_draws
from dse.analysis.versus import ends_lower
from dse.support.arrays import FloatArray


def versus(runs: Runs) -> Iterator[Versus]:
    """The reference against each other searcher, at each budget that both have."""
    study = runs.study
    reference, names = study.reference, study.searchers
    for other in names:
        pairs = list(runs.shared(reference, other)) if other != reference else []
        if not pairs:
            continue
        seeds = min(len(mine.cells) for _, mine, _ in pairs)
        theirs = min(len(stratum.cells) for _, _, stratum in pairs)
        for budget in study.budgets_of(reference, other):
            # The order of the matrix of all against all, so that the same interval stands in both.
            if names.index(reference) > names.index(other):
                chance = ends_lower([(a, b) for _, a, b in pairs], budget)
            else:
                found = ends_lower([(b, a) for _, a, b in pairs], budget)
                chance = Interval(1 - found.value, 1 - found.high, 1 - found.low)
            yield Versus(reference, other, budget, chance, len(pairs), seeds, theirs)


def geomeans(runs: Runs) -> Iterator[Geomean]:
    """Each searcher's medians over the targets, at each budget that it has."""
    for name in runs.aggregated:
        strata = runs.of(name)
        seeds = min(len(stratum.cells) for _, stratum in strata)
        for budget in runs.study.budgets_of(name):
            logs, draws = [], []
            for problem, stratum in strata:
                median, resampled = _medians(stratum, budget)
                logs.append(np.log(median / runs.targets[problem]))
                draws.append(np.log(resampled / runs.targets[problem]))
            ends = interval(np.exp(np.mean(draws, axis=0)))
            ratio = Interval(float(np.exp(np.mean(logs))), *ends)
            yield Geomean(name, budget, ratio, len(strata), seeds)


def _medians(stratum: Stratum, budget: int) -> tuple[float, FloatArray]:
    """The median loss after so many samples, and that of each resample."""
    losses = stratum.losses(np.array([budget]))[:, 0]
    return float(np.median(losses)), median_draws(losses, stratum.counts)
