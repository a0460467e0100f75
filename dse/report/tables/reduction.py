"""The reduction table as it is read: a section for each network or layer, objective and budget."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence, Set
from dataclasses import fields

from dse.analysis.fronts import MISSING
from dse.analysis.reduction import Group, Reduction, network_of
from dse.analysis.study import Study
from dse.core.objective import known_objective, names_several
from dse.report.formats import Section, Table, loss_text, ratio_text
from dse.report.limits import without_whom
from dse.support.quantities import counted_noun

REDUCTION_COLUMNS = tuple(item.name for item in fields(Reduction))
QUESTION = "How large is each searcher's figure beside the reference's, on each network and layer?"
REDUCTION_HEADS = ("searcher", "seeds", "median", "best", "median / {0}'s", "best / {0}'s")


def reduction_table(study: Study, reductions: Sequence[Reduction]) -> Table:
    """Each searcher's figures of the networks and layers, and their ratios to the reference's."""
    rows = tuple(tuple(getattr(row, name) for name in REDUCTION_COLUMNS) for row in reductions)
    full = [row for row in reductions if row.budget == study.budget]
    whole, brief = (tuple(reduction_sections(found, study)) for found in (reductions, full))
    return Table("reduction", QUESTION, REDUCTION_COLUMNS, rows, whole, brief)


def reduction_sections(rows: Sequence[Reduction], study: Study) -> Iterator[Section]:
    """A section for each network or layer, objective and budget."""
    layers: dict[Group, list[str]] = {}
    for problem, group in study.groups.items():
        layers.setdefault(group, []).append(problem[0])
    for group in layers:
        mine = [row for row in rows if (row.network, row.objective) == (group.network, group.objective)]
        budgets = list(dict.fromkeys(row.budget for row in mine))
        for budget in budgets:
            # Fixed mappings draw no samples: what stands at every budget is shown at the last.
            members = [row for row in mine if row.budget == budget and (row.seeds or budget == budgets[-1])]
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
            loss_text(row.median),
            loss_text(row.best),
            _ratio_shown(row),
            ratio_text(row.ratio_best),
            *(ratio_text(ratios.get(row.searcher, math.nan)) for ratios in published.values()),
        ]
        for row in members
    ]
    title = f"{group.network}: {_unit(study, group.objective)} after {budget:,} samples"
    title += " a layer" * group.whole
    made = f"{_made_of(group, len(layers))}. " if group.whole else ""
    return Section(title, heads, cells, f"{made}{without_whom(study, budget)}".strip())


def _made_of(group: Group, layers: int) -> str:
    """How a network's figure is made of its layers'."""
    found = counted_noun(layers, "distinct layer")
    objective = known_objective(group.objective)
    if names_several(group.objective):
        return f"Mean over {found}, each counted as often as it repeats"
    if objective is not None and not objective.part_that_adds_up.terms:
        return f"The largest of {found}"
    total = f"Total over {found}, each counted as often as it repeats"
    if objective is None or len(objective.terms) == 1:
        return total
    name = "EDP" if objective.name == "edp" else objective.name
    made = objective.product.replace("*", "times")
    return f"{total}: {made} of the whole. Each layer's {name} was minimised separately"


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
    shown = ratio_text(row.ratio_median)
    if not math.isfinite(row.ratio_median) or math.isnan(row.low) or row.low == row.high:
        return shown
    return f"{shown} [{row.low:.3g}, {row.high:.3g}]"


def _unit(study: Study, objective: str) -> str:
    unit = MISSING if names_several(objective) else study.unit(objective)
    return f"{objective} ({unit})" if unit else objective
