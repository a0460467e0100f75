"""What the paper's claims are judged by, as pure functions of campaigns' studies.

Intervals are those of the report's own bootstrap: each problem's seeds are drawn anew.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dse.analysis.findings import Interval
from dse.analysis.runs import Runs, Stratum
from dse.analysis.stats.bootstrap import confidence_interval, middle_places
from dse.analysis.stats.runtimes import TOLERANCE, times_to, typical_ratio
from dse.analysis.study import Study, Triple
from dse.analysis.versus import sample_efficiency
from dse.report.tables.targets import efficiency_sentence
from dse.support.arrays import FloatArray, IntArray
from experiments.intervals import Verdict

RESAMPLES = 2000


@dataclass(frozen=True)
class Contest:
    """Two searchers on the problems that both have finished, as `value` with its interval says.

    `seeds` is the least number of runs that either has on one of the `problems`; `note` says what the value
    alone does not.
    """

    one: str
    other: str
    value: Interval | None
    seeds: int
    problems: int
    note: str = ""


def among(study: Study, searchers: Sequence[str], objective: str | None = None) -> Study:
    """The study of some of its searchers on its problems of the objective, or on all of them.

    The reference is the campaign's, or the first where that is left out.
    """
    problems = [problem for problem in study.problems if objective in (None, problem[2])]
    cells = tuple(
        cell for cell in study.summaries if cell.searcher in searchers and objective in (None, cell.objective)
    )
    about = study.about | {"searchers": list(searchers), "problems": problems}
    return replace(study, about=about, summaries=cells)


def fewer_samples(study: Study, one: str, other: str) -> Contest:
    """How many times fewer samples `one` needs to get where `other` typically ends, both charged alike.

    This is the report's efficiency: COCO's expected running times to the median of other's final losses.
    """
    runs = Runs(among(study, (one, other)), RESAMPLES)
    seeds, problems = _size(runs, one, other)
    rows = [row for row in sample_efficiency(runs) if row.searcher == one]
    if not rows:
        return Contest(one, other, None, seeds, problems)
    return Contest(one, other, rows[0].ratio, seeds, problems, efficiency_sentence(runs.study, rows[0]))


def budget_over_samples(study: Study, one: str, other: str) -> Contest:
    """The whole budget over the samples after which `one` typically is where `other` typically ends.

    This is how the paper counts: `other` is charged for all samples, also for those after which it got no
    further. The median over problems; 0 where half of one's runs do not get there.
    """
    runs = Runs(among(study, (one, other)), RESAMPLES)
    seeds, problems = _size(runs, one, other)
    values, draws = [], []
    for _, mine, theirs in runs.shared(one, other):
        whole = [np.ones((1, len(stratum.runs)), np.int64) for stratum in (mine, theirs)]
        values.append(float(_saved(mine, theirs, study.budget, whole[0], whole[1])[0]))
        draws.append(_saved(mine, theirs, study.budget, mine.counts, theirs.counts))
    if not values:
        return Contest(one, other, None, seeds, problems)
    centre = float(typical_ratio(np.array(values)))
    ends = confidence_interval(typical_ratio(np.stack(draws, axis=-1)), seeds, problems)
    spread = f"{min(values):.3g} to {max(values):.3g} on single problems"
    return Contest(one, other, Interval(centre, *ends), seeds, problems, spread)


def _saved(
    mine: Stratum, theirs: Stratum, budget: int, my_counts: IntArray, their_counts: IntArray
) -> FloatArray:
    """The budget over my median time to their median final loss, in each resample."""
    final = np.sort(theirs.final)
    places, which = np.unique(
        middle_places(their_counts[:, np.argsort(theirs.final, kind="stable")]), axis=0, return_inverse=True
    )
    saved = np.empty(len(my_counts))
    for place, ends in enumerate(final[places]):
        drawn = which.ravel() == place
        times = times_to(mine.runs, [ends[0] / 2 + ends[1] / 2])[0]
        order = np.argsort(times, kind="stable")
        saved[drawn] = budget / times[order][middle_places(my_counts[drawn][:, order])].mean(axis=1)
    return saved


def loss_ratio(study: Study, one: str, other: str, samples: int, others: int | None = None) -> Contest:
    """One's loss over other's: geometric mean over problems of ratios of medians.

    Both are after so many samples, or the other after `others`.
    """
    runs = Runs(among(study, (one, other)), RESAMPLES)
    seeds, problems = _size(runs, one, other)
    values, draws = [], []
    for _, mine, theirs in runs.shared(one, other):
        logs = [_log_medians(mine, samples), _log_medians(theirs, others or samples)]
        values.append(_difference(logs[0][0], logs[1][0]))
        draws.append(_difference(logs[0][1], logs[1][1]))
    if not values:
        return Contest(one, other, None, seeds, problems)
    ends = confidence_interval(np.exp(np.mean(draws, axis=0)), seeds, problems)
    return Contest(one, other, Interval(float(np.exp(np.mean(values))), *ends), seeds, problems)


def over_best_known(study: Study, searcher: str, samples: int) -> Contest:
    """A searcher's loss after so many samples over the lowest known: geometric mean of ratios of medians."""
    runs = Runs(among(study, (searcher,)), RESAMPLES)
    seeds, problems = _size(runs, searcher, searcher)
    found = [(_log_medians(mine, samples), problem) for problem, mine, _ in runs.shared(searcher, searcher)]
    least = [np.log(study.target(problem)[0]) for _, problem in found]
    values = [logs[0] - best for (logs, _), best in zip(found, least, strict=True)]
    draws = [logs[1] - best for (logs, _), best in zip(found, least, strict=True)]
    ends = confidence_interval(np.exp(np.mean(draws, axis=0)), seeds, problems)
    mean = float(np.exp(np.mean(values)))
    return Contest(searcher, "", Interval(mean, *ends), seeds, problems)


def steps_to(study: Study, one: str, other: str, samples: int) -> tuple[Contest, int]:
    """How many times as many samples as `samples` the other takes to be where one typically is after these.

    The geometric mean over problems of medians over seeds; and on how many problems the median run never is
    there: it counts as if it were at its end, which is a lower bound.
    """
    runs = Runs(among(study, (one, other)), RESAMPLES)
    seeds, problems = _size(runs, one, other)
    values, draws, censored = [], [], 0
    for _, mine, theirs in runs.shared(one, other):
        target = float(np.median(mine.losses(np.array([samples]))[:, 0]))
        ends = np.array([cell.samples for cell in theirs.cells], np.float64)
        times = times_to(theirs.runs, [target])[0]
        censored += bool(np.isinf(np.median(times)))
        times = np.log(np.minimum(times, ends) / samples)
        order = np.argsort(times, kind="stable")
        values.append(float(np.median(times)))
        draws.append(times[order][middle_places(theirs.counts[:, order])].mean(axis=1))
    if not values:
        return Contest(one, other, None, seeds, problems), 0
    found = confidence_interval(np.exp(np.mean(draws, axis=0)), seeds, problems)
    return Contest(one, other, Interval(float(np.exp(np.mean(values))), *found), seeds, problems), censored


def most_possible(study: Study, searcher: str, problems: Sequence[Triple]) -> float:
    """How many times better than `searcher` anything could be: the geometric mean over problems of its median
    loss over the lowest known (or proven) one; NaN where it has no runs on one."""
    ratios = [
        np.median([cell.best for cell in study.cells(problem, searcher)] or [math.nan])
        / study.target(problem)[0]
        for problem in problems
    ]
    return float(np.exp(np.mean(np.log(ratios))))


def _log_medians(stratum: Stratum, samples: int) -> tuple[FloatArray, FloatArray]:
    """The log of the median best loss after so many samples, and that of each resample."""
    losses = stratum.losses(np.array([samples]))[:, 0]
    order = np.argsort(losses, kind="stable")
    resampled = np.log(losses[order][middle_places(stratum.counts[:, order])]).mean(axis=1)
    return np.asarray(np.log(np.median(losses))), resampled


def _difference(one: FloatArray, other: FloatArray) -> FloatArray:
    with np.errstate(invalid="ignore"):
        difference = one - other
    # Where neither has found anything feasible, neither is better.
    return np.where(np.isnan(difference), 0.0, difference)


def _size(runs: Runs, one: str, other: str) -> tuple[int, int]:
    sizes = [min(len(a.cells), len(b.cells)) for _, a, b in runs.shared(one, other)]
    return min(sizes, default=0), len(sizes)


def above_one(found: Interval | None) -> Verdict:
    """Whether a ratio is above 1; one that is exactly 1 is inconclusive, as where both are at the optimum."""
    if found is None or not math.isfinite(found.value):
        return "inconclusive"
    if found.low > 1 + TOLERANCE:
        return "borne out"
    return "not borne out" if found.high < 1 - TOLERANCE else "inconclusive"


def best_numbers(
    claimed: Sequence[str], others: Sequence[str], ratios: Mapping[tuple[str, str], Interval]
) -> Verdict:
    """Whether one of the `claimed` variants is better than all `others`.

    `ratios[one, other]` is one's loss over other's. It is borne out if a claimed variant is below every
    other by its whole interval, and not borne out if some other is below every claimed one.
    """
    if any(all(ratios[one, other].high < 1 for other in others) for one in claimed):
        return "borne out"
    if any(all(ratios[one, other].low > 1 for one in claimed) for other in others):
        return "not borne out"
    return "inconclusive"
