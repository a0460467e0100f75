"""The tables that read the runs budget by budget, or target by target."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence

from dse.analysis.findings import Findings, Interval
from dse.analysis.significance import Lead, ends, lead
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
STANDING = (
    "searcher",
    "budget",
    "ratio",
    "low",
    "high",
    *WIDE,
    "searcher_seconds",
    "model_seconds",
    "start",
    "lead",
)
PROBLEMS_TOO = ", problems resampled too"
"""What is said of intervals about problems like those of the campaign: at the end of a title."""
BEST, CUT = "best", NOTHING
"""What stands in the column of comparisons with the best: of itself, and of who has not the whole budget."""


def standing_table(study: Study, findings: Findings) -> Table:
    """The interquartile means of all runs over the optima, at each budget, and whether the best leads."""
    best = leading(study, findings)
    rows = [
        (
            row.searcher,
            row.budget,
            *_ends(row.ratio),
            *_wide(row.over_problems),
            row.own_seconds,
            row.model_seconds,
            study.begins(row.searcher),
            _verdict(best, row.searcher) if best and row.budget == study.budget else "",
        )
        for row in findings.standing
    ]
    names = dict.fromkeys(row.searcher for row in findings.standing)
    seconds = {row.searcher: row.own_seconds + row.model_seconds for row in findings.standing}
    title = f"Best loss over {goal(study)} after so many samples"
    note = (
        f"{_proven(study)}Interquartile mean of logarithms over {counted(len(study.solved), 'problem')} and "
        f"{seeds(study)}, with 95 % confidence intervals. CPU seconds include those of the cost model. "
        f"{_about_lead(best)}{dashes(study)}"
    ).strip()
    heads = ["searcher", "start", *(f"{budget:,}" for budget in study.budgets), "CPU s a run"]
    heads += [f"lead of {best.searcher}"] if best and best.against else []

    def section(title: str, found: Mapping[tuple[str, int], Interval]) -> Section:
        shown = {key: _interval(row, over_target) for key, row in found.items()}
        cells = [
            [
                *(name, study.begins(name) or NOTHING, *_at_budgets(study, name, shown)),
                f"{seconds[name]:,.1f}",
                *([_verdict(best, name)] if best and best.against else []),
            ]
            for name in names
        ]
        return Section(title, heads, cells, note)

    narrow = section(title, {(row.searcher, row.budget): row.ratio for row in findings.standing})
    wide = {(row.searcher, row.budget): row.over_problems for row in findings.standing}
    return _table("standing", STANDING, rows, narrow, section(title + PROBLEMS_TOO, wide))


def leading(study: Study, findings: Findings) -> Lead | None:
    """Who leads at the end, as the standing table shows the figures."""
    found = ends(findings.gap, study.cut)
    return lead(found, {name: over_target(end.value) for name, end in found.items()}, findings.improvement)


def _about_lead(best: Lead | None) -> str:
    if best is None or not best.against:
        return ""
    return (
        f"The lead of {best.searcher} over another is significant where the 95 % confidence interval of the "
        "probability that its run ends lower is above a half, reversed where it is below, and inconclusive "
        "where there are too few runs for either. "
    )


def _verdict(best: Lead, name: str) -> str:
    return BEST if name == best.searcher else best.against.get(name, CUT)


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
    title = f"Probability that a run of {me} is lower after so many samples"
    note = (
        f"Than one of the other searcher, ties half, with 95 % confidence intervals; p is that of the "
        f"signed-rank test over problems at the end, corrected by Holm. {dashes(study)}"
    ).strip()
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
        return Section(title, heads, cells, note)

    narrow = section(title, {(row.searcher, row.budget): row.chance for row in findings.versus})
    wide = {(row.searcher, row.budget): row.over_problems for row in findings.versus}
    return _table("versus", VERSUS, rows, narrow, section(title + PROBLEMS_TOO, wide))


def targets_table(study: Study, findings: Findings) -> Table:
    """How many samples each searcher needs to reach fixed targets, as a multiple of the reference's."""
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
    title = f"Samples to within so many times the best known, as a multiple of {me}'s"
    note = (
        f"Above 1, {me} needs fewer. Ratio of expected running times up to the smaller of both budgets, "
        "median over problems where either gets there, with 95 % confidence intervals; inf: the searcher "
        f"mostly does not get there, 0: {me} mostly does not."
    )
    heads = ["searcher", "budget", *map(str, taus)]

    def section(title: str, wide: bool) -> Section:
        shown = {key: row.over_problems if wide else row.ratio for key, row in found.items()}
        cells = [
            [name, f"{budget:,}", *(_interval(shown[name, tau], _times) for tau in taus)]
            for name, budget in budgets.items()
        ]
        return Section(title, heads, cells, note)

    missed = [
        [str(row.tau), name, str(len(problems)), "; ".join(map(study.label, problems))]
        for row in findings.targets
        for name, problems in ((me, row.missed), (row.searcher, row.other_missed))
        if problems and (name != me or row is found[next(iter(budgets)), row.tau])
    ]
    unreached = Section("Targets that no run reaches", ["within", "searcher", "problems", "which"], missed)
    sections = [section(title, False), section(title + PROBLEMS_TOO, True)]
    return _table("targets", TARGETS, rows, *sections, *([unreached] if missed else []))


def geomean_table(study: Study, findings: Findings) -> Table:
    """The geometric mean of the medians over the optima, at each budget."""
    rows = [
        (row.searcher, row.budget, *_ends(row.ratio), *_wide(row.over_problems), row.problems, row.seeds)
        for row in findings.geomeans
    ]
    fewest = {row.searcher: row.seeds for row in findings.geomeans}
    title = f"Median best loss over {goal(study)} after so many samples"
    note = (
        f"{_proven(study)}Geometric mean over {counted(len(study.solved), 'problem')} of medians over seeds, "
        f"with 95 % confidence intervals. {dashes(study)}"
    ).strip()
    heads = ["searcher", "seeds", *(f"{budget:,}" for budget in study.budgets)]

    def section(title: str, found: Mapping[tuple[str, int], Interval]) -> Section:
        shown = {key: _interval(row, over_target) for key, row in found.items()}
        cells = [[name, str(count), *_at_budgets(study, name, shown)] for name, count in fewest.items()]
        return Section(title, heads, cells, note)

    narrow = section(title, {(row.searcher, row.budget): row.ratio for row in findings.geomeans})
    wide = {(row.searcher, row.budget): row.over_problems for row in findings.geomeans}
    return _table("geomean", GEOMEAN, rows, narrow, section(title + PROBLEMS_TOO, wide))


def goal(study: Study) -> str:
    """What ratios are to, in a few words."""
    return "the best known" if _proven(study) else "the proven optimum"


def _proven(study: Study) -> str:
    """How many of the best known are proven optima, in a sentence; nothing where all are."""
    proven = [study.target(problem)[1] for problem in study.solved]
    if all(proven):
        return ""
    if study.proofs_to_come:
        return "Optima are not proven yet. "
    return f"Of the best known, {sum(proven) or 'none'} of {len(proven)} {_are(sum(proven))}. "


def _are(proven: int) -> str:
    return "is a proven optimum" if proven < 2 else "are proven optima"


def dashes(study: Study) -> str:
    """Why a table over all budgets has dashes, in a sentence; nothing if it has none."""
    return f"A dash: beyond the budget of {missing(study)}." if study.cut else ""


def _at_budgets(study: Study, name: str, shown: Mapping[tuple[str, int], str]) -> Iterator[str]:
    return (shown.get((name, budget), NOTHING) for budget in study.budgets)


def _ends(found: Interval | None) -> tuple[float, float, float]:
    return (math.nan,) * 3 if found is None else (found.value, found.low, found.high)


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
