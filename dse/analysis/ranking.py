"""Searchers ranked under two cost models by the same runs, and which pairs are reversed.

A searcher is ahead of another under a model if the 95 % confidence interval of the ratio of their figures is
on one side of 1 (a bootstrap over seeds; the resamples of a searcher are the same under both models). A pair
is reversed if each is ahead under one of the models: then both intervals, of which chance makes one in
twenty, would have to err. With fewer than LEAST_SEEDS seeds of either nobody is ahead.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from dse.analysis.reduction import ratio_interval
from dse.analysis.stats.bootstrap import LEAST_SEEDS, confidence_interval
from dse.analysis.stats.comparing import order_of
from dse.analysis.stats.runtimes import TOLERANCE
from dse.support.arrays import FloatArray


@dataclass(frozen=True)
class Resampled:
    """A searcher's figure under one model, and what it is in each resample of its seeds."""

    value: float
    draws: FloatArray


@dataclass(frozen=True)
class Contender:
    """A searcher's figures: by the campaign's model, and those of the same mappings by the other one.

    `infeasible` counts, by reason, those of its `winners` that the other model does not take.
    """

    own: Resampled
    other: Resampled
    seeds: int
    winners: int
    infeasible: Mapping[str, int]


@dataclass(frozen=True)
class Place:
    """A figure with its interval, and its rank among the searchers': equal figures share the lower one."""

    value: float
    low: float
    high: float
    rank: int


@dataclass(frozen=True)
class Ranked:
    """A searcher under both models. `passes` are those it is ahead of under the other: reversed pairs."""

    searcher: str
    own: Place
    other: Place
    seeds: int
    winners: int
    infeasible: Mapping[str, int]
    passes: tuple[str, ...]


@dataclass(frozen=True)
class Pairs:
    """How the two models order pairs of searchers, in Kendall's words.

    Both order a `concordant` pair alike and a `discordant` one the other way round. A tied pair is one of
    which nobody is ahead: by the campaign's own model, by the other, or by both.
    """

    concordant: int = 0
    discordant: int = 0
    tied_by_own: int = 0
    tied_by_other: int = 0
    tied_by_both: int = 0

    @property
    def all(self) -> int:
        """All pairs."""
        return self.concordant + self.discordant + self.tied_by_own + self.tied_by_other + self.tied_by_both


@dataclass(frozen=True)
class Ranking:
    """The searchers on a group of problems, in the order of their ranks under the campaign's model.

    `network` and `objective` are those of the group; over all `problems`, `network` is empty. `seeds` are
    the fewest of a searcher.
    """

    network: str
    objective: str
    problems: int
    rows: tuple[Ranked, ...]
    pairs: Pairs
    seeds: int


def rank_searchers(network: str, objective: str, problems: int, entries: Mapping[str, Contender]) -> Ranking:
    """The ranking of the searchers of `entries`."""
    passes: dict[str, list[str]] = {name: [] for name in entries}
    counts: Counter[str] = Counter()
    for one, other in combinations(entries, 2):
        before, after = (_ahead(entries[one], entries[other], which) for which in ("own", "other"))
        kind = _kind(before, after)
        counts[kind] += 1
        if kind == "discordant":
            first, last = (one, other) if after < 0 else (other, one)
            passes[first].append(last)
    seeds = [entry.seeds for entry in entries.values()]
    places = [
        _places([getattr(entry, which) for entry in entries.values()], seeds) for which in ("own", "other")
    ]
    rows = [
        Ranked(name, own, other, entry.seeds, entry.winners, entry.infeasible, tuple(passes[name]))
        for (name, entry), own, other in zip(entries.items(), *places, strict=True)
    ]
    rows.sort(key=lambda row: row.own.rank)
    fewest = min((entry.seeds for entry in entries.values()), default=0)
    return Ranking(network, objective, problems, tuple(rows), Pairs(**counts), fewest)


def _kind(before: int, after: int) -> str:
    """Which of the counts of Pairs a pair belongs to, by who is ahead under either model."""
    if before and after:
        return "concordant" if before == after else "discordant"
    if before or after:
        return "tied_by_other" if before else "tied_by_own"
    return "tied_by_both"


def _ahead(one: Contender, other: Contender, which: str) -> int:
    """-1 if `one` is ahead under that model, 1 if `other` is, 0 if the difference is not significant."""
    if min(one.seeds, other.seeds) < LEAST_SEEDS:
        return 0
    mine, theirs = (getattr(each, which).draws for each in (one, other))
    low, high = ratio_interval(mine, theirs, min(one.seeds, other.seeds))
    return int(low > 1 + TOLERANCE) - int(high < 1 - TOLERANCE)


def _places(figures: Sequence[Resampled], seeds: Sequence[int]) -> list[Place]:
    values = np.array([figure.value for figure in figures])
    ranks = 1 + (order_of(values[:, None], values[None, :]) > 0).sum(axis=1)
    return [
        Place(figure.value, *confidence_interval(figure.draws, count), int(place))
        for figure, place, count in zip(figures, ranks, seeds, strict=True)
    ]
