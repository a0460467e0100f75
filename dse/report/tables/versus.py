"""Searchers against each other: how often a run of one ends lower, and what the tests say."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import permutations

from dse.analysis.findings import Findings, Versus
from dse.analysis.significance import Verdict, verdict_of, verdict_of_interval
from dse.analysis.study import Study
from dse.report.formats import NOTHING, Section, Table, probability_text
from dse.report.limits import without_whom
from dse.report.tables.cells import ENDS, at_budgets, figure_numbers, titles_by_interval, why_dashes
from dse.support.quantities import counted_noun

QUESTION = "How likely is a run of one searcher to beat one of another, and is the difference significant?"
TEST = ("wins", "ties", "losses", "p", "p_holm")
COLUMNS = (
    "searcher",
    "other",
    "budget",
    "probability",
    *ENDS,
    "problems",
    "seeds",
    "other_seeds",
    "lead",
    *TEST,
)


def versus_table(study: Study, findings: Findings) -> Table:
    """The reference against each other searcher, budget by budget, and all pairs at the end."""
    sections = (*_by_budget(study, findings), _all_pairs(study, findings))
    rows = [*_reference_rows(study, findings), *_other_rows(study, findings)]
    return Table.of("versus", QUESTION, COLUMNS, rows, sections, brief=1)


def _reference_rows(study: Study, findings: Findings) -> Iterator[tuple[object, ...]]:
    tests = {row.searcher: tuple(getattr(row, name) for name in TEST) for row in findings.comparisons}
    none = ("",) * len(TEST)
    for row in findings.versus:
        last = row.budget == study.budget
        yield (
            *(row.reference, row.searcher, row.budget, *figure_numbers(row.chance, row.over_problems)),
            *(row.problems, row.seeds, row.other_seeds),
            verdict_of(findings.improvement, row.reference, row.searcher) if last else "",
            *(tests.get(row.searcher, none) if last else none),
        )


def _other_rows(study: Study, findings: Findings) -> Iterator[tuple[object, ...]]:
    """All other pairs, in both directions, at the whole budget."""
    found = findings.improvement
    for i, j in permutations(range(len(found.searchers)), 2):
        one, other = found.searchers[i], found.searchers[j]
        if one != study.reference and not math.isnan(found.probability[i, j]):
            lead = verdict_of(found, one, other)
            yield one, other, study.budget, *found.chance(i, j), *[""] * 5, lead, *[""] * len(TEST)


def _by_budget(study: Study, findings: Findings) -> Iterator[Section]:
    me = study.reference
    tests = {row.searcher: row for row in findings.comparisons}
    last = {row.searcher: row for row in findings.versus}
    title = f"Probability that a run of {me} is lower after so many samples"
    note = (
        f"How likely a run of {me} has a lower loss than one of the searcher in the row; a tie counts half. "
        f"Mean over {_problems(findings)}, with 95 % confidence intervals. A lead is significant if the "
        "interval after all samples is above a half, reversed if it is below, and inconclusive if runs are "
        f"too few. A win is a problem on which {me}'s median loss at the end is lower. p is of Wilcoxon's "
        "signed-rank test over the problems, corrected by Holm. "
        f"{why_dashes(study)}"
    ).strip()
    heads = [f"{me} against", "lead", "seeds", *(f"{budget:,}" for budget in study.budgets)]
    heads += ["wins : ties : losses", "p (Holm)"]
    for wide, head in titles_by_interval(study, title).items():
        figures = {
            (row.searcher, row.budget): row.over_problems if wide else row.chance for row in findings.versus
        }
        cells = []
        for name, row in last.items():
            test, whole = tests.get(name), row.budget == study.budget
            cells.append(
                [
                    name,
                    _lead(findings, row, wide) if whole else NOTHING,
                    f"{row.seeds} : {row.other_seeds}",
                    *at_budgets(study, name, figures, probability_text),
                    f"{test.wins} : {test.ties} : {test.losses}" if test else NOTHING,
                    probability_text(test.p_holm) if test else NOTHING,
                ]
            )
        yield Section(head, heads, cells, note)


def _lead(findings: Findings, row: Versus, wide: bool) -> Verdict:
    """Whether the reference is ahead: on these problems, or, `wide`, on problems like these."""
    found = findings.improvement
    if not wide:
        return verdict_of(found, row.reference, row.searcher)
    i, j = (found.searchers.index(name) for name in (row.reference, row.searcher))
    return verdict_of_interval(row.over_problems, 0.5, bool(found.enough[i, j]))


def _problems(findings: Findings) -> str:
    """How many problems the pairs share: "12 problems", "8 to 12 problems"."""
    shared = [row.problems for row in findings.versus] or [0]
    return f"{min(shared):,} to " * (min(shared) < max(shared)) + counted_noun(max(shared), "problem")


def _all_pairs(study: Study, findings: Findings) -> Section:
    found = findings.improvement
    places = range(len(found.searchers))
    cells = [
        [
            found.searchers[i],
            *(probability_text(found.probability[i, j]) if i != j else NOTHING for j in places),
        ]
        for i in places
    ]
    title = "Probability that a run of the row's searcher ends lower than one of the column's"
    note = f"Ties count half. {without_whom(study)}".strip()
    return Section(title, ["searcher", *found.searchers], cells, note)
