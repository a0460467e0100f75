"""How many samples a searcher needs to reach a target, as a multiple of another's; in words too."""

from __future__ import annotations

import math
from collections.abc import Iterator

from dse.analysis.findings import Efficiency, Findings, Interval, TargetRatio
from dse.analysis.significance import verdict_of_interval
from dse.analysis.study import Study
from dse.report.formats import NOTHING, Section, Table, factor_text
from dse.report.limits import problems_in_words
from dse.report.tables.cells import (
    ENDS,
    PROBLEMS_TOO,
    figure_numbers,
    shown_figure,
    titles_by_interval,
)

QUESTION = "Which searcher needs fewer samples for the same loss, and by what factor?"
COLUMNS = (
    "searcher",
    "other",
    "target",
    "budget",
    "ratio",
    *ENDS,
    "reached",
    "other_reached",
    "known",
    "problems",
    "missed",
    "other_missed",
    "sentence",
)
FINAL = "final"
"""The target that is the other's median final loss."""


def targets_table(study: Study, findings: Findings) -> Table:
    """How many times as many samples `other` needs as `searcher` to reach a target.

    That is so many times the best known, of the reference against each other searcher; or `final`, the
    other's own median final loss, of both against each other.
    """
    rows: list[tuple[object, ...]] = [
        (
            *(
                row.reference,
                row.searcher,
                row.tau,
                row.budget,
                *figure_numbers(row.ratio, row.over_problems),
            ),
            *(row.reached, row.other_reached, row.known, row.problems),
            *("; ".join(map(study.label, missed)) for missed in (row.missed, row.other_missed)),
            "",
        )
        for row in findings.targets
    ]
    rows += [
        (
            *(row.searcher, row.other, FINAL, row.budget, *figure_numbers(row.ratio, row.over_problems)),
            *(row.reached, "", row.problems, row.problems, "", "", efficiency_sentence(study, row)),
        )
        for row in findings.efficiency
    ]
    fixed, *wide = _fixed(study, findings)
    sections = [fixed, _final(study, findings), *wide, *_unreached(study, findings)]
    return Table.of("targets", QUESTION, COLUMNS, rows, sections, brief=2)


def _fixed(study: Study, findings: Findings) -> Iterator[Section]:
    """To within so many times the best known."""
    taus = sorted({row.tau for row in findings.targets}, reverse=True)
    found = {(row.searcher, row.tau): row for row in findings.targets}
    me = study.reference
    title = f"Samples to within so many times the best known, as a multiple of {me}'s"
    note = (
        f"Samples that the searcher needs, divided by those that {me} needs: the median over problems, with "
        f"95 % confidence intervals. Above 1, {me} needs fewer. inf: on most problems only {me} comes so "
        "near. 0: on most problems only the searcher does. Problems on which neither does are left out."
    )

    def cell(row: TargetRatio, wide: bool) -> str:
        return shown_figure(row.over_problems if wide else row.ratio, _times)

    for wide, head in titles_by_interval(study, title).items():
        cells = [
            [name, f"{budget:,}", *(cell(found[name, tau], wide) for tau in taus)]
            for name, budget in {row.searcher: row.budget for row in findings.targets}.items()
        ]
        yield Section(head, ["searcher", "budget", *map(str, taus)], cells, note)


def _unreached(study: Study, findings: Findings) -> Iterator[Section]:
    """Which searchers have reached a target in no run, and where; nothing where that is nobody."""
    first = next((row.searcher for row in findings.targets), "")
    missed = [
        [str(row.tau), name, str(len(where)), "; ".join(map(study.label, where))]
        for row in findings.targets
        for name, where in ((study.reference, row.missed), (row.searcher, row.other_missed))
        if where and (name != study.reference or row.searcher == first)
    ]
    if missed:
        yield Section("Targets that no run reaches", ["within", "searcher", "problems", "which"], missed)


def _final(study: Study, findings: Findings) -> Section:
    """To the other's median final loss."""
    cells = []
    for row in findings.efficiency:
        wide = row.over_problems
        over = (
            f"{factor_text(wide.low)} to {factor_text(wide.high)}"
            if wide is not None and wide.wide
            else NOTHING
        )
        multiple = "censored" if row.ratio is None else shown_figure(row.ratio, factor_text)
        reached = f"{row.reached} of {row.problems}"
        cells.append([row.searcher, row.other, multiple, over, reached, efficiency_sentence(study, row)])
    title = "Samples to reach the median final loss of the second searcher"
    note = (
        "Samples that the second searcher needs, divided by those that the first needs: the median over "
        "problems, with 95 % confidence intervals. Above 1, the first needs fewer. Samples of runs that fail "
        "count too. The column after the multiple has its interval if problems like these were drawn anew."
    )
    heads = ["first", "second", "multiple", PROBLEMS_TOO, "problems reached", "in words"]
    return Section(title, heads, cells, note)


def _times(value: float) -> str:
    return "inf" if math.isinf(value) else factor_text(value)


def efficiency_sentence(study: Study, row: Efficiency) -> str:
    """A ratio of samples in words, without a full stop."""
    both = f" (both read up to {row.budget:,} samples)" if row.budget < study.budget else ""
    return _compared(row) + both


def _compared(row: Efficiency) -> str:
    searcher, other, ratio = row.searcher, row.other, row.ratio
    if not row.problems:
        return f"neither {searcher} nor {other} has found anything feasible"
    fails = row.problems - row.reached
    where = problems_in_words(fails, row.problems).replace("all ", "any of ")
    never = f"no run of {searcher} reaches it on {where}"
    if ratio is None:
        return f"{searcher} does not reach {other}'s median final loss: {never} (censored)"
    if math.isinf(ratio.value):
        return f"{searcher} finds feasible mappings where {other} finds none"
    text = (
        f"{other} needs {factor_text(ratio.value)} times as many samples as {searcher} to reach "
        f"{other}'s median final loss{_intervals(row)}"
    )
    return f"{text}; {never}" if fails else text


def _intervals(row: Efficiency) -> str:
    """The confidence intervals of a ratio of samples, and whether it differs significantly from 1."""
    assert row.ratio is not None, "of a ratio that there is"
    said = {"reversed": "significant"}
    found = verdict_of_interval(row.ratio, 1.0, row.enough)
    text = f" (95 % confidence interval {_factors(row.ratio)}" if row.ratio.wide else ""
    wide = row.over_problems
    if text:
        text += f"; {PROBLEMS_TOO} {_factors(wide)})" if wide and wide.wide else ")"
    return f"{text}: {said.get(found, found)}"


def _factors(interval: Interval) -> str:
    low, high = (
        factor_text(end) if math.isfinite(end) else "infinity" for end in (interval.low, interval.high)
    )
    return f"{low} to {high}"
