"""From a study to its findings: the statistics, applied to its runs problem by problem and over all."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

import numpy as np

from dse.analysis.findings import (
    RESAMPLES,
    TABLE_TAUS,
    Band,
    Findings,
    Interval,
    LayerRow,
    LedgerRow,
    Profile,
    Standing,
    TargetRatio,
    Versus,
)
from dse.analysis.runs import Runs, Stratum
from dse.analysis.stats.bootstrap import (
    Redraw,
    confidence_interval,
    interquartile_curve,
    interval_over_problems,
    median_curve,
    median_draws,
    resampled_interquartile_means,
    share_curve,
    side_by_side,
)
from dse.analysis.stats.runtimes import (
    TAUS,
    TOLERANCE,
    part_ends,
    share_reached,
    time_within,
    times_to,
    typical_ratio,
)
from dse.analysis.study import Study, Triple
from dse.analysis.versus import (
    chances_of_improvement,
    compare_medians,
    ends_lower,
    fewest_runs,
    sample_efficiency,
)
from dse.core.objective import names_several
from dse.support.arrays import FloatArray, IntArray

PROFILE_POINTS = 100

Times = tuple[FloatArray, FloatArray]
"""Both searchers' expected running times on a problem: of the runs first, then of resamples."""


def convergence(runs: Runs) -> dict[Triple, dict[str, Band]]:
    """Medians of the best loss so far."""
    found: dict[Triple, dict[str, Band]] = {}
    for (problem, searcher), stratum in runs.strata.items():
        grid = runs.grid_of(searcher)
        losses = stratum.losses(grid)
        centre, low, high = median_curve(losses, stratum.counts)
        band = Band(grid, centre, _above(runs.study.bound(problem), losses, low), high)
        found.setdefault(problem, {})[searcher] = band
    return found


def mean_losses(runs: Runs) -> dict[Triple, dict[str, Band]]:
    """Medians of the mean loss in each part of the run."""
    found: dict[Triple, dict[str, Band]] = {}
    for (problem, searcher), stratum in runs.strata.items():
        parts = len(stratum.cells[0].mean_losses)
        if parts and all(len(cell.mean_losses) == parts for cell in stratum.cells):
            values = np.array([cell.mean_losses for cell in stratum.cells], np.float64)
            ends = part_ends(runs.study.budget_of(searcher), parts)
            found.setdefault(problem, {})[searcher] = Band(ends, *median_curve(values, stratum.counts))
    return found


def mean_gaps(runs: Runs, problems: Collection[Triple] | None = None) -> dict[str, Band]:
    """Interquartile means of the best so far over the target, on all problems or on `problems` alone."""
    found = {}
    for searcher in runs.aggregated:
        strata = [pair for pair in runs.of(searcher) if problems is None or pair[0] in problems]
        if not strata:
            continue
        grid = runs.grid_of(searcher)
        logs = [np.log(stratum.losses(grid) / runs.targets[problem]) for problem, stratum in strata]
        counts = side_by_side([stratum.counts for _, stratum in strata])
        curve = interquartile_curve(np.concatenate(logs), counts, len(strata))
        found[searcher] = Band(grid, *(np.exp(part) for part in curve))
    return found


def gap_seeds(runs: Runs) -> dict[str, FloatArray]:
    """Final ratios of single cells that have the whole budget."""
    seeds = sorted({cell.seed for cell in runs.study.summaries})
    column = {seed: place for place, seed in enumerate(seeds)}
    shape = len(runs.study.problems), max(len(seeds), runs.study.seeds)
    found = {name: np.full(shape, np.nan) for name in runs.study.searchers}
    for row, problem in enumerate(runs.study.problems):
        for searcher in (name for name in runs.study.searchers if name not in runs.study.cut):
            for cell in runs.study.cells(problem, searcher):
                target = runs.targets.get(problem, 1.0)
                found[searcher][row, column[cell.seed]] = cell.best / target
    return found


def fronts(runs: Runs) -> dict[str, Band]:
    """Interquartile means of the share of the exact front's hypervolume that is missing."""
    found, problems = {}, [problem for problem in runs.targets if names_several(problem[2])]
    for searcher in runs.aggregated if problems else ():
        strata = [stratum for problem, stratum in runs.of(searcher) if problem in problems]
        grid = runs.grid_of(searcher)
        missing = [np.minimum(stratum.losses(grid) - 1.0, 1.0) for stratum in strata]
        counts = side_by_side([stratum.counts for stratum in strata])
        found[searcher] = Band(grid, *interquartile_curve(np.concatenate(missing), counts))
    return found


def ecdf(runs: Runs) -> dict[str, tuple[IntArray, FloatArray]]:
    """Shares of targets reached, as far as each searcher's budget goes: beyond it nothing is known."""
    found = {}
    for searcher in runs.aggregated:
        times = [
            times_to(stratum.runs, runs.targets[problem] * np.array(TAUS)).ravel()
            for problem, stratum in runs.of(searcher)
        ]
        grid = runs.grid_of(searcher)
        found[searcher] = (grid, share_reached(np.concatenate(times), grid))
    return found


def profiles(runs: Runs) -> dict[str, Profile]:
    """Shares of runs within a ratio of the target."""
    ratios = {
        searcher: np.concatenate([s.final / runs.targets[problem] for problem, s in runs.of(searcher)])
        for searcher in runs.whole
    }
    finite = [ratio[np.isfinite(ratio)] for ratio in ratios.values()]
    widest = max((float(ratio.max()) for ratio in finite if len(ratio)), default=1.0)
    at = 1 + np.concatenate([[0.0], np.geomspace(1e-3, max(widest - 1, 0.1), PROFILE_POINTS)])
    found = {}
    for searcher, ratio in ratios.items():
        counts = [stratum.counts for _, stratum in runs.of(searcher)]
        within = ratio[:, None] <= at * (1 + TOLERANCE)
        found[searcher] = Profile(at, *share_curve(within, side_by_side(counts), len(counts)))
    return found


def analyse_study(study: Study, resamples: int = RESAMPLES) -> Findings:
    """All findings of a study. They depend on the study and `resamples` alone; nothing is drawn unseeded."""
    runs = Runs(study, resamples)
    bands = mean_gaps(runs)
    return Findings(
        convergence=convergence(runs),
        mean_losses=mean_losses(runs),
        gap=bands,
        gap_seeds=gap_seeds(runs),
        fronts=fronts(runs),
        ecdf=ecdf(runs),
        profiles=profiles(runs),
        improvement=chances_of_improvement(runs),
        versus=tuple(versus(runs)),
        efficiency=tuple(sample_efficiency(runs)),
        targets=tuple(target_ratios(runs)),
        comparisons=compare_medians(runs),
        ledger=tuple(ledger(runs)),
        standing=tuple(standing(runs, bands)),
        layers=tuple(layers(runs)),
    )


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


def _above(bound: float, losses: FloatArray, low: FloatArray) -> FloatArray:
    """The lower ends of intervals, which are Student's of few seeds and know nothing of the proven bound.

    NaN is no bound, nor is one that a loss refutes.
    """
    return np.asarray(np.fmax(low, np.minimum(bound, losses.min(initial=np.inf))), np.float64)


def layers(runs: Runs) -> Iterator[LayerRow]:
    """Every problem's losses and expected running times at the tables' budgets."""
    for (problem, searcher), stratum in runs.strata.items():
        budgets = runs.study.budgets_of(searcher)
        losses = stratum.losses(np.array(budgets))
        target, proven = runs.study.target(problem)
        known = bool(np.isfinite(target))
        times = times_to(stratum.runs, target * np.array(TABLE_TAUS)) if known else None
        centre, low, high = median_curve(losses, stratum.counts)
        low = _above(runs.study.bound(problem), losses, low)
        for place, budget in enumerate(budgets):
            column = losses[:, place]
            samples_to = () if times is None else tuple(time_within(times, budget).tolist())
            yield LayerRow(
                problem, budget, searcher, len(column), int(np.isfinite(column).sum()),
                float(column.min()), float(centre[place]), float(low[place]), float(high[place]),
                float(column.max()), target, proven, runs.study.bound(problem),
                float(centre[place] / target) if known else np.inf, samples_to,
            )  # fmt: skip


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
            means = np.exp(resampled_interquartile_means(column, wide))
            ends = interval_over_problems(means, len(strata))
            medians = _medians(runs, strata, budget)
            yield Standing(name, budget, ratio, Interval(ratio.value, *ends), *medians, seeds, *spent)


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
    narrow = Interval(centre, *confidence_interval(np.exp(drawn.mean(axis=0)), seeds, len(strata)))
    return narrow, Interval(centre, *interval_over_problems(np.exp(wide), len(strata)))


def _turned(chance: Interval) -> Interval:
    """The chance of the other one."""
    return Interval(1 - chance.value, 1 - chance.high, 1 - chance.low)


def target_ratios(runs: Runs) -> Iterator[TargetRatio]:
    """The reference against each other searcher, both up to the smaller of their budgets."""
    reference = runs.study.reference
    for other in runs.study.searchers:
        pairs = [pair for pair in runs.shared(reference, other) if pair[0] in runs.targets]
        if other == reference or not pairs:
            continue
        budget = min(map(runs.study.budget_of, (reference, other)))
        seeds = fewest_runs([pair[1:] for pair in pairs])
        times = [
            tuple(_running_times(stratum, runs.targets[problem], budget) for stratum in (mine, theirs))
            for problem, mine, theirs in pairs
        ]
        for place, tau in enumerate(TABLE_TAUS):
            at = [(a[place], b[place]) for a, b in times]
            mine, theirs = (
                tuple(pair[0] for pair, times in zip(pairs, at, strict=True) if np.isinf(times[side][0]))
                for side in (0, 1)
            )
            # Where neither gets there, nothing is known of the ratio, not even that it is 1.
            known = [(a, b) for a, b in at if np.isfinite(a[0]) or np.isfinite(b[0])]
            ratios = _ratio(known, seeds)
            yield TargetRatio(reference, other, tau, budget, *ratios, mine, theirs, len(known), len(at))


def _ratio(known: list[Times], seeds: int) -> tuple[Interval | None, Interval | None]:
    """The median ratio over problems, with runs resampled and with problems too; None without any."""
    if not known:
        return None, None
    with np.errstate(invalid="ignore"):
        ratios = np.array([b / a for a, b in known])
    values = typical_ratio(ratios.T)
    wide = typical_ratio(Redraw(len(known), ratios.shape[1] - 1).figures(ratios[:, 1:]))
    centre = float(values[0])
    narrow = Interval(centre, *confidence_interval(values[1:], seeds, len(known)))
    return narrow, Interval(centre, *interval_over_problems(wide, len(known)))


def _running_times(stratum: Stratum, target: float, budget: int) -> FloatArray:
    """Expected running times to each of TABLE_TAUS within a budget: (targets, 1 + resamples)."""
    times = times_to(stratum.runs, target * np.array(TABLE_TAUS))[:, None, :]
    counts = np.concatenate([np.ones((1, times.shape[-1]), np.int32), stratum.counts])
    return time_within(times, budget, counts[None])
