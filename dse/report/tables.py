"""A report's tables: what each has as CSV, with all digits, and how a person reads it."""

from __future__ import annotations

import math
from collections.abc import Sequence

from dse.analysis.findings import Findings
from dse.analysis.reduction import Reduction
from dse.analysis.repriced import Repriced
from dse.analysis.significance import verdict_of
from dse.analysis.study import Study
from dse.core.reasons import Reason
from dse.report.budget_tables import geomean_table, standing_table, targets_table, versus_table
from dse.report.conclusions import efficiency_sentence
from dse.report.formats import (
    NOTHING,
    Section,
    Table,
    factor,
    figure,
    over_target,
    probability,
    samples,
)
from dse.report.limits import missing, without
from dse.report.reduction_table import reduction_table
from dse.report.repriced import repriced_table

NAMES = (
    "standing",
    "geomean",
    "reduction",
    "versus",
    "efficiency",
    "targets",
    "comparisons",
    "improvement",
    "layers",
    "runtimes",
    "ledger",
    "repriced",
)
"""The tables' names, in the order in which a page shows them."""


def make_tables(
    study: Study,
    findings: Findings,
    reductions: Sequence[Reduction],
    repriced: Sequence[Repriced],
) -> tuple[Table, ...]:
    """All tables of a report, in the order of NAMES; that of other cost models where any is named."""
    return (
        standing_table(study, findings),
        geomean_table(study, findings),
        reduction_table(study, reductions),
        versus_table(study, findings),
        _efficiency(study, findings),
        targets_table(study, findings),
        _comparisons(study, findings),
        _improvement(study, findings),
        _layers(study, findings),
        _runtimes(study, findings),
        _ledger(findings),
        *([repriced_table(study, repriced)] if study.reprice else []),
    )


def _whole(name: str, columns: Sequence[str], rows: Sequence[tuple[object, ...]], section: Section) -> Table:
    sections = (section,) if rows else ()
    return Table(name, tuple(columns), tuple(rows), sections, sections)


def _efficiency(study: Study, findings: Findings) -> Table:
    ends = ("low", "high", "low_over_problems", "high_over_problems")
    columns = ("searcher", "other", "ratio", *ends, "reached", "problems", "budget", "sentence")
    rows, cells = [], []
    for row in findings.efficiency:
        found, sentence = row.ratio, efficiency_sentence(study, row)
        wide = row.over_problems
        narrow = (math.nan,) * 3 if found is None else (found.value, found.low, found.high)
        numbers = (*narrow, *((math.nan,) * 2 if wide is None else (wide.low, wide.high)))
        rows.append((row.searcher, row.other, *numbers, row.reached, row.problems, row.budget, sentence))
        shown = "censored" if found is None else factor(found.value)
        if found is not None and found.wide:
            shown += f" [{factor(found.low)}, {factor(found.high)}]"
        over = f"{factor(wide.low)} to {factor(wide.high)}" if wide is not None and wide.wide else NOTHING
        cells.append([row.searcher, row.other, shown, over, f"{row.reached} of {row.problems}", sentence])
    title = "Samples to the other's median final loss: the other's as a multiple of the searcher's"
    note = (
        "Above 1, the searcher needs fewer. Median over problems of the ratio of expected running times, "
        "failed runs counted on both sides, with 95 % confidence intervals; beside it those with problems "
        "resampled too."
    )
    heads = ["searcher", "other", "multiple", "problems resampled too", "problems reached", "in words"]
    return _whole("efficiency", columns, rows, Section(title, heads, cells, note))


def _comparisons(study: Study, findings: Findings) -> Table:
    columns = ("reference", "searcher", "wins", "ties", "losses", "p", "p_holm")
    rows = [tuple(getattr(row, name) for name in columns) for row in findings.comparisons]
    cells = [
        [
            row.searcher,
            str(row.wins),
            str(row.ties),
            str(row.losses),
            probability(row.p),
            probability(row.p_holm),
        ]
        for row in findings.comparisons
    ]
    reference = findings.comparisons[0].reference if findings.comparisons else ""
    title = f"{reference} against each other, problem by problem"
    note = f"By median final loss; p of Wilcoxon's signed-rank test, and corrected by Holm. {without(study)}"
    heads = [f"{reference} against", "wins", "ties", "losses", "p", "p (Holm)"]
    return _whole("comparisons", columns, rows, Section(title, heads, cells, note.strip()))


def _improvement(study: Study, findings: Findings) -> Table:
    found = findings.improvement
    names = range(len(found.searchers))
    rows = [
        (
            found.searchers[i],
            found.searchers[j],
            *(float(part[i, j]) for part in (found.probability, found.low, found.high)),
            verdict_of(found, found.searchers[i], found.searchers[j]),
        )
        for i in names
        for j in names
        if i != j and not math.isnan(found.probability[i, j])
    ]
    cells = [
        [found.searchers[i], *(probability(found.probability[i, j]) if i != j else "-" for j in names)]
        for i in names
    ]
    title = "Probability that a run of the row's searcher ends lower than one of the column's"
    note = f"Ties count half. {without(study)}".strip()
    columns = ("searcher", "other", "probability", "low", "high", "lead")
    return _whole("improvement", columns, rows, Section(title, ["searcher", *found.searchers], cells, note))


def _layers(study: Study, findings: Findings) -> Table:
    names = (
        "searcher",
        "seeds",
        "feasible",
        "best",
        "median",
        "low",
        "high",
        "worst",
        "target",
        "proven",
        "ratio",
    )
    rows = [(*row.problem, row.budget, *(getattr(row, name) for name in names)) for row in findings.layers]
    heads = [
        "problem",
        "searcher",
        "feasible",
        "best",
        "median",
        "95 % interval",
        "worst",
        "median / best known",
    ]

    def section(budget: int) -> Section:
        cells = [
            [
                study.label(row.problem),
                row.searcher,
                f"{row.feasible} of {row.seeds}",
                figure(row.best),
                figure(row.median),
                f"{figure(row.low)} to {figure(row.high)}",
                figure(row.worst),
                over_target(row.ratio) + ("" if row.proven else " (not proven)"),
            ]
            for row in findings.layers
            if row.budget == budget
        ]
        title = f"Every layer after {budget:,} samples, over seeds"
        return Section(title, heads, cells, without(study, budget))

    sections = tuple(section(budget) for budget in study.budgets) if rows else ()
    columns = ("layer", "accelerator", "objective", "budget", *names)
    return Table("layers", columns, tuple(rows), sections, sections[-1:])


def _runtimes(study: Study, findings: Findings) -> Table:
    columns = (
        "layer",
        "accelerator",
        "objective",
        "searcher",
        "tau",
        "runs",
        "successes",
        "expected",
        "median",
    )
    rows = [
        (*row.problem, row.searcher, row.tau, row.runs, row.successes, row.expected, row.median)
        for row in findings.runtimes
    ]
    taus = sorted({row.tau for row in findings.runtimes}, reverse=True)
    found = {(row.problem, row.searcher, row.tau): row for row in findings.runtimes}
    cells = [
        [study.label(problem), searcher, *(samples(found[problem, searcher, tau].expected) for tau in taus)]
        for problem, searcher in dict.fromkeys((row.problem, row.searcher) for row in findings.runtimes)
    ]
    title = "Expected running time: samples to within so many times the best known"
    note = "Failed runs are counted." + (
        f" Each up to its own budget: {missing(study)}." if study.cut else ""
    )
    heads = ["problem", "searcher", *map(str, taus)]
    return _whole("runtimes", columns, rows, Section(title, heads, cells, note))


def _ledger(findings: Findings) -> Table:
    reasons = sorted({reason for row in findings.ledger for reason in row.infeasible})
    counts = ("cells", "samples", "distinct")
    rest = ("elsewhere", "searcher_seconds", "model_seconds")
    rows, cells = [], []
    for row in findings.ledger:
        infeasible = [row.infeasible.get(reason, 0) for reason in reasons]
        known = [getattr(row, name) for name in counts]
        rows.append(
            (row.searcher, *known, sum(infeasible), *infeasible, *(getattr(row, name) for name in rest))
        )
        share = f"{sum(infeasible) / row.samples:.0%}" if row.samples else "-"
        seconds = (row.searcher_seconds, row.model_seconds)
        shown = [row.searcher, *(f"{count:,}" for count in known), share]
        shown += [f"{count:,}" for count in (*infeasible, row.elsewhere)]
        cells.append([*shown, *(f"{spent:,.1f}" for spent in seconds)])
    columns = ("searcher", *counts, "infeasible", *reasons, *rest)
    heads = ["searcher", *counts, "infeasible", *(reason.replace("_", " ") for reason in reasons)]
    heads += ["spent elsewhere", "searcher, CPU s", "cost model, CPU s"]
    why = [Reason[name.upper()] for name in reasons if name.upper() in Reason.__members__]
    note = " ".join(f"{reason.label.capitalize()}: {reason.meaning}." for reason in why)
    section = Section("What the samples went to, and CPU time", heads, cells, note)
    return _whole("ledger", columns, rows, section)
