"""What is known at each of the tables' budgets: who is lower than the reference, how near to the optimum."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from dse.analysis.findings import Band, Interval, Standing, Versus
from dse.analysis.runs import Runs, Stratum
from dse.analysis.stats.bootstrap import Redraw, interval, median_draws, resampled_interquartile_means
from dse.analysis.study import Triple
from dse.analysis.versus import ends_lower


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


def standing(runs: Runs, bands: Mapping[str, Band]) -> Iterator[Standing]:
    """Each searcher's runs over the targets, at each budget that it has, and what a run costs.

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
        seeds = min(len(stratum.cells) for _, stratum in strata)
        budgets = np.array(runs.study.budgets_of(name))
        logs = [np.log(s.losses(budgets) / runs.targets[problem]) for problem, s in strata]
        for place, budget in enumerate(budgets.tolist()):
            column = np.concatenate([found[:, place] for found in logs])
            ratio = bands[name].at(budget)
            low, high = interval(np.exp(resampled_interquartile_means(column, wide)), len(strata))
            medians = _medians(runs, strata, budget)
            yield Standing(name, budget, ratio, Interval(ratio.value, low, high), *medians, seeds, *spent)


def _medians(runs: Runs, strata: Sequence[tuple[Triple, Stratum]], budget: int) -> tuple[Interval, Interval]:
    """The geometric mean of the medians over the targets, with runs resampled and with problems too."""
    logs, draws = [], []
    for problem, stratum in strata:
        losses = stratum.losses(np.array([budget]))[:, 0]
        logs.append(np.log(np.median(losses) / runs.targets[problem]))
        draws.append(np.log(median_draws(losses, stratum.counts) / runs.targets[problem]))
    centre, drawn = float(np.exp(np.mean(logs))), np.array(draws)
    wide = Redraw(*drawn.shape).figures(drawn).mean(axis=1)
    seeds = min(len(stratum.cells) for _, stratum in strata)
    narrow = Interval(centre, *interval(np.exp(drawn.mean(axis=0)), seeds, len(strata)))
    return narrow, Interval(centre, *interval(np.exp(wide), len(strata)))


def _turned(chance: Interval) -> Interval:
    """The chance of the other one."""
    return Interval(1 - chance.value, 1 - chance.high, 1 - chance.low)
