"""The claims on the paper's own problem: its space, its accelerator, its environment's area."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from dse.analysis.study import Study
from experiments.paper.claims import (
    Claim,
    agents_claim,
    figure,
    overall,
    reduction_claims,
    runs_of,
    samples_claim,
    shown,
)
from experiments.paper.measures import (
    above_one,
    among,
    at_least,
    budget_over_samples,
    fewer_samples,
    loss_ratio,
)
from experiments.paper.setting import on, settled

PAPERS = "paper"
"""The preset without limits."""
FIGURE_5 = {("mobilenet_v2", "latency"): 100, ("vgg16", "latency"): 30, ("mobilenet_v2", "area"): 40,
            ("vgg16", "area"): 63, ("mobilenet_v2", "edp"): 312.5, ("vgg16", "edp"): 41.6}  # fmt: skip
"""How many times fewer steps marl takes there than a single agent."""


def own_claims(study: Study) -> Iterator[Claim]:
    """The claims of Table III and Figures 5 and 6, accelerator by accelerator, the paper's first."""
    machines = list(dict.fromkeys(problem[1] for problem in study.problems))
    for machine in sorted(machines, key=lambda name: name != PAPERS):
        here = on(study, machine)
        found = [
            *reduction_claims(here),
            *(steps_claim(here, *key, times) for key, times in FIGURE_5.items()),
            two_agents_claim(here),
            agents_claim(here),
        ]
        for claim in found:
            yield settled(named(claim, f"the paper's problem, on {machine}"), here)


def layers_claims(study: Study) -> Iterator[Claim]:
    """What it says of ResNet-18's layer 2: 120 times fewer samples, up to 1.5 times lower latency."""
    for machine in dict.fromkeys(problem[1] for problem in study.problems):
        here = on(study, machine)
        latency = among(here, ("marl", "ppo"), "latency")
        resnet = [problem for problem in latency.problems if problem[0].startswith("resnet18")]
        if resnet:
            claim = samples_claim(latency, "marl", "ppo", "ResNet-18 and AlexNet, latency")
            yield settled(named(claim, f"the paper's problem, on {machine}"), here)


def steps_claim(study: Study, network: str, objective: str, times: float) -> Claim:
    """Figure 5 for one network and objective, counted as the paper counts and counted alike."""
    here = of_network(among(study, ("marl", "ppo"), objective), network)
    paper, alike = budget_over_samples(here, "marl", "ppo"), fewer_samples(here, "marl", "ppo")
    counts = (("as the paper counts", paper), ("both charged until they are there", alike))
    return Claim(
        f"Many agents converge {times:g} times sooner on {network}, {objective}",
        f"{times:g} times fewer steps (Figure 5)",
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
    problems = [problem for problem in study.problems if problem[0].partition(":")[0] == network]
    cells = tuple(cell for cell in study.summaries if cell.layer.partition(":")[0] == network)
    return replace(study, about=study.about | {"problems": problems}, summaries=cells)


def named(claim: Claim, where: str) -> Claim:
    """The claim with where it was put to the test in its name."""
    return replace(claim, claim=f"{claim.claim} ({where})")
