"""Figure 6: numbers of agents, and groups that are carried over to another network."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from dse.analysis.study import Study
from dse.support.arrays import FloatArray
from experiments.intervals import Verdict, at_most, ratio_of_sums
from experiments.paper.claims import shown
from experiments.paper.lines import Line, same
from experiments.paper.measures import above_one, among, best_numbers, loss_ratio
from experiments.paper.own_problem import of_network

TWO = ("marl-2", "kc-rest")
"""Two agents: dealt by Algorithm 1, and as the paper's two."""
CLAIMED = ("marl-6", "marl-9")
MOST = "marl-10"
CARRIED = {"mobilenet_v2": ("of-mobilenet-v2-1", "of-mobilenet-v2-2"), "vgg16": ("of-vgg16-1", "of-vgg16-2")}
"""The arms of paper-carried by the network that their groups are of."""
CHANCE = "by-chance"


def with_both_ends(own: Study, six: Study) -> Study:
    """Figure 6's campaign with one agent, and one for each gene, of paper-table3-any on its problems."""
    ends = ("marl-1", "marl")
    cells = tuple(
        cell
        for cell in among(own, ends).summaries
        if (cell.layer, cell.accelerator, cell.objective) in six.problems
    )
    about = six.about | {"searchers": [*six.searchers, *ends]}
    return replace(six, about=about, summaries=six.summaries + cells)


def figure6(own: Study, six: Study) -> Iterator[Line]:
    """How many agents are best.

    Groups that are learned have 20,000 samples more to learn from, as the paper's data are free.
    """
    study = with_both_ends(own, six)

    def ratio(one: str, other: str) -> tuple[str, Verdict]:
        found = loss_ratio(study, one, other, study.budget).value
        return shown(found, 3), above_one(found)

    for two in TWO:
        claim = f"even 2 agents beat 1: latency of marl-1 over {two}'s"
        yield Line(claim, "above 1", (ratio("marl-1", two),), "a b")
    others = [name for name in study.searchers if name not in (*CLAIMED, "kc")]
    for one in CLAIMED:
        told = [f"{other} {ratio(other, one)[0]}" for other in others]
        ratios = {(one, o): loss_ratio(study, one, o, study.budget).value for o in others}
        known = {pair: found for pair, found in ratios.items() if found is not None}
        verdict = best_numbers((one,), others, known)
        yield Line(
            f"6 or 9 are best: latencies over {one}'s", "above 1", (("; ".join(told), verdict),), "a b"
        )
    for many in ("kc", *CLAIMED):
        found = loss_ratio(study, many, "marl", study.budget)
        claim = f"clustered is as good as an agent a parameter: latency of {many} over marl's"
        yield Line(claim, "1", ((shown(found.value, 3), same(found)),), "a b")
    for few in ("marl-2", "marl-3", *CLAIMED):
        spent = ratio_of_sums(seconds(six, few), seconds(six, MOST))
        claim = f"fewer agents are cheaper: CPU seconds of {few} over {MOST}'s"
        yield Line(claim, "below 1", ((spent.shown(3), at_most(1.0, spent)),), "b")


def seconds(study: Study, searcher: str) -> FloatArray:
    """The CPU seconds of its runs without the cost model's, by problem and seed."""
    cells = sorted((c for c in study.summaries if c.searcher == searcher), key=lambda c: (c.layer, c.seed))
    return np.array([cell.searcher_seconds for cell in cells])


def carried(study: Study) -> Iterator[Line]:
    """Whether groups of one network's layers serve another's as well as its own, and better than chance's."""
    for network, own in CARRIED.items():
        here = of_network(study, network)
        theirs = (names for of, names in CARRIED.items() if of != network)
        for mine, other in zip(own, *theirs, strict=True):
            found = loss_ratio(here, other, mine, study.budget)
            claim = f"groups carry over: {network}'s latency with those {other} over that with those {mine}"
            yield Line(claim, "1", ((shown(found.value, 3), same(found)),), "b")
            chance = loss_ratio(here, CHANCE, other, study.budget).value
            claim = (
                f"groups carry over: {network}'s latency with groups by chance over that with those {other}"
            )
            yield Line(claim, "above 1", ((shown(chance, 3), above_one(chance)),), "b")
