"""How far searchers end from the proven optimum of each problem."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from dse.analysis.reduction import budgets_up_to
from dse.campaign.summary import Summary

OPTIMAL = "optimal"


@dataclass(frozen=True)
class Regret:
    """One searcher on one problem: its losses over the optimum's (or, if not `proven`, over a lower bound).

    `ratio_median` and `ratio_best` are over seeds: 1 is perfect, `inf` is nothing feasible.
    """

    layer: str
    accelerator: str
    objective: str
    budget: int
    searcher: str
    optimum: float
    proven: bool
    ratio_median: float
    ratio_best: float
    seeds: int


REGRET_COLUMNS = tuple(item.name for item in fields(Regret))


def problem_label(summary: Summary) -> str:
    """A problem's label, as in `vgg16:conv1_2 on edge, edp`."""
    return f"{summary.layer} on {summary.accelerator}, {summary.objective}"


def regrets(
    summaries: Sequence[Summary], optima: Mapping[str, Mapping[str, Any]], budgets: Sequence[int] = ()
) -> list[Regret]:
    """A row for each problem with an optimum or a bound, each searcher on it, and each budget that it has."""
    groups: dict[tuple[str, str], list[Summary]] = defaultdict(list)
    for summary in summaries:
        if optima.get(problem_label(summary), {}).get("lower_bound", 0.0) > 0:
            groups[problem_label(summary), summary.searcher].append(summary)
    rows = []
    for (label, searcher), members in groups.items():
        optimum = optima[label]
        own = max(member.budget for member in members)
        for budget in (b for b in budgets or budgets_up_to(own) if b <= own):
            ratios = np.array([member.at(budget)["loss"] for member in members]) / optimum["lower_bound"]
            first = members[0]
            rows.append(
                Regret(
                    first.layer,
                    first.accelerator,
                    first.objective,
                    budget,
                    searcher,
                    optimum["lower_bound"],
                    optimum["status"] == OPTIMAL,
                    float(np.median(ratios)),
                    float(ratios.min()),
                    len(members),
                )
            )
    return rows


def beaten(summaries: Iterable[Summary], optima: Mapping[str, Mapping[str, Any]]) -> list[Summary]:
    """The cells whose best is below what was proven to be the least: a wrong certificate."""
    least = {label: optimum["lower_bound"] for label, optimum in optima.items()}
    return [summary for summary in summaries if summary.best < least.get(problem_label(summary), -np.inf)]
