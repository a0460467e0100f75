"""What becomes of the ranking under the other model, in sentences."""

from __future__ import annotations

from collections.abc import Mapping

from dse.analysis.repriced.ranking import Pairs, Ranking
from dse.analysis.repriced.repricing import Repriced
from dse.analysis.significance import LEAST_SEEDS
from dse.campaign.curves import CURVES
from dse.core.reasons import Reason
from dse.report.formats import counted, names

LOWERED = (
    f"Without {CURVES} this folder does not keep strides and paddings: layers are priced as if they had "
    "none, padding as data."
)
MOST_CLAUSES = 3
"""So many groups of searchers that would pass others are named; the other pairs are counted."""


def finding(repriced: Repriced) -> str:
    """The result over all problems, in a few sentences."""
    if not repriced.winners:
        return " ".join([f"No winner is priced by {repriced.other}.", *notes(repriced)])
    parts = [
        ranking_sentence(repriced.overall, repriced.model, repriced.other)
        if repriced.overall
        else f"By {repriced.other}, the searchers cannot be compared over all problems.",
        _infeasible(repriced),
        *notes(repriced),
    ]
    return " ".join(filter(None, parts))


def notes(repriced: Repriced) -> list[str]:
    """What could not be priced, and why, and what was not priced exactly."""
    found = [
        reason
        if count == repriced.problems
        else f"Not priced on {count} of {repriced.problems} problems: {reason}"
        for reason, count in repriced.unpriced.items()
    ]
    return [*found, LOWERED] if repriced.lowered else found


def caveat(repriced: Repriced) -> str:
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
    if ranking.seeds < LEAST_SEEDS and not pairs.ordered:
        return (
            f"With {counted(ranking.seeds, 'seed')}, no change of rank by {other} can be significant: that "
            f"takes {LEAST_SEEDS}."
        )
    of = f"of {counted(pairs.all, 'pair')}"
    if not pairs.discordant:
        return f"By {other}, no two searchers would change places: {of}, {_shares(pairs, model, other)}."
    if pairs.all == 1:
        return f"By {other}, {_passing(ranking)}; by {model} it is the other way round."
    alike = f"{pairs.concordant:,}" if pairs.concordant else "none"
    verb = "is" if pairs.concordant < 2 else "are"
    doubt = pairs.all - pairs.discordant - pairs.concordant
    differ = "does not differ" if doubt == 1 else "do not differ"
    rest = f", and {doubt:,} {differ} significantly by one or both" if doubt else ""
    return (
        f"By {other}, {_passing(ranking)}: {of}, {pairs.discordant:,} would change places, {alike} {verb} in "
        f"the same order by both{rest}."
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
        f"{names(ahead)} {'of' if place else 'would be significantly ahead of'} {names(behind)}"
        for place, (behind, ahead) in enumerate(clauses[:MOST_CLAUSES])
    ]
    rest = sum(len(ahead) * len(behind) for behind, ahead in clauses[MOST_CLAUSES:])
    return "; ".join([*said, *([f"and so in {counted(rest, 'more pair')}"] if rest else [])])


def _shares(pairs: Pairs, model: str, other: str) -> str:
    same = f"{pairs.concordant:,} {'is' if pairs.concordant == 1 else 'are'} in the same order by both"
    parts = (
        (pairs.tied_by_other, f"{model} alone"),
        (pairs.tied_by_own, f"{other} alone"),
        (pairs.tied_by_both, "neither"),
    )
    rest = [f"{n:,} differ{'s' * (n == 1)} significantly by {which}" for n, which in parts if n]
    return names([*([same] if pairs.concordant else []), *rest])


def _infeasible(repriced: Repriced) -> str:
    count = sum(repriced.infeasible.values())
    if not count:
        return ""
    are = "is" if count == 1 else "are"
    of = counted(repriced.winners, "winner")
    return f"{count:,} of {of} {are} infeasible by {repriced.other}: {why(repriced.infeasible)}."


def why(infeasible: Mapping[str, int]) -> str:
    """Reasons in words, with their counts where there are several."""
    one = len(infeasible) == 1
    return names([words_of(name) if one else f"{words_of(name)} ({n:,})" for name, n in infeasible.items()])


def words_of(reason: str) -> str:
    """A reason, by its name, in words."""
    return Reason[reason.upper()].text


def scope(ranking: Ranking) -> str:
    """What a ranking is of: `all problems`, or a network and its objective."""
    return f"{ranking.network}, {ranking.objective}" if ranking.network else "all problems"
