"""Every number of arXiv:2507.16249, with ours beside it: `python -m experiments.paper.numbers`.

Reads curves and tables that verdicts.py reads too, and writes numbers.md beside them. A claim about the
paper's single agent is judged by what is nearest to its own: stable-baselines3's PPO with its own
settings, against marl as it is here, and against marl-plain, with the paper's reward and no trick of
ours. What becomes of it when both are tuned stands beside that. Some ten seconds on one core.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product

from dse.analysis.study import Study, load_study
from dse.report.formats import Section, markdown_table
from experiments import RESULTS, keep, read_rows
from experiments.intervals import Verdict, at_least, at_most, overall
from experiments.paper.claims import NOTABLE, Claim, shown
from experiments.paper.elsewhere import (
    BLIND,
    CLUSTERED,
    UNTUNED,
    beyond,
    joined,
    other_networks,
    steps_lines,
    table3_line,
    unrefused,
    walker_line,
)
from experiments.paper.figure6 import carried, figure6
from experiments.paper.lines import BESIDE_RANDOM, CONVERGED, NEAR, PAIRS, Line, judged, part, same
from experiments.paper.measures import above_one, loss_ratio, over_best_known
from experiments.paper.parameters import alike_claim, dependence_claims, sooner_claim
from experiments.paper.setting import DEPARTURES

HERE = RESULTS / "paper"
NETWORKS, OBJECTIVES = ("mobilenet_v2", "vgg16"), ("latency", "edp", "area")
WORSE = {
    ("latency", "mobilenet_v2"): 6.22e-4 / 2.00e-4,
    ("latency", "vgg16"): 2.36e-1 / 2.94e-2,
    ("edp", "mobilenet_v2"): 1.95e-4 / 1.00e-4,
    ("edp", "vgg16"): 2.00e-2 / 7.87e-3,
}
"""Table III's figures of PPO over those of the random walker."""
ENDS = {("edp", "mobilenet_v2"): 2.56, ("edp", "vgg16"): 8.0, ("latency", "vgg16"): 1 / 0.85}
"""How many times better marl's reward ends than PPO's: Figure 5."""
FEW = 500
KINDS = {
    "random": ("random", "walk"),
    "surrogate": ("bayesian",),
    "evolution": ("genetic", "gamma"),
    "single-agent RL": ("ppo", "ppo-plain"),
    "multi-agent RL": ("marl", "marl-plain"),
    "multi-agent RL, clustered": ("marl-9", "marl-6", "marl-2"),
}
"""The kinds of search that Table I tells apart by words, and ours of each."""
HEADS = ("claim", "paper", "stock PPO, marl", "nothing tuned", "verdict", "both tuned", "verdict", "departs")
ALONE = ("claim", "paper", "here", "verdict", "departs")


def table1(study: Study) -> Section:
    """Table I in figures: what each kind of search comes to with few samples and with many."""
    rows = [
        (kind, name, *(shown(over_best_known(study, name, samples).value) for samples in (FEW, study.budget)))
        for kind, names in KINDS.items()
        for name in names
    ]
    heads = ("kind", "searcher", f"{FEW} samples", f"{study.budget:,} samples")
    return Section("Table I: sample efficiency and reach, as loss over the best known", heads, rows)


def table3(study: Study) -> Iterator[Line]:
    """The 20 ratios of Table III, and that its PPO is worse than its random walker."""
    for (objective, network), worse in WORSE.items():
        ratios, of = study.published(network, objective)["paper"], f"{network}, {objective}"
        for name, times in ratios.items():
            yield table3_line(study, objective, network, name, times)
        yield walker_line(study, objective, network, ratios["random"])
        found = judged(part(study, objective, network), BESIDE_RANDOM, None)
        yield Line(f"PPO is worse than random: its figure over random's, {of}", f"{worse:.2f}", found, "a d")


def figure5(study: Study, longer: Study) -> Iterator[Line]:
    """How many times fewer steps, and how much better the end, for each network and objective."""
    yield from steps_lines(study, longer)
    for (objective, network), times in ENDS.items():
        found = judged(part(study, objective, network), PAIRS, times)
        yield Line(f"PPO's end over marl's, {network}, {objective}", f"{times:.2f}", found, "a b d")
    for network in NETWORKS:
        here = part(study, "area", network)
        ends = [loss_ratio(here, *pair, study.budget) for pair in PAIRS]
        arms = tuple((shown(end.value), same(end)) for end in ends)
        yield Line(f"PPO's end over marl's, {network}, area", "the same", arms, "a b d")
    found = tuple(contests(study, pair) for pair in PAIRS)
    yield Line("marl matches or surpasses the single agent", "always", found, "a b d")
    for network in NETWORKS:
        found = judged(part(study, "latency", network), PAIRS, None, CONVERGED)
        claim = f"25,000 with the data set are few: PPO's at 20,000 over marl's at 5,000, {network}, latency"
        yield Line(claim, "above 1", found, "a b d e")


def agents(study: Study) -> Iterator[Line]:
    """When many agents have converged, and whether it is them that make the difference."""
    for name, network in product(("marl", "marl-plain"), NETWORKS):
        end = loss_ratio(part(study, "latency", network), name, name, CONVERGED, study.budget).value
        claim = f"converged at 5,000: {name}'s latency over that at 20,000, {network}"
        yield Line(claim, "1", ((shown(end), at_most(NEAR, end)),), "b")
    for network, objective in product(NETWORKS, OBJECTIVES):
        end = loss_ratio(part(study, objective, network), "marl-1", "marl", study.budget).value
        claim = f"it is the many agents: one with all else of marl over marl, {network}, {objective}"
        yield Line(claim, "above 1", ((shown(end), above_one(end)),), "b")


def of_parameters(claims: Sequence[Claim]) -> Iterator[Line]:
    """Figures 4 and 7, as verdicts.py judges them."""
    for claim in claims:
        yield Line(claim.claim, claim.paper, ((claim.why, claim.verdict),), "d")


def contests(study: Study, pair: tuple[str, str]) -> tuple[str, Verdict]:
    """The range of a pair's ratios over networks and objectives, and whether all are 1 or more."""
    ends = [
        loss_ratio(part(study, objective, network), *pair, study.budget).value
        for network, objective in product(NETWORKS, OBJECTIVES)
    ]
    values = [end.value for end in ends if end is not None]
    return f"{min(values):.2f} to {max(values):.2f}", overall([at_least(1 - NOTABLE, end) for end in ends])


def page(first: str, parts: Mapping[str, Sequence[Line]]) -> list[str]:
    """What is written, part by part."""
    departures = "; ".join(f"**{letter}** {words}" for letter, words in DEPARTURES.items())
    sections = []
    for name, lines in parts.items():
        heads = ALONE if len(lines[0].found) == 1 else HEADS
        sections.append(markdown_table(Section(name, heads, [line.row for line in lines])))
    return ["# Every number of the paper, and ours", INTRO, f"Departures: {departures}.", first, *sections]


def main() -> None:
    """Judge and write."""
    own, untuned, clustered = (
        load_study(RESULTS / name) for name in ("paper-table3-any", "paper-untuned", "paper-clustered")
    )
    correlated = [line for line in read_rows(HERE / "correlations.csv") if line["campaign"] == own.name]
    settling = read_rows(HERE / "figure7.csv")
    parameters = [*dependence_claims(correlated), sooner_claim(settling), alike_claim(settling)]
    parts = {
        "Table III": table3(joined(own, untuned, [*UNTUNED.values(), BLIND])),
        "Figure 5": figure5(own, load_study(RESULTS / "paper-steps-seeds")),
        "Other networks": other_networks(load_study(RESULTS / "paper-layers-any")),
        "Transformers and perceptrons": beyond(load_study(RESULTS / "paper-transformers")),
        "Where nothing is refused": unrefused(load_study(RESULTS / "paper-unrefused"), own),
        "Agents": agents(own),
        "Figures 4 and 7": of_parameters(parameters),
        "Figure 6": [
            *figure6(own, load_study(RESULTS / "paper-figure6")),
            *carried(load_study(RESULTS / "paper-carried")),
        ],
    }
    keep(
        HERE / "numbers.md",
        "experiments.paper.numbers",
        *page(
            markdown_table(table1(joined(own, clustered, CLUSTERED))),
            {n: list(of) for n, of in parts.items()},
        ),
    )


INTRO = """\
20,000 samples, eight seeds, on the paper's own problem, with 95 % intervals over seeds; four seeds of
baselines that nobody tuned and of groups that carry over, three of clustered agents in Table I, of
transformers and of perceptrons. A claim
about the single agent is judged by stock PPO, against marl and against marl without our tricks
(`marl-plain`); where these disagree it is inconclusive. *Steps* are PPO's samples until it is where marl
typically is after 5,000, over 5,000. Stock PPO had 150,000 for it, with three seeds, and in
[one seed 500,000](../paper-steps/tables/standing.md); "at least": it was cut off first, and where that is
below the claim nothing is tested. *Never*: a share of the runs that the interval cannot leave out had
found nothing feasible by then."""


if __name__ == "__main__":
    main()
