"""The table of winners under the other model: all digits as CSV, a section for each ranking to be read."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from dse.analysis.repriced.ranking import Place, Ranked, Ranking
from dse.analysis.repriced.repricing import Repriced
from dse.analysis.study import Study
from dse.core.cost_models import unit_of
from dse.report.formats import NOTHING, Section, Table, counted, figure, names, over_target
from dse.report.limits import seeds, without
from dse.report.repriced.words import ranking_sentence, scope, why, words_of

COLUMNS = (
    "cost_model",
    "network",
    "objective",
    "problems",
    "searcher",
    "seeds",
    "figure",
    "low",
    "high",
    "rank",
    "repriced",
    "repriced_low",
    "repriced_high",
    "repriced_rank",
    "passes",
    "winners",
    "infeasible",
)


def repriced_table(study: Study, repriced: Sequence[Repriced]) -> Table:
    """The whole table; over all problems `network` and `objective` are empty, and the figures are ratios."""
    reasons = list(dict.fromkeys(reason for found in repriced for reason in found.infeasible))
    rows = [
        (found.other, *_row(ranking, row, reasons))
        for found in repriced
        for ranking in _rankings(found)
        for row in ranking.rows
    ]
    sections = tuple(section for found in repriced for section in repriced_sections(study, found))
    return Table("repriced", (*COLUMNS, *reasons), tuple(rows), sections, sections)


def _rankings(repriced: Repriced) -> tuple[Ranking, ...]:
    return repriced.groups if repriced.overall is None else (repriced.overall, *repriced.groups)


def _row(ranking: Ranking, row: Ranked, reasons: list[str]) -> tuple[object, ...]:
    places = [
        part for place in (row.own, row.other) for part in (place.value, place.low, place.high, place.rank)
    ]
    counts = [row.winners, sum(row.infeasible.values()), *(row.infeasible.get(name, 0) for name in reasons)]
    group = ranking.network, ranking.objective, ranking.problems
    return (*group, row.searcher, row.seeds, *places, " ".join(row.passes), *counts)


def repriced_sections(study: Study, repriced: Repriced) -> Iterator[Section]:
    """By one other model: the findings in words, the ranking over all problems, and those of each network.

    Nothing where there is no ranking.
    """
    model, other, overall = repriced.model, repriced.other, repriced.overall
    what = f"Winners under {model}, priced by {other}: who would change places"
    words = [[scope(found), ranking_sentence(found, model, other)] for found in _rankings(repriced)]
    if not words:
        return
    yield Section(what, ["ranking of", "in words"], words)
    if overall:
        over = f"{counted(overall.problems, 'problem')} and {seeds(study, ends=True)}"
        title = f"All problems: ratio to the best known by {model}, and to the best of the winners by {other}"
        note = f"Interquartile means over {over}, with 95 % confidence intervals. {without(study)}".strip()
        heads = [f"by {model}", f"by {other}"]
        figures = [(_ratio(row.own), _ratio(row.other)) for row in overall.rows]
        yield _section(title, heads, overall, figures, note)
    for found in repriced.groups:
        title = f"{found.network}: {found.objective} of the same mappings by {model} and by {other}"
        units = study.unit(found.objective), unit_of(found.objective, other)
        heads = [f"by {name} ({unit})" for name, unit in zip((model, other), units, strict=True)]
        figures = [(figure(row.own.value), figure(row.other.value)) for row in found.rows]
        yield _section(title, heads, found, figures)


def _section(
    title: str, by: list[str], ranking: Ranking, figures: list[tuple[str, str]], note: str = ""
) -> Section:
    """A ranking's rows. A reason alone stands in the infeasible's head; of several each has a column."""
    reasons = list(dict.fromkeys(reason for row in ranking.rows for reason in row.infeasible))
    infeasible = f"infeasible: {why(dict.fromkeys(reasons, 0))}" if len(reasons) == 1 else "infeasible"
    columns = reasons if len(reasons) > 1 else []
    heads = ["searcher", by[0], "rank", by[1], "rank", "would pass", infeasible, *map(words_of, columns)]
    cells = [
        [
            row.searcher,
            own,
            str(row.own.rank),
            other,
            str(row.other.rank),
            names(row.passes) if row.passes else NOTHING,
            f"{sum(row.infeasible.values()):,} of {row.winners:,}",
            *(f"{row.infeasible.get(reason, 0):,}" for reason in columns),
        ]
        for row, (own, other) in zip(ranking.rows, figures, strict=True)
    ]
    return Section(title, heads, cells, note)


def _ratio(place: Place) -> str:
    if math.isinf(place.value) or place.low == place.high:
        return over_target(place.value)
    return f"{over_target(place.value)} [{over_target(place.low)}, {over_target(place.high)}]"
