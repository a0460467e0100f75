"""What campaigns beside paper-table3-any tell of its claims.

A single agent with more samples, baselines that nobody tuned, other networks, a space that refuses nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from dse.analysis.reduction import problem_of
from dse.analysis.study import Study
from experiments.intervals import overall
from experiments.paper.claims import Claim, figure, runs_of, shown
from experiments.paper.lines import BESIDE_RANDOM, CONVERGED, PAIRS, Line, judged, part, steps
from experiments.paper.measures import above_one, loss_ratio, steps_to
from experiments.paper.own_problem import LOWER, STEPS

SINGLE = "ppo-plain"
UNTUNED = {"bayesian": "tpe", "genetic": "genetic-plain", "gamma": "gamma-paper"}
"""Table III's baselines as their libraries or authors have them: the searchers of paper-untuned."""
BLIND = "walk-blind"
CLUSTERED = ("marl-9", "marl-6", "marl-2")
"""The arms of paper-clustered: those of paper-table3-any count genes without a choice among their agents."""
HUNDREDS_OF_THOUSANDS = 200_000
FAR = {"bert_base": "BERT's products", "mlp": "an MLP's layers"}
"""What the paper counts the points of, in Table II, and does not run."""


def joined(study: Study, other: Study, names: Sequence[str]) -> Study:
    """A study with another's runs of some searchers on its problems, in place of its own of that name."""
    kept = [name for name in study.searchers if name not in names]
    cells = [cell for cell in study.summaries if cell.searcher in kept]
    cells += [c for c in other.summaries if c.searcher in names and problem_of(c) in study.problems]
    limits = study.about.get("limits", {}) | {n: {"budget": other.budget_of(n)} for n in names}
    about = study.about | {"searchers": [*kept, *names], "limits": limits}
    return replace(study, about=about, summaries=tuple(cells))


def table3_line(study: Study, objective: str, network: str, name: str, times: float) -> Line:
    """One of Table III's ratios: of what is nearest to the paper's, with nothing tuned, with both tuned."""
    here, plain = part(study, objective, network), UNTUNED.get(name, name)
    pairs = PAIRS if name == "ppo" else (None, (plain, "marl-plain"), (name, "marl"))
    found, departs = judged(here, pairs, times), "a b d" if name in ("ppo", "random") else "a b c d"
    samples = study.budget_of(plain)
    if samples < study.budget:
        few = loss_ratio(here, plain, "marl-plain", samples).value
        found, departs = (found[0], (shown(few), "not tested"), found[2]), departs + " f"
    return Line(f"{name}'s figure over marl's, {network}, {objective}", f"{times:g}", found, departs)


def walker_line(study: Study, objective: str, network: str, times: float) -> Line:
    """Table III's random walker as one that walks, blind, or uphill, rather than draws anew."""
    pairs = (None, (BLIND, "marl-plain"), ("walk", "marl"))
    found = judged(part(study, objective, network), pairs, times)
    return Line(f"a walker's figure over marl's, {network}, {objective}", f"{times:g}", found, "a b d")


def step_parts(study: Study) -> Iterator[tuple[str, str, float, Study]]:
    """Network and objective of the step claims that a study has problems of, with the claim and that part."""
    for (network, objective), times in STEPS.items():
        here = part(study, objective, network)
        if here.problems:
            yield network, objective, times, here


def steps_lines(own: Study, longer: Study) -> Iterator[Line]:
    """How many times fewer steps, and how many a single agent takes."""
    parts = list(step_parts(joined(own, longer, [SINGLE])))
    for network, objective, times, here in parts:
        found = tuple(steps(here, *pair, times) for pair in PAIRS)
        yield Line(f"times fewer steps, {network}, {objective}", f"{times:g}", found, "a b d")
    least = HUNDREDS_OF_THOUSANDS / CONVERGED
    for network, objective, _, here in parts:
        if objective == "latency":
            found = tuple(steps(here, *pair, least) for pair in PAIRS)
            claim = f"a single agent needs hundreds of thousands: its samples over {CONVERGED:,}, {network}"
            yield Line(f"{claim}, latency", f"{least:g} or more", found, "a b d")


def plain_steps(own: Study, longer: Study) -> Iterator[Claim]:
    """The step claims by stock PPO that is not cut off, for the page of all claims."""
    for network, objective, times, here in step_parts(joined(own, longer, [SINGLE])):
        found = {many: steps_to(here, many, SINGLE, CONVERGED) for many in ("marl", "marl-plain")}
        verdicts = [steps(here, SINGLE, many, times)[1] for many in found]
        told = {many: ("at least " if cut else "") + shown(c.value) for many, (c, cut) in found.items()}
        yield Claim(
            f"Many agents converge {times:g} times sooner on {network}, {objective}",
            f"{times:g} times fewer steps",
            overall(verdicts),
            f"stock PPO takes {told['marl']} times {CONVERGED:,} samples until it is where marl typically is "
            f"after {CONVERGED:,}, and {told['marl-plain']} times for marl-plain",
            f"{longer.name}: {runs_of(part(longer, objective, network))}",
            ("against", f"stock PPO's samples over {CONVERGED:,}", "verdict"),
            tuple((many, told[many], v) for many, v in zip(found, verdicts, strict=True)),
            tuple(
                figure(f"{many}: stock PPO's samples over {CONVERGED}", c) for many, (c, _) in found.items()
            ),
        )


def other_networks(study: Study) -> Iterator[Line]:
    """ResNet-18 and AlexNet, in the paper's setting."""
    for network in ("resnet18", "alexnet"):
        times = STEPS[network, "latency"]
        found = tuple(steps(part(study, "latency", network), *pair, times) for pair in PAIRS)
        yield Line(f"times fewer steps, {network}, latency", f"{times:g}", found, "a b d e")
    for network, most in LOWER.items():
        found = judged(part(study, "latency", network), PAIRS, most)
        yield Line(f"PPO's end over marl's, {network}, latency", f"up to {most:g}", found, "a b d")


def beyond(study: Study) -> Iterator[Line]:
    """Layers of transformers and of perceptrons: whether many agents end lower than a single one."""
    for network, words in FAR.items():
        found = judged(part(study, "latency", network), PAIRS, None)
        yield Line(f"PPO's end over marl's, {words}, latency", "above 1", found, "b")
        found = judged(part(study, "latency", network), BESIDE_RANDOM, None)
        yield Line(f"PPO is worse than random, {words}, latency", "above 1", found, "b")


def unrefused(study: Study, published: Study) -> Iterator[Line]:
    """Table III's latencies where nothing is refused, as in the paper's environment."""
    for network in ("mobilenet_v2", "vgg16"):
        here = part(study, "latency", network)
        ratios = published.published(network, "latency")["paper"]
        for name in ("random", "ppo"):
            pairs = PAIRS if name == "ppo" else (None, ("random", "marl-plain"), ("random", "marl"))
            found = judged(here, pairs, ratios[name])
            yield Line(
                f"nothing refused: {name}'s figure over marl's, {network}, latency",
                f"{ratios[name]:g}",
                found,
                "b d g",
            )
        found = judged(here, BESIDE_RANDOM, None)
        yield Line(f"nothing refused: PPO is worse than random, {network}, latency", "above 1", found, "d g")
        one = loss_ratio(here, "marl-1", "marl", study.budget).value
        claim = f"nothing refused: it is the many agents: one over marl, {network}, latency"
        yield Line(claim, "above 1", (None, None, (shown(one), above_one(one))), "b g")
