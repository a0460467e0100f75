"""Where each searcher ends, at a glance: its ratio to the best known with the interval, on one scale."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dse.analysis.findings import Findings
from dse.analysis.study import Study
from dse.report.limits import missing_searchers
from dse.report.page.markup import NONE, percent_markup, ratio_text
from dse.report.tables.standing import BEST, compared_measure, leading_searcher, ratio_goal
from dse.support.quantities import counted_noun

CLOSE = 1.01
"""A run whose final loss is at most this times the best known has come close."""
LEADERS = 5
"""How many of many searchers the page's first screen has."""


@dataclass(frozen=True)
class Standing:
    """One searcher's row. `left`, `width` and `dot` are per cent of the strip; `dot` may be None.

    `start` is with what it begins, in words, and `seconds` are those of CPU time that a run takes. `lead`
    says whether the best one's lead over it is significant.
    """

    searcher: str
    reference: bool
    value: float
    ratio: str
    interval: str
    dot: float | None
    left: float
    width: float
    close: str
    close_share: float
    infeasible: str
    infeasible_share: float
    start: str
    seconds: str
    lead: str


@dataclass(frozen=True)
class Standings:
    """All rows, the best first, the ends of the strip's logarithmic scale, and what 1 stands for.

    `lacking` names the searchers that have not so many samples, and `rest` says what those come to that have
    no row. `best` is whose lead the rows tell of, if there is anybody to lead.
    """

    rows: tuple[Standing, ...]
    least: str
    most: str
    base: str
    measure: str
    lacking: str
    rest: str
    best: str


def standings_table(study: Study, findings: Findings, brief: bool = False) -> Standings:
    """The table of the searchers that have runs of the whole budget on every problem.

    In `brief`, where they are many, it has the LEADERS best of them and the reference.
    """
    ends = {
        name: band.end for name, band in findings.gap.items() if len(band.centre) and name not in study.cut
    }
    order = sorted(ends, key=lambda name: ends[name][0])
    shown = order
    if brief and len(order) > LEADERS + 2:
        shown = [name for place, name in enumerate(order) if place < LEADERS or name == study.reference]
    finite = [value for name in shown for value in ends[name] if math.isfinite(value)]
    least, most = min([1.0, *finite]), max([1.0, *finite])
    lead = leading_searcher(study, findings)
    best = lead.searcher if lead and lead.against else ""
    verdicts = {best: BEST, **lead.against} if lead else {}
    rows = tuple(
        _row(study, findings, name, ends[name], (least, most), verdicts.get(name, NONE)) for name in shown
    )
    others = [ends[name][0] for name in order if name not in shown]
    rest = f"{counted_noun(len(others), 'other')}: {_range(others[0], others[-1])}" if others else ""
    names = ratio_goal(study), compared_measure(study)
    return Standings(rows, ratio_text(least), ratio_text(most), *names, missing_searchers(study), rest, best)


def _range(low: float, high: float) -> str:
    ends = ratio_text(low), ratio_text(high)
    return ends[0] if ends[0] == ends[1] else f"{ends[0]} to {ends[1]}"


def _row(
    study: Study,
    findings: Findings,
    name: str,
    end: tuple[float, float, float],
    scale: tuple[float, float],
    lead: str,
) -> Standing:
    centre, low, high = end
    final = findings.gap_seeds[name]
    runs = int(np.count_nonzero(~np.isnan(final)))
    close = int(np.count_nonzero(final <= CLOSE))
    spent = next(row for row in findings.ledger if row.searcher == name)
    infeasible = sum(spent.infeasible.values()) / max(spent.samples, 1)
    left, right = _place(low, scale), _place(high, scale)
    return Standing(
        searcher=name,
        reference=name == study.reference,
        value=centre,
        ratio=ratio_text(centre),
        interval=f"{ratio_text(low)} to {ratio_text(high)}",
        dot=_place(centre, scale) if math.isfinite(centre) else None,
        left=left,
        width=right - left,
        close=f"{close:,} of {runs:,}",
        close_share=close / max(runs, 1),
        infeasible=percent_markup(infeasible),
        infeasible_share=infeasible,
        start=study.begins(name) or NONE,
        seconds=f"{(spent.searcher_seconds + spent.model_seconds) / max(spent.cells, 1):,.1f}",
        lead=lead,
    )


def _place(value: float, scale: tuple[float, float]) -> float:
    """Where a ratio stands on the strip, from 0 to 100; what is infinite stands at its end."""
    least, most = scale
    if not math.isfinite(value):
        return 100.0
    if most <= least:
        return 50.0
    return round(100 * math.log(value / least) / math.log(most / least), 2)
