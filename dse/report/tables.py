"""A report's tables: what each has as CSV, with all digits, and how a person reads it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence, Set
from dataclasses import fields

from dse.analysis.findings import Findings
from dse.analysis.reduction import Group, Reduction, network_of
from dse.analysis.repriced import Repriced
from dse.analysis.study import Study
from dse.report.budget_tables import geomean_table, standing_table, targets_table, versus_table
from dse.report.conclusions import efficiency_sentence
from dse.report.formats import (
    Section,
    Table,
    counted,
    factor,
    figure,
    over_target,
    probability,
    ratio,
    samples,
)
from dse.report.limits import missing, without
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
REDUCTION_COLUMNS = tuple(item.name for item in fields(Reduction))
REDUCTION_HEADS = ("searcher", "seeds", "median", "best", "median / {0}'s", "best / {0}'s")


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
        _reduction(study, reductions),
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


def _reduction(study: Study, reductions: Sequence[Reduction]) -> Table:
    rows = tuple(tuple(getattr(row, name) for name in REDUCTION_COLUMNS) for row in reductions)
    full = [row for row in reductions if row.budget == study.budget]
    whole, brief = (tuple(reduction_sections(found, study)) for found in (reductions, full))
    return Table("reduction", REDUCTION_COLUMNS, rows, whole, brief)


def reduction_sections(rows: Sequence[Reduction], study: Study) -> Iterator[Section]:
    """A section for each network or layer, objective and budget."""
    layers: dict[Group, list[str]] = {}
    for problem, group in study.groups.items():
        layers.setdefault(group, []).append(problem[0])
    for group in layers:
        mine = [row for row in rows if (row.network, row.objective) == (group.network, group.objective)]
        for budget in dict.fromkeys(row.budget for row in mine):
            members = [row for row in mine if row.budget == budget]
            yield _reduction_section(study, group, layers[group], budget, members)


def _reduction_section(
    study: Study, group: Group, layers: Sequence[str], budget: int, members: Sequence[Reduction]
) -> Section:
    published = _published(study, group, layers, {row.searcher for row in members})
    heads = [*(head.format(study.reference) for head in REDUCTION_HEADS), *published]
    cells = [
        [
            row.searcher,
            str(row.seeds) if row.seeds else "-",
            figure(row.median),
            figure(row.best),
            _ratio_shown(row),
            ratio(row.ratio_best),
            *(ratio(ratios.get(row.searcher, math.nan)) for ratios in published.values()),
        ]
        for row in members
    ]
    a_layer = f" a layer; {_made_of(group, len(layers))}" if group.whole else ""
    title = f"{group.network}: {_unit(study, group.objective)} after {budget:,} samples{a_layer}"
    return f"{title}{without(study, budget)}", heads, cells


def _made_of(group: Group, layers: int) -> str:
    """How a network's figure is made of its layers'."""
    found = counted(layers, "distinct layer")
    if group.objective in ("area", "area_maestro", "power"):
        return f"the largest of {found}"
    total = f"total over {found} times their repeats"
    if group.objective == "edp":
        return f"{total}: energy times latency, where each layer's EDP was minimised by itself"
    return total


def _published(
    study: Study, group: Group, layers: Sequence[str], searchers: Set[str]
) -> dict[str, dict[str, float]]:
    """By source, what others have published of a section's searchers, if anything.

    It is of networks: beside a layer of one the column says so.
    """
    network = network_of(layers[0])
    found = study.published(network, group.objective)
    return {
        source if group.whole else f"{source}, {network}": ratios
        for source, ratios in found.items()
        if searchers & ratios.keys()
    }


def _ratio_shown(row: Reduction) -> str:
    shown = ratio(row.ratio_median)
    if not math.isfinite(row.ratio_median) or math.isnan(row.low) or row.low == row.high:
        return shown
    return f"{shown} [{row.low:.3g}, {row.high:.3g}]"


def _unit(study: Study, objective: str) -> str:
    unit = study.unit(objective)
    return f"{objective} ({unit})" if unit else objective


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
        over = f"{factor(wide.low)} to {factor(wide.high)}" if wide is not None and wide.wide else "-"
        cells.append([row.searcher, row.other, shown, over, f"{row.reached} of {row.problems}", sentence])
    title = (
        "Times fewer samples to reach the other's median final loss: ratio of expected running times, failed "
        "runs counted on both sides, 95 % interval; beside it that resampled over problems too"
    )
    heads = ["searcher", "reaching", "times fewer", "over problems too", "problems reached", "in words"]
    return _whole("efficiency", columns, rows, (title, heads, cells))


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
    title = f"{reference} against each other: problems by median final loss, Wilcoxon's signed-rank test"
    title += without(study)
    heads = [f"{reference} against", "wins", "ties", "losses", "p", "p (Holm)"]
    return _whole("comparisons", columns, rows, (title, heads, cells))


def _improvement(study: Study, findings: Findings) -> Table:
    found = findings.improvement
    names = range(len(found.searchers))
    rows = [
        (
            found.searchers[i],
            found.searchers[j],
            *(float(part[i, j]) for part in (found.probability, found.low, found.high)),
        )
        for i in names
        for j in names
        if i != j and not math.isnan(found.probability[i, j])
    ]
    cells = [
        [found.searchers[i], *(probability(found.probability[i, j]) if i != j else "-" for j in names)]
        for i in names
    ]
    title = "Probability that a run of the row's searcher ends lower than one of the column's, ties half"
    title += without(study)
    columns = ("searcher", "other", "probability", "low", "high")
    return _whole("improvement", columns, rows, (title, ["searcher", *found.searchers], cells))


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
        return f"Every layer after {budget:,} samples, over seeds{without(study, budget)}", heads, cells

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
    title = "Expected running time: samples to within so many times the best known, failed runs counted"
    title += f"; each up to its own budget: {missing(study)}" if study.cut else ""
    return _whole("runtimes", columns, rows, (title, ["problem", "searcher", *map(str, taus)], cells))


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
    return _whole("ledger", columns, rows, ("What the samples went to, and CPU time", heads, cells))
