"""Who is nearest to the optimum at each budget, by two statistics, and over whom the lead is significant."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dse.analysis.findings import Findings, Standing
from dse.analysis.fronts import MISSING
from dse.analysis.significance import Lead, figures_at_end, leading_by_ends
from dse.analysis.study import Study
from dse.report.formats import NOTHING, Section, Table, over_target
from dse.report.limits import seeds_in_words
from dse.report.tables.cells import ENDS, at_budgets, figure_numbers, titles_by_interval, why_dashes
from dse.support.quantities import counted_noun

QUESTION = "Who is nearest to the optimum after so many samples, and is the lead significant?"
COLUMNS = (
    "searcher",
    "budget",
    "ratio",
    *ENDS,
    "median",
    *(f"median_{end}" for end in ENDS),
    "problems",
    "seeds",
    "searcher_seconds",
    "model_seconds",
    "start",
    "lead",
)
BEST, CUT = "best", NOTHING
"""What stands in the column of comparisons with the best: of itself, and of who has not the whole budget."""


def standing_table(study: Study, findings: Findings) -> Table:
    """All runs over the optima, at each budget: interquartile means, and means of medians."""
    best, found = leading_searcher(study, findings), findings.standing
    rows = [
        (
            *(row.searcher, row.budget, *figure_numbers(row.ratio, row.over_problems)),
            *(*figure_numbers(row.median, row.median_over_problems), len(study.solved), row.seeds),
            *(row.own_seconds, row.model_seconds, study.begins(row.searcher)),
            _verdict(best, row.searcher) if best and row.budget == study.budget else "",
        )
        for row in found
    ]
    of, what = counted_noun(len(study.solved), "problem"), f"{compared_measure(study)} after so many samples"
    sections = (
        *_means(study, found, best, what[0].upper() + what[1:], f"over {of} and {seeds_in_words(study)}"),
        *_medians(study, found, f"Median {what}", f"over {of} of medians over seeds"),
    )
    return Table.of("standing", QUESTION, COLUMNS, rows, sections, brief=1)


def _means(
    study: Study, found: Sequence[Standing], best: Lead | None, title: str, over: str
) -> Iterator[Section]:
    """The interquartile means, with what a run costs and over whom the best is ahead."""
    seconds = {row.searcher: row.own_seconds + row.model_seconds for row in found}
    heads = ["searcher", "start", *(f"{budget:,}" for budget in study.budgets), "CPU s a run"]
    for wide, head in titles_by_interval(study, title).items():
        # The lead is on these problems: what holds of problems like these stands in the table of pairs.
        leader = best if best and best.against and not wide else None
        note = (
            f"{_proven(study)}Interquartile mean of logarithms {over}, with 95 % confidence intervals. CPU "
            f"seconds include those of the cost model. {_about_lead(leader)}{_too_few(found)}"
            f"{why_dashes(study)}"
        )
        figures = {(row.searcher, row.budget): row.over_problems if wide else row.ratio for row in found}
        cells = [
            [
                *(name, study.begins(name) or NOTHING, *at_budgets(study, name, figures, over_target)),
                f"{seconds[name]:,.1f}",
                *([_verdict(leader, name)] if leader else []),
            ]
            for name in seconds
        ]
        shown = [*heads, f"lead of {leader.searcher}"] if leader else heads
        yield Section(head, shown, cells, note.strip())


def _medians(study: Study, found: Sequence[Standing], title: str, over: str) -> Iterator[Section]:
    """The geometric means of medians: another statistic of the same runs."""
    note = (
        f"{_proven(study)}Geometric mean {over}, with 95 % confidence intervals. {why_dashes(study)}".strip()
    )
    fewest = {row.searcher: row.seeds for row in found}
    heads = ["searcher", "seeds", *(f"{budget:,}" for budget in study.budgets)]
    for wide, head in titles_by_interval(study, title).items():
        figures = {
            (row.searcher, row.budget): row.median_over_problems if wide else row.median for row in found
        }
        cells = [
            [name, str(count), *at_budgets(study, name, figures, over_target)]
            for name, count in fewest.items()
        ]
        yield Section(head, heads, cells, note)


def leading_searcher(study: Study, findings: Findings) -> Lead | None:
    """Who leads at the end, as the standing table shows the figures."""
    found = figures_at_end(findings.gap, study.cut)
    return leading_by_ends(
        found, {name: over_target(end.value) for name, end in found.items()}, findings.improvement
    )


def _about_lead(best: Lead | None) -> str:
    if best is None:
        return ""
    return (
        f"The lead of {best.searcher} over another searcher is judged by the probability that a run of "
        f"{best.searcher} ends lower. Significant: the 95 % confidence interval of this probability is above "
        "a half. Reversed: the interval is below a half. Inconclusive: there are too few runs for either. "
    )


def _too_few(found: Sequence[Standing]) -> str:
    """What it means that a searcher's mean is infeasible; nothing where none is."""
    if all(row.ratio.finite for row in found):
        return ""
    return "Infeasible: more than a quarter of these runs have found nothing feasible by then. "


def _verdict(best: Lead, name: str) -> str:
    return BEST if name == best.searcher else best.against.get(name, CUT)


def ratio_goal(study: Study) -> str:
    """What ratios are to, in a few words."""
    if study.of_fronts:
        return "the best known front" if _proven(study) else "the exact front"
    return "the best known" if _proven(study) else "the proven optimum"


def compared_measure(study: Study) -> str:
    """What is compared, in a few words."""
    return f"{MISSING} to {ratio_goal(study)}" if study.of_fronts else f"best loss over {ratio_goal(study)}"


def _proven(study: Study) -> str:
    """How many of the best known are proven optima, in a sentence; nothing where all are."""
    proven = [study.target(problem)[1] for problem in study.solved]
    if all(proven):
        return ""
    if study.proofs_to_come:
        return "Optima are not proven yet. "
    are = "is a proven optimum" if sum(proven) < 2 else "are proven optima"
    return f"Of the best known, {sum(proven) or 'none'} of {len(proven)} {are}. "
