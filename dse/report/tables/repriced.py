"""The winners under another cost model: the rankings by both, and which pairs are reversed, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from dse.analysis.findings import Interval
from dse.analysis.ranking import Pairs, Place, Ranking
from dse.analysis.repriced import Repriced
from dse.analysis.stats.bootstrap import LEAST_SEEDS
from dse.analysis.study import Study
from dse.campaign.curves import CURVES
from dse.core.cost_models import unit_of
from dse.core.reasons import Reason
from dse.report.formats import (
    NOTHING,
    Section,
    Table,
    loss_text,
    names_in_sentence,
    over_target,
)
from dse.report.limits import seeds_in_words, without_whom
from dse.report.tables.cells import shown_figure
from dse.support.quantities import counted_noun

QUESTION = "Would the ranking be the same under another cost model?"
LOWERED = (
    f"Without {CURVES} this folder does not keep strides and paddings: layers are priced as if they had "
    "none, padding as data."
)
MAX_CLAUSES = 3
"""So many groups of reversed pairs are named; the other pairs are counted."""


def repriced_table(study: Study, repriced: Sequence[Repriced]) -> Table:
    """The rankings by each other model, to be read; the figures for programs are in the report's summary."""
    sections = tuple(section for found in repriced for section in repriced_sections(study, found))
    return Table("repriced", QUESTION, (), (), sections, sections)


def repriced_sections(study: Study, repriced: Repriced) -> Iterator[Section]:
    """By one other model: the findings in words, the ranking over all problems, and those of each network.

    Nothing where there is no ranking.
    """
    model, other, overall = repriced.model, repriced.other, repriced.overall
    what = f"Winners under {model}, priced by {other}: pairs whose order is reversed"
    words = [[scope(found), ranking_sentence(found, model, other)] for found in repriced.rankings]
    if not words:
        return
    yield Section(what, ["ranking of", "in words"], words)
    if overall:
        over = f"{counted_noun(overall.problems, 'problem')} and {seeds_in_words(study, ends=True)}"
        title = f"All problems: ratio to the best known by {model}, and to the best of the winners by {other}"
        note = (
            f"Interquartile means over {over}, with 95 % confidence intervals. {without_whom(study)}".strip()
        )
        heads = [f"by {model}", f"by {other}"]
        figures = [(_shown(row.own), _shown(row.other)) for row in overall.rows]
        yield _section(title, heads, overall, figures, note)
    for found in repriced.groups:
        title = f"{found.network}: {found.objective} of the same mappings by {model} and by {other}"
        units = study.unit(found.objective), unit_of(found.objective, other)
        heads = [f"by {name} ({unit})" for name, unit in zip((model, other), units, strict=True)]
        figures = [(loss_text(row.own.value), loss_text(row.other.value)) for row in found.rows]
        yield _section(title, heads, found, figures)


def _section(
    title: str, by: list[str], ranking: Ranking, figures: list[tuple[str, str]], note: str = ""
) -> Section:
    """A ranking's rows. A reason alone stands in the infeasible's head; of several each has a column."""
    reasons = list(dict.fromkeys(reason for row in ranking.rows for reason in row.infeasible))
    infeasible = f"infeasible: {why(dict.fromkeys(reasons, 0))}" if len(reasons) == 1 else "infeasible"
    columns = reasons if len(reasons) > 1 else []
    heads = ["searcher", by[0], "rank", by[1], "rank", "overtakes", infeasible, *map(words_of, columns)]
    cells = [
        [
            row.searcher,
            own,
            str(row.own.rank),
            other,
            str(row.other.rank),
            names_in_sentence(row.passes) if row.passes else NOTHING,
            f"{sum(row.infeasible.values()):,} of {row.winners:,}",
            *(f"{row.infeasible.get(reason, 0):,}" for reason in columns),
        ]
        for row, (own, other) in zip(ranking.rows, figures, strict=True)
    ]
    return Section(title, heads, cells, note)


def _shown(place: Place) -> str:
    return shown_figure(Interval(place.value, place.low, place.high), over_target)


def repriced_finding(repriced: Repriced) -> str:
    """The result over all problems, in a few sentences."""
    if not repriced.winners:
        return " ".join([f"No winner is priced by {repriced.other}.", *repriced_notes(repriced)])
    parts = [
        ranking_sentence(repriced.overall, repriced.model, repriced.other)
        if repriced.overall
        else f"By {repriced.other}, the searchers cannot be compared over all problems.",
        _infeasible(repriced),
        *repriced_notes(repriced),
    ]
    return " ".join(filter(None, parts))


def repriced_notes(repriced: Repriced) -> list[str]:
    """What could not be priced, and why, and what was not priced exactly."""
    found = [
        reason
        if count == repriced.problems
        else f"Not priced on {count} of {repriced.problems} problems: {reason}"
        for reason, count in repriced.unpriced.items()
    ]
    return [*found, LOWERED] if repriced.lowered else found


def repriced_caveat(repriced: Repriced) -> str:
    """What the figures under the other model are, and what they are not."""
    return (
        f"These mappings were searched under {repriced.model}: what they cost by {repriced.other} does not "
        f"say how the searchers would do had they searched under {repriced.other}."
    )


def ranking_sentence(ranking: Ranking, model: str, other: str) -> str:
    """Who would be ahead of whom, or that nobody would."""
    pairs = ranking.pairs
    if not pairs.all:
        return f"By {other} as by {model}, there is one searcher to rank."
    if ranking.seeds < LEAST_SEEDS and pairs.all == pairs.tied_by_both:
        return (
            f"With {counted_noun(ranking.seeds, 'seed')}, no change of rank by {other} can be "
            "significant: that "
            f"takes {LEAST_SEEDS}."
        )
    of = f"of {counted_noun(pairs.all, 'pair')}"
    if not pairs.discordant:
        return f"By {other}, no pair is significantly reversed: {of}, {_shares(pairs, model, other)}."
    if pairs.all == 1:
        return f"By {other}, {_passing(ranking)}; by {model} it is the other way round."
    alike = f"{pairs.concordant:,}" if pairs.concordant else "none"
    doubt = pairs.all - pairs.discordant - pairs.concordant
    differ = "does not differ" if doubt == 1 else "do not differ"
    rest = f", and {doubt:,} {differ} significantly by one or both" if doubt else ""
    return (
        f"By {other}, {_passing(ranking)}: {of}, {pairs.discordant:,} {_are(pairs.discordant)} reversed, "
        f"{alike} {_are(pairs.concordant)} in the same order by both{rest}."
    )


def _passing(ranking: Ranking) -> str:
    """`a and b would be significantly ahead of c; d of e`, those who pass the same together.

    Those of most pairs come first.
    """
    together: dict[tuple[str, ...], list[str]] = {}
    for row in ranking.rows:
        if row.passes:
            together.setdefault(row.passes, []).append(row.searcher)
    clauses = sorted(together.items(), key=lambda clause: -len(clause[0]) * len(clause[1]))
    said = [
        f"{names_in_sentence(ahead)} "
        f"{'of' if place else 'would be significantly ahead of'} {names_in_sentence(behind)}"
        for place, (behind, ahead) in enumerate(clauses[:MAX_CLAUSES])
    ]
    rest = sum(len(ahead) * len(behind) for behind, ahead in clauses[MAX_CLAUSES:])
    return "; ".join([*said, *([f"and so in {counted_noun(rest, 'more pair')}"] if rest else [])])


def _are(count: int) -> str:
    return "is" if count < 2 else "are"


def _shares(pairs: Pairs, model: str, other: str) -> str:
    same = f"{pairs.concordant:,} {_are(pairs.concordant)} in the same order by both"
    parts = (
        (pairs.tied_by_other, f"{model} alone"),
        (pairs.tied_by_own, f"{other} alone"),
        (pairs.tied_by_both, "neither"),
    )
    rest = [f"{n:,} differ{'s' * (n == 1)} significantly by {which}" for n, which in parts if n]
    return names_in_sentence([*([same] if pairs.concordant else []), *rest])


def _infeasible(repriced: Repriced) -> str:
    count = sum(repriced.infeasible.values())
    if not count:
        return ""
    of = counted_noun(repriced.winners, "winner")
    return f"{count:,} of {of} {_are(count)} infeasible by {repriced.other}: {why(repriced.infeasible)}."


def why(infeasible: Mapping[str, int]) -> str:
    """Reasons in words, with their counts where there are several."""
    one = len(infeasible) == 1
    return names_in_sentence(
        [words_of(name) if one else f"{words_of(name)} ({n:,})" for name, n in infeasible.items()]
    )


def words_of(reason: str) -> str:
    """A reason, by its name, in words."""
    return Reason[reason.upper()].text


def scope(ranking: Ranking) -> str:
    """What a ranking is of: `all problems`, or a network and its objective."""
    return f"{ranking.network}, {ranking.objective}" if ranking.network else "all problems"
