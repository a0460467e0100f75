"""The claims of Table III and Figures 5 and 6, on the paper's own problem and under another cost model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from dse.analysis.study import Study
from experiments.intervals import at_least, overall
from experiments.paper.claims import (
    CLAIMED,
    OTHERS,
    Claim,
    agents_claim,
    figure,
    reduction_claims,
    runs_of,
    shown,
)
from experiments.paper.measures import above_one, among, budget_over_samples, fewer_samples, loss_ratio
from experiments.paper.setting import GROUPED, on, settled

PAPERS = "paper"
"""The preset without limits."""
STEPS = {("mobilenet_v2", "latency"): 100, ("vgg16", "latency"): 30, ("mobilenet_v2", "area"): 40,
         ("vgg16", "area"): 63, ("mobilenet_v2", "edp"): 312.5, ("vgg16", "edp"): 41.6,
         ("resnet18", "latency"): 120, ("alexnet", "latency"): 30}  # fmt: skip
"""How many times fewer steps marl takes there than a single agent: Figure 5, the text of ResNet-18's layer 2,
and for AlexNet the least of the 30 to 300 that it says of all networks."""
LOWER = {"resnet18": 1.5}
"""How many times lower marl's latency is than a single agent's, at most."""


def own_claims(study: Study, layers: str = "") -> Iterator[Claim]:
    """What it claims of a campaign's `layers`, accelerator by accelerator, the paper's first."""
    machines = list(dict.fromkeys(problem[1] for problem in study.problems))
    for machine in sorted(machines, key=lambda name: name != PAPERS):
        here = on(study, machine)
        yield from claims_of(here, f"the paper's problem{layers}, on {machine}")


def claims_of(study: Study, where: str) -> Iterator[Claim]:
    """The claims of Table III, of Figures 5 and 6 and of ResNet-18: those that the campaign has."""
    has = {(network_of(problem[0]), problem[2]) for problem in study.problems}
    found = [
        *reduction_claims(study),
        *(steps_claim(study, *key, times) for key, times in STEPS.items() if key in has),
        *(lower_claim(study, name, times) for name, times in LOWER.items() if (name, "latency") in has),
    ]
    for claim in found:
        yield settled(named(claim, where), study)
    if {"marl-1", "marl-2"} <= set(study.searchers):
        yield settled(named(two_agents_claim(study), where), study, GROUPED)
    if {*CLAIMED, *OTHERS} <= set(study.searchers):
        yield settled(named(agents_claim(study), where), study, GROUPED)


def plain(study: Study) -> Study | None:
    """The study with its plain PPO and plain agents, as a reader of the paper would write them.

    What is tuned is not plain, and left out but for random search. None where it has no plain ones.
    """
    names = {name: name.removesuffix("-plain") for name in study.searchers if name.endswith("-plain")}
    if not names:
        return None
    keep = {name: name for name in study.searchers if name == "random"} | names
    kept = among(study, list(keep))
    cells = tuple(replace(cell, searcher=keep[cell.searcher]) for cell in kept.summaries)
    return replace(kept, about=kept.about | {"searchers": list(keep.values())}, summaries=cells)


def lower_claim(study: Study, network: str, times: float) -> Claim:
    """That a single agent's latency is up to so many times marl's."""
    here = of_network(among(study, ("marl", "ppo"), "latency"), network)
    contest = loss_ratio(here, "ppo", "marl", study.budget)
    return Claim(
        f"Many agents come to up to {times:g} times lower latency on {network}",
        f"up to {times:g} times lower than of a single agent, on its layer 2",
        at_least(times, contest.value),
        f"ppo's latency is {shown(contest.value, 3)} times marl's",
        runs_of(here),
        ("what", "ppo's latency over marl's"),
        ((network, shown(contest.value, 3)),),
        (figure(network, contest),),
    )


def steps_claim(study: Study, network: str, objective: str, times: float) -> Claim:
    """How many times fewer steps on one network and objective, counted as the paper counts and alike."""
    here = of_network(among(study, ("marl", "ppo"), objective), network)
    paper, alike = budget_over_samples(here, "marl", "ppo"), fewer_samples(here, "marl", "ppo")
    counts = (("as the paper counts", paper), ("both charged until they are there", alike))
    return Claim(
        f"Many agents converge {times:g} times sooner on {network}, {objective}",
        f"{times:g} times fewer steps",
        at_least(times, paper.value),
        f"{shown(paper.value)} times as the paper counts, {shown(alike.value)} times counted alike"
        if paper.problems
        else "no runs yet",
        runs_of(here),
        ("how it is counted", "times fewer samples of marl than of ppo"),
        tuple((name, shown(c.value) if c.problems else "no runs yet") for name, c in counts),
        tuple(figure(name, contest) for name, contest in counts),
    )


def two_agents_claim(study: Study) -> Claim:
    """That even two agents are better than one."""
    found = {
        objective: loss_ratio(among(study, ("marl-1", "marl-2"), objective), "marl-1", "marl-2", study.budget)
        for objective in dict.fromkeys(problem[2] for problem in study.problems)
    }
    verdicts = [above_one(contest.value) for contest in found.values()]
    return Claim(
        "Even 2 agents are better than 1",
        "2 agents, K and C against all others, end above a single one (Figure 6)",
        overall(verdicts),
        ", ".join(f"{name} {shown(contest.value, 3)}" for name, contest in found.items()),
        runs_of(study),
        ("objective", "loss of 1 agent over that of 2", "verdict"),
        tuple((name, shown(c.value, 3), v) for (name, c), v in zip(found.items(), verdicts, strict=True)),
        tuple(figure(name, contest) for name, contest in found.items()),
    )


def of_network(study: Study, network: str) -> Study:
    """The study of one network's layers."""
    problems = [problem for problem in study.problems if network_of(problem[0]) == network]
    cells = tuple(cell for cell in study.summaries if network_of(cell.layer) == network)
    return replace(study, about=study.about | {"problems": problems}, summaries=cells)


def network_of(layer: str) -> str:
    """The network that a layer such as `vgg16:2` is of."""
    return layer.partition(":")[0]


def named(claim: Claim, where: str) -> Claim:
    """The claim with where it was put to the test in its name."""
    return replace(claim, claim=f"{claim.claim} ({where})")
