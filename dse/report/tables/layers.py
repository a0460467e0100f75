"""Every layer: what each searcher has found there, and how many samples that took."""

from __future__ import annotations

import numpy as np

from dse.analysis.findings import TABLE_TAUS, Findings
from dse.analysis.study import Study
from dse.report.formats import NOTHING, Section, Table, loss_text, over_target, samples_text
from dse.report.limits import missing_searchers, without_whom

QUESTION = "What has each searcher found on each layer, and how many samples did that take?"
COLUMNS = (
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
    "bound",
    "ratio",
)
SAMPLES_TO = tuple(f"samples_to_{tau}" for tau in TABLE_TAUS)
HEADS = (
    "problem",
    "searcher",
    "feasible",
    "best",
    "median",
    "95 % confidence interval",
    "worst",
    "median / best known",
)


def layers_table(study: Study, findings: Findings) -> Table:
    """Losses over seeds and expected running times, problem by problem, at each budget."""
    unknown = ("",) * len(SAMPLES_TO)
    rows = [
        (*(*row.problem, row.budget, *(getattr(row, name) for name in COLUMNS)), *(row.samples_to or unknown))
        for row in findings.layers
    ]
    *early, last = (_losses(study, findings, budget) for budget in study.budgets)
    columns = ("layer", "accelerator", "objective", "budget", *COLUMNS, *SAMPLES_TO)
    sections = (_side_by_side(study, findings), last, _times(study, findings), *early)
    return Table.of("layers", QUESTION, columns, rows, sections, brief=3)


def _side_by_side(study: Study, findings: Findings) -> Section:
    """Medians over the best known: a row a problem, a column a searcher, and the geometric means."""
    searchers = [name for name in study.searchers if study.budget_of(name) == study.budget]
    ratios = {(row.problem, row.searcher): row.ratio for row in findings.layers if row.budget == study.budget}
    problems = [problem for problem in study.problems if any((problem, name) in ratios for name in searchers)]
    cells = [
        [study.label(problem), *(_over(ratios.get((problem, name))) for name in searchers)]
        for problem in problems
    ]
    means = []
    for name in searchers:
        found = [ratios[problem, name] for problem in problems if (problem, name) in ratios]
        means.append(float(np.exp(np.mean(np.log(found)))) if len(found) == len(problems) > 0 else None)
    if len(problems) > 1:
        cells.append(["geometric mean", *map(_over, means)])
    title = f"Median over the best known after {study.budget:,} samples, layers by searchers"
    note = "The best known is the proven optimum where there is one. A dash: not every run is done."
    return Section(title, ["problem", *searchers], cells, " ".join(filter(None, (note, without_whom(study)))))


def _over(value: float | None) -> str:
    return NOTHING if value is None else over_target(value)


def _losses(study: Study, findings: Findings, budget: int) -> Section:
    cells = [
        [
            study.label(row.problem),
            row.searcher,
            f"{row.feasible} of {row.seeds}",
            loss_text(row.best),
            loss_text(row.median),
            f"{loss_text(row.low)} to {loss_text(row.high)}",
            loss_text(row.worst),
            over_target(row.ratio) + ("" if row.proven else " (not proven)"),
        ]
        for row in findings.layers
        if row.budget == budget
    ]
    return Section(
        f"Every layer after {budget:,} samples, over seeds", HEADS, cells, without_whom(study, budget)
    )


def _times(study: Study, findings: Findings) -> Section:
    """Expected running times within each searcher's own budget, from far targets to near ones."""
    cells = [
        [study.label(row.problem), row.searcher, *map(samples_text, reversed(row.samples_to))]
        if row.samples_to
        else [study.label(row.problem), row.searcher, *[NOTHING] * len(TABLE_TAUS)]
        for row in findings.layers
        if row.budget == study.budget_of(row.searcher)
    ]
    title = "Expected running time: samples to within so many times the best known"
    own = f" Each up to its own budget: {missing_searchers(study)}." if study.cut else ""
    note = (
        f"The samples of all runs, also of those that fail, divided by the number of runs that succeed.{own}"
    )
    return Section(title, ["problem", "searcher", *map(str, reversed(TABLE_TAUS))], cells, note)
