"""The tables that read the runs budget by budget, or target by target."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence

from dse.analysis.findings import Findings, Interval
from dse.analysis.study import Study
from dse.report.formats import NOTHING, Section, Table, counted, factor, over_target, probability
from dse.report.limits import missing, seeds

WIDE = ("low_over_problems", "high_over_problems")
VERSUS = (
    "reference",
    "searcher",
    "budget",
    "probability",
    "low",
    "high",
    *WIDE,
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
    *WIDE,
    "reference_reached",
    "searcher_reached",
    "known",
    "problems",
    "reference_missed",
    "searcher_missed",
)
GEOMEAN = ("searcher", "budget", "ratio", "low", "high", *WIDE, "problems", "seeds")
STANDING = ("searcher", "budget", "ratio", "low", "high", *WIDE, "searcher_seconds", "model_seconds", "start")
MARK = "\0"
"""Where a title says how its intervals are resampled."""
PROBLEMS_TOO = "resampled over problems too"
"""What is said of intervals about problems like those of the campaign."""


def standing_table(study: Study, findings: Findings) -> Table:
    """The interquartile means of all runs over the optima, at each budget."""
    rows = [
        (
            row.searcher,
            row.budget,
            *_ends(row.ratio),
            *_wide(row.over_problems),
            row.own_seconds,
            row.model_seconds,
            study.begins(row.searcher),
        )
        for row in findings.standing
    ]
    names = dict.fromkeys(row.searcher for row in findings.standing)
    seconds = {row.searcher: row.own_seconds + row.model_seconds for row in findings.standing}
    scope = f"{counted(len(study.solved), 'problem')} and {seeds(study)}"
    title = (
        f"Best loss after so many samples / {goal(study)}: interquartile mean of logarithms over {scope}, "
        f"95 % interval{MARK}; CPU seconds of a run, cost model included{dashes(study)}"
    )
    heads = ["searcher", "start", *(f"{budget:,}" for budget in study.budgets), "CPU s a run"]

    def section(title: str, found: Mapping[tuple[str, int], Interval]) -> Section:
        shown = {key: _interval(row, over_target) for key, row in found.items()}
        cells = [
            [name, study.begins(name) or NOTHING, *_at_budgets(study, name, shown), f"{seconds[name]:,.1f}"]
            for name in names
        ]
        return title, heads, cells

    narrow = section(_titled(title, ""), {(row.searcher, row.budget): row.ratio for row in findings.standing})
    wide = {(row.searcher, row.budget): row.over_problems for row in findings.standing}
    return _table("standing", STANDING, rows, narrow, section(_titled(title, f" {PROBLEMS_TOO}"), wide))


def versus_table(study: Study, findings: Findings) -> Table:
    """How likely the reference is the lower one, at each budget."""
    rows = [
        (
            row.reference,
            row.searcher,
            row.budget,
            *_ends(row.chance),
            *_wide(row.over_problems),
            row.problems,
            row.seeds,
            row.other_seeds,
        )
        for row in findings.versus
    ]
    last = {row.searcher: row for row in findings.versus}
    tests = {row.searcher: probability(row.p_holm) for row in findings.comparisons}
    me = study.reference
    title = (
        f"Probability that a run of {me} is lower after so many samples than one of the other, ties half, "
        f"95 % interval{MARK}; p of the signed-rank test over problems at the end, by Holm{dashes(study)}"
    )
    heads = [f"{me} against", "seeds", *(f"{budget:,}" for budget in study.budgets), "p (Holm)"]

    def section(title: str, found: Mapping[tuple[str, int], Interval]) -> Section:
        shown = {key: _interval(row, probability) for key, row in found.items()}
        cells = [
            [
                name,
                f"{row.seeds} : {row.other_seeds}",
                *_at_budgets(study, name, shown),
                tests.get(name, NOTHING),
            ]
            for name, row in last.items()
        ]
        return title, heads, cells

    narrow = section(_titled(title, ""), {(row.searcher, row.budget): row.chance for row in findings.versus})
    wide = {(row.searcher, row.budget): row.over_problems for row in findings.versus}
    return _table("versus", VERSUS, rows, narrow, section(_titled(title, f" {PROBLEMS_TOO}"), wide))


def targets_table(study: Study, findings: Findings) -> Table:
    """How many times fewer samples the reference needs to reach fixed targets."""
    rows = [
        (
            *(row.reference, row.searcher, row.tau, row.budget, *_ends(row.ratio), *_wide(row.over_problems)),
            *(row.reached, row.other_reached, row.known, row.problems),
            *("; ".join(map(study.label, missed)) for missed in (row.missed, row.other_missed)),
        )
        for row in findings.targets
    ]
    taus = sorted({row.tau for row in findings.targets}, reverse=True)
    found = {(row.searcher, row.tau): row for row in findings.targets}
    budgets = {row.searcher: row.budget for row in findings.targets}
    me = study.reference
    title = (
        f"Times fewer samples {me} needs than the other to be within so many times the best known: ratio of "
        "expected running times up to the smaller of their budgets, median over problems where either gets "
        f"there, 95 % interval{MARK}; inf: the other mostly does not, 0: {me} mostly does not"
    )
    heads = [f"{me} against", "budget", *map(str, taus)]

    def section(title: str, wide: bool) -> Section:
        shown = {key: row.over_problems if wide else row.ratio for key, row in found.items()}
        cells = [
            [name, f"{budget:,}", *(_interval(shown[name, tau], _times) for tau in taus)]
            for name, budget in budgets.items()
        ]
        return title, heads, cells

    missed = [
        [str(row.tau), name, str(len(problems)), "; ".join(map(study.label, problems))]
        for row in findings.targets
        for name, problems in ((me, row.missed), (row.searcher, row.other_missed))
        if problems and (name != me or row is found[next(iter(budgets)), row.tau])
    ]
    unreached = ("Targets that no run reaches", ["within", "searcher", "problems", "which"], missed)
    sections = [section(_titled(title, ""), False), section(_titled(title, f" {PROBLEMS_TOO}"), True)]
    return _table("targets", TARGETS, rows, *sections, *([unreached] if missed else []))


def geomean_table(study: Study, findings: Findings) -> Table:
    """The geometric mean of the medians over the optima, at each budget."""
    rows = [
        (row.searcher, row.budget, *_ends(row.ratio), *_wide(row.over_problems), row.problems, row.seeds)
        for row in findings.geomeans
    ]
    fewest = {row.searcher: row.seeds for row in findings.geomeans}
    title = (
        f"Median best loss after so many samples / {goal(study)}: geometric mean over "
        f"{counted(len(study.solved), 'problem')}, 95 % interval{MARK}{dashes(study)}"
    )
    heads = ["searcher", "seeds", *(f"{budget:,}" for budget in study.budgets)]

    def section(title: str, found: Mapping[tuple[str, int], Interval]) -> Section:
        shown = {key: _interval(row, over_target) for key, row in found.items()}
        cells = [[name, str(count), *_at_budgets(study, name, shown)] for name, count in fewest.items()]
        return title, heads, cells

    narrow = section(_titled(title, ""), {(row.searcher, row.budget): row.ratio for row in findings.geomeans})
    wide = {(row.searcher, row.budget): row.over_problems for row in findings.geomeans}
    return _table("geomean", GEOMEAN, rows, narrow, section(_titled(title, f" {PROBLEMS_TOO}"), wide))


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


def _at_budgets(study: Study, name: str, shown: Mapping[tuple[str, int], str]) -> Iterator[str]:
    return (shown.get((name, budget), NOTHING) for budget in study.budgets)


def _ends(found: Interval | None) -> tuple[float, float, float]:
    return (math.nan,) * 3 if found is None else (found.value, found.low, found.high)


def _titled(title: str, how: str) -> str:
    return title.replace(MARK, how)


def _wide(found: Interval | None) -> tuple[float, float]:
    return (math.nan,) * 2 if found is None else (found.low, found.high)


def _interval(found: Interval | None, write: Callable[[float], str]) -> str:
    if found is None:
        return NOTHING
    text = write(found.value)
    wide = found.wide and math.isfinite(found.value)
    return f"{text} [{write(found.low)}, {write(found.high)}]" if wide else text


def _times(value: float) -> str:
    return "inf" if math.isinf(value) else factor(value)


def _table(
    name: str, columns: Sequence[str], rows: Sequence[tuple[object, ...]], *sections: Section
) -> Table:
    """A table; a page and a terminal show its first section."""
    shown = sections if rows else ()
    return Table(name, tuple(columns), tuple(rows), shown, shown[:1])
