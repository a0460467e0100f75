"""The tables that read the runs budget by budget, or target by target."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from dse.analysis.findings import Band, Findings, Interval
from dse.analysis.study import Study
from dse.report.formats import NOTHING, Section, Table, counted, factor, over_target, probability
from dse.report.limits import missing, seeds

VERSUS = (
    "reference",
    "searcher",
    "budget",
    "probability",
    "low",
    "high",
    "problems",
    "reference_seeds",
    "searcher_seeds",
)
TARGETS = (
    "reference",
    "searcher",
    "tau",
    "budget",
    "ratio",
    "low",
    "high",
    "reference_reached",
    "searcher_reached",
    "known",
    "problems",
)
GEOMEAN = ("searcher", "budget", "ratio", "low", "high", "problems", "seeds")


def standing_table(study: Study, findings: Findings) -> Table:
    """The interquartile means of all runs over the optima, at each budget."""
    found = {
        (name, budget): Interval(*_at(band, budget))
        for name, band in findings.gap.items()
        for budget in study.budgets_of(name)
    }
    rows = [(*key, *_ends(row)) for key, row in found.items()]
    shown = {key: _interval(row, over_target) for key, row in found.items()}
    cells = [[name, *_at_budgets(study, name, shown)] for name in findings.gap]
    scope = f"{counted(len(study.solved), 'problem')} and {seeds(study)}"
    title = (
        f"Best loss after so many samples / {goal(study)}: interquartile mean over {scope}, 95 % interval"
        f"{dashes(study)}"
    )
    heads = ["searcher", *(f"{budget:,}" for budget in study.budgets)]
    return _table("standing", ("searcher", "budget", "ratio", "low", "high"), rows, (title, heads, cells))


def versus_table(study: Study, findings: Findings) -> Table:
    """How likely the reference is the lower one, at each budget."""
    rows = [
        (
            row.reference,
            row.searcher,
            row.budget,
            *_ends(row.chance),
            row.problems,
            row.seeds,
            row.other_seeds,
        )
        for row in findings.versus
    ]
    found = {(row.searcher, row.budget): row for row in findings.versus}
    shown = {key: _interval(row.chance, probability) for key, row in found.items()}
    last = {row.searcher: row for row in findings.versus}
    cells = [
        [name, f"{row.seeds} : {row.other_seeds}", *_at_budgets(study, name, shown)]
        for name, row in last.items()
    ]
    me = study.reference
    title = (
        f"Probability that a run of {me} is lower after so many samples than one of the other, ties half, "
        f"95 % interval{dashes(study)}"
    )
    heads = [f"{me} against", "seeds", *(f"{budget:,}" for budget in study.budgets)]
    return _table("versus", VERSUS, rows, (title, heads, cells))


def targets_table(study: Study, findings: Findings) -> Table:
    """How many times fewer samples the reference needs to reach fixed targets."""
    rows = [
        (
            *(row.reference, row.searcher, row.tau, row.budget, *_ends(row.ratio)),
            *(row.reached, row.other_reached, row.known, row.problems),
        )
        for row in findings.targets
    ]
    taus = sorted({row.tau for row in findings.targets}, reverse=True)
    found = {(row.searcher, row.tau): row for row in findings.targets}
    budgets = {row.searcher: row.budget for row in findings.targets}
    cells = [
        [
            name,
            f"{budget:,}",
            *(_interval(found[name, tau].ratio, _times) for tau in taus),
        ]
        for name, budget in budgets.items()
    ]
    me = study.reference
    title = (
        f"Times fewer samples {me} needs than the other to be within so many times the best known: ratio of "
        "expected running times up to the smaller of their budgets, median over problems where either gets "
        f"there, 95 % interval; inf: the other mostly does not, 0: {me} mostly does not"
    )
    heads = [f"{me} against", "budget", *map(str, taus)]
    return _table("targets", TARGETS, rows, (title, heads, cells))


def geomean_table(study: Study, findings: Findings) -> Table:
    """The geometric mean of the medians over the optima, at each budget."""
    rows = [
        (row.searcher, row.budget, *_ends(row.ratio), row.problems, row.seeds) for row in findings.geomeans
    ]
    shown = {(row.searcher, row.budget): _interval(row.ratio, over_target) for row in findings.geomeans}
    fewest = {row.searcher: row.seeds for row in findings.geomeans}
    cells = [[name, str(count), *_at_budgets(study, name, shown)] for name, count in fewest.items()]
    title = (
        f"Median best loss after so many samples / {goal(study)}: geometric mean over "
        f"{counted(len(study.solved), 'problem')}, 95 % interval{dashes(study)}"
    )
    heads = ["searcher", "seeds", *(f"{budget:,}" for budget in study.budgets)]
    return _table("geomean", GEOMEAN, rows, (title, heads, cells))


def goal(study: Study) -> str:
    """What ratios are to, in words."""
    proven = [study.target(problem)[1] for problem in study.solved]
    if all(proven):
        return "the proven optimum"
    if study.proofs_to_come:
        return "the best known (optima not proven yet)"
    return f"the best known ({f'{sum(proven)} of {len(proven)}' if any(proven) else 'none'} proven)"


def dashes(study: Study) -> str:
    """Why a table over all budgets has dashes, for the end of its title; nothing if it has none."""
    return f"; a dash: beyond the budget of {missing(study)}" if study.cut else ""


def _at(band: Band, budget: int) -> tuple[float, float, float]:
    place = int(np.searchsorted(band.samples, budget))
    return float(band.centre[place]), float(band.low[place]), float(band.high[place])


def _at_budgets(study: Study, name: str, shown: Mapping[tuple[str, int], str]) -> Iterator[str]:
    return (shown.get((name, budget), NOTHING) for budget in study.budgets)


def _ends(found: Interval | None) -> tuple[float, float, float]:
    return (math.nan,) * 3 if found is None else (found.value, found.low, found.high)


def _interval(found: Interval | None, write: Callable[[float], str]) -> str:
    if found is None:
        return NOTHING
    text = write(found.value)
    wide = found.wide and math.isfinite(found.value)
    return f"{text} [{write(found.low)}, {write(found.high)}]" if wide else text


def _times(value: float) -> str:
    return "inf" if math.isinf(value) else factor(value)


def _table(name: str, columns: Sequence[str], rows: Sequence[tuple[object, ...]], section: Section) -> Table:
    sections = (section,) if rows else ()
    return Table(name, tuple(columns), tuple(rows), sections, sections)
