"""Lines of numbers.md: a claim of arXiv:2507.16249, what was found of it, and how that is judged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dse.analysis.study import Study
from experiments.intervals import Verdict, at_least
from experiments.paper.claims import shown
from experiments.paper.measures import Contest, above_one, among, loss_ratio, steps_to
from experiments.paper.own_problem import of_network

CONVERGED = 5_000
"""Samples after which the paper's agents have converged."""
NEAR = 1.05
"""What is within this ratio of another figure counts as the same."""
PAIRS = (("ppo-plain", "marl"), ("ppo-plain", "marl-plain"), ("ppo", "marl"))
"""A single agent and many: stock PPO against marl, nothing tuned, both tuned."""
BESIDE_RANDOM = (("ppo-plain", "random"), None, ("ppo", "random"))
"""Stock PPO and the tuned one beside random search."""
Found = tuple[str, Verdict] | None


@dataclass(frozen=True)
class Line:
    """A claim, and what was found for each of PAIRS with its verdict: None where there are no such runs.

    Where a claim is about no pair, there is one finding.
    """

    claim: str
    paper: str
    found: tuple[Found, ...]
    departs: str

    @property
    def row(self) -> tuple[str, ...]:
        """The line's cells; of pairs the verdict is that of the first two, if they agree."""
        told = [found or ("-", "not tested") for found in self.found]
        if len(told) == 1:
            return self.claim, self.paper, *told[0], self.departs
        near = {found[1] for found in self.found[:2] if found} or {"not tested"}
        verdict = near.pop() if len(near) == 1 else "inconclusive"
        return self.claim, self.paper, told[0][0], told[1][0], verdict, *told[2], self.departs


def part(study: Study, objective: str, network: str) -> Study:
    """The study of one objective and one network."""
    return of_network(among(study, study.searchers, objective), network)


def judged(
    here: Study, pairs: Sequence[tuple[str, str] | None], times: float | None, others: int | None = None
) -> tuple[Found, ...]:
    """Each pair's ratio of ends, with its verdict on being so much or, without `times`, above 1.

    The other's end may be that after `others` samples.
    """
    found: list[Found] = []
    for pair in pairs:
        ratio = loss_ratio(here, *pair, here.budget, others).value if pair else None
        verdict = above_one(ratio) if times is None else at_least(times, ratio)
        found.append((shown(ratio), verdict) if pair else None)
    return tuple(found)


def steps(here: Study, single: str, many: str, times: float) -> tuple[str, Verdict]:
    """The single agent's steps over those of many; not tested where it was cut off before it can be told."""
    found, censored = steps_to(here, many, single, CONVERGED)
    verdict = at_least(times, found.value)
    if not censored:
        return shown(found.value), verdict
    return f"at least {shown(found.value)}", verdict if verdict == "borne out" else "not tested"


def same(found: Contest) -> Verdict:
    """Whether two figures are the same, within NEAR."""
    low, high = (found.value.low, found.value.high) if found.value else (0.0, float("inf"))
    if low >= 1 / NEAR and high <= NEAR:
        return "borne out"
    return "not borne out" if low > NEAR or high < 1 / NEAR else "inconclusive"
