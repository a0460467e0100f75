"""Several objectives: how much of the exact front each searcher lacks after so many samples."""

from __future__ import annotations

from dse.analysis.findings import Band, Findings
from dse.analysis.study import Study, Triple
from dse.core.objective import names_several
from dse.report.formats import Section, Table
from dse.report.limits import without_whom
from dse.report.tables.cells import at_budgets

QUESTION = "How much of the exact front does each searcher lack?"
COLUMNS = ("problem", "searcher", "budget", "missing", "low", "high", "proven")
ALL = "all"


def fronts_table(study: Study, findings: Findings) -> Table:
    """Shares of the exact front's hypervolume that are missing, over all problems and on each."""
    places: dict[str, dict[str, Band]] = {ALL: findings.fronts}
    problems = [problem for problem in study.problems if names_several(problem[2])]
    places |= {study.label(problem): _missing(findings, problem) for problem in problems}
    proven = {study.label(problem): study.target(problem)[1] for problem in problems}
    proven[ALL] = all(proven.values())
    rows = [
        (place, name, budget, *band.at(budget), proven[place])
        for place, bands in places.items()
        for name, band in bands.items()
        for budget in study.budgets_of(name)
    ]
    how = (
        "In %, interquartile means over problems and seeds with 95 % confidence intervals. Of logarithms of "
        "latency and energy, up to 1.1 times the worst of the exact front."
    )
    each = "In %, medians over seeds with 95 % confidence intervals."
    sections = [
        _section(study, "Hypervolume missing to the exact front", places[ALL], how),
        *(
            _section(study, place + ("" if proven[place] else ": to the best known front"), bands, each)
            for place, bands in places.items()
            if place != ALL
        ),
    ]
    return Table.of("fronts", QUESTION, COLUMNS, rows, sections, brief=1)


def _missing(findings: Findings, problem: Triple) -> dict[str, Band]:
    """Medians over seeds: a loss is 1 and what is missing."""
    return {
        name: Band(band.samples, *(curve - 1.0 for curve in (band.centre, band.low, band.high)))
        for name, band in findings.convergence.get(problem, {}).items()
    }


def _section(study: Study, title: str, bands: dict[str, Band], note: str) -> Section:
    found = {
        (name, budget): band.at(budget) for name, band in bands.items() for budget in study.budgets_of(name)
    }
    rows = [[name, *at_budgets(study, name, found, lambda share: f"{share:.1%}")] for name in bands]
    heads = ["searcher", *(f"{budget:,}" for budget in study.budgets)]
    return Section(title, heads, rows, f"{note} {without_whom(study)}".strip())
