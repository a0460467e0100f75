"""Whether a difference between two searchers is significant, and who is ahead of whom at the end.

A comparison is `significant` where the 95 % confidence interval of its figure leaves out the value that means
no difference (a half of a probability, 1 of a ratio), and `not significant` where it does not. It is
`inconclusive` where there are too few runs for either: fewer than LEAST_SEEDS of a searcher on a problem have
no interval worth the name, and where even the most extreme outcome would come about by chance more often than
one time in twenty, nothing can be significant. Each comparison is by itself: nothing is corrected for there
being several.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import comb, isnan
from typing import Literal

from dse.analysis.findings import Band, Improvement, Interval
from dse.analysis.stats.bootstrap import LEAST_SEEDS

Verdict = Literal["significant", "reversed", "not significant", "inconclusive"]
"""Of a lead: `reversed` is a significant difference the other way round."""
CHANCE = 0.05


def enough_runs(sizes: Iterable[tuple[int, int]]) -> bool:
    """Whether so many runs of either searcher, problem by problem, can show any significant difference."""
    outcomes = 1
    for mine, theirs in sizes:
        if min(mine, theirs) < LEAST_SEEDS:
            return False
        outcomes *= comb(mine + theirs, mine)
    return CHANCE * outcomes >= 2


def verdict_of_interval(found: Interval, even: float, enough: bool) -> Verdict:
    """What a figure's confidence interval says, where `even` means no difference and more means a lead."""
    if not enough or isnan(found.low):
        return "inconclusive"
    if found.low > even:
        return "significant"
    return "reversed" if found.high < even else "not significant"


@dataclass(frozen=True)
class Lead:
    """The searcher with the lowest figure at the end, and whether it is ahead of each of the others.

    By the probability that one of its runs ends lower than one of the other's. `level` are the searchers
    whose figure reads like its own, itself included.
    """

    searcher: str
    level: tuple[str, ...]
    against: Mapping[str, Verdict]


def leading_by_ends(
    ends: Mapping[str, Interval], shown: Mapping[str, str], improvement: Improvement
) -> Lead | None:
    """Who leads by `ends`, which tables show as `shown`; None where nobody has a figure."""
    finite = {name: end for name, end in ends.items() if end.finite}
    if not finite:
        return None
    best = min(finite, key=lambda name: finite[name].value)
    level = tuple(name for name in finite if shown[name] == shown[best])
    others = [name for name in ends if name != best]
    return Lead(best, level, {name: verdict_of(improvement, best, name) for name in others})


def figures_at_end(gap: Mapping[str, Band], cut: Iterable[str]) -> dict[str, Interval]:
    """The figures at the full budget, of those that have it all."""
    less = set(cut)
    return {name: band.end for name, band in gap.items() if name not in less}


def verdict_of(improvement: Improvement, one: str, other: str) -> Verdict:
    """Whether runs of one searcher end lower than those of the other."""
    i, j = (improvement.searchers.index(name) for name in (one, other))
    return verdict_of_interval(improvement.chance(i, j), 0.5, bool(improvement.enough[i, j]))
