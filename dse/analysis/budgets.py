"""What is known at each of the tables' budgets: who is lower than the reference, how near to the optimum."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from dse.analysis.findings import Band, Geomean, Interval, Standing, Versus
from dse.analysis.runs import Runs, Stratum
from dse.analysis.stats.bootstrap import (
    Redraw,
    interval,
    median_draws,
    resampled_interquartile_means,
)
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
                found = ends_lower([(a, b) for _, a, b in pairs], budget)
            else:
                turned = ends_lower([(b, a) for _, a, b in pairs], budget)
                found = _turned(turned[0]), _turned(turned[1])
            yield Versus(reference, other, budget, *found, len(pairs), seeds, theirs)


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
            centre, drawn = float(np.exp(np.mean(logs))), np.array(draws)
            ratio = Interval(centre, *interval(np.exp(drawn.mean(axis=0))))
            wide = Redraw(*drawn.shape).figures(drawn).mean(axis=1)
            over_problems = Interval(centre, *interval(np.exp(wide)))
            yield Geomean(name, budget, ratio, over_problems, len(strata), seeds)


def standing(runs: Runs, bands: Mapping[str, Band]) -> Iterator[Standing]:
    """Each searcher's interquartile mean over all runs, at each budget that it has, and what a run costs.

    `bands` are those of the gap, on grids that have the budgets.
    """
    for name in runs.aggregated:
        strata = runs.of(name)
        counts = [stratum.counts for _, stratum in strata]
        wide = Redraw(len(strata), len(counts[0])).counts(counts)
        cells = [cell for _, stratum in strata for cell in stratum.cells]
        spent = [
            float(np.mean([cell.searcher_seconds for cell in cells])),
            float(np.mean([cell.model_seconds for cell in cells])),
        ]
        budgets = np.array(runs.study.budgets_of(name))
        logs = np.concatenate([np.log(s.losses(budgets) / runs.targets[problem]) for problem, s in strata])
        for budget, column in zip(budgets, logs.T, strict=True):
            ratio = bands[name].at(budget)
            low, high = interval(np.exp(resampled_interquartile_means(column, wide)))
            yield Standing(name, int(budget), ratio, Interval(ratio.value, low, high), *spent)


def _turned(chance: Interval) -> Interval:
    """The chance of the other one."""
    return Interval(1 - chance.value, 1 - chance.high, 1 - chance.low)


def _medians(stratum: Stratum, budget: int) -> tuple[float, FloatArray]:
    """The median loss after so many samples, and that of each resample."""
    losses = stratum.losses(np.array([budget]))[:, 0]
    return float(np.median(losses)), median_draws(losses, stratum.counts)
