"""Off-policy teams beside the searchers of heldout12: `python -m experiments.learners.standing`.

Reads the curves of the campaigns learners-*, agents-* (single agents) and sparse-* (values, writers,
descents) on heldout12 and heldout12-loopnest, and of these with everybody else. Writes standing.md in
results/learners: best loss over the proven optimum after 50, 200, 500 and 1,000 samples (geometric mean of
ten seeds or as many as there are; a run that found nothing counts for 12); then the ratio of MADDPG's with
centralised critics to that with critics of each agent's own, and to that of the independent agents of
`marl`; and who is lower than random search, by ratios paired by problem. Intervals are Student's, over
problems.
"""

from __future__ import annotations

import numpy as np

from dse.analysis.study import Study, load_study
from dse.search.abilities import FIRST, abilities_of
from dse.search.searcher import make_searcher
from dse.support.arrays import FloatArray
from dse.support.files import write_whole
from experiments import RESULTS
from experiments.intervals import Estimate, mean_of
from experiments.learners.returns import HERE

SEEDS, SAMPLES, WORST = 10, (50, 200, 500, 1000), 12.0
OURS = ("maddpg", "maddpg-own", "masac")
AGENTS = ("a2c", "dqn", "ddpg", "d4pg", "actorq")
SPARSE = ("qmix", "mast", "generative", "nearest", "gradient", "gradient-offline", "gradient-relaxed")
OTHERS = ("marl", "ppo", "genetic", "team", "random")
CAMPAIGNS = ("heldout12", "heldout12-loopnest")


def logs(study: Study, searcher: str, samples: int, targets: dict[str, float]) -> FloatArray:
    """Logarithms of best loss / optimum, (problems, seeds)."""
    found = []
    for problem in study.problems:
        cells = sorted(study.cells(problem, searcher), key=lambda cell: cell.seed)[:SEEDS]
        losses = np.array([cell.at(samples)["loss"] for cell in cells])
        found.append(np.log(np.minimum(losses / targets[study.label(problem)], WORST)))
    return np.array(found)


def factor(values: FloatArray) -> str:
    """exp of the mean of (problems, seeds) logarithms, with its interval over problems."""
    return mean_of(values.mean(axis=1)).exp().shown(3)


def lines_of(campaign: str) -> list[str]:
    """The tables of a campaign, as Markdown."""
    whole, ours = load_study(RESULTS / campaign), load_study(RESULTS / f"learners-{campaign}")
    targets = {whole.label(problem): whole.target(problem)[0] for problem in whole.problems}
    lines = [f"### {campaign}, cost model {whole.cost_model}", ""]
    lines += ["| searcher | seeds | " + " | ".join(f"{samples:,}" for samples in SAMPLES) + " |"]
    lines.append("|---|" + "---:|" * (1 + len(SAMPLES)))
    parts = [(ours, OURS)]
    for folder, names in ((f"agents-{campaign}", AGENTS), (f"sparse-{campaign}", SPARSE)):
        if (RESULTS / folder).exists():
            parts.append((load_study(RESULTS / folder), names))
    parts.append((whole, OTHERS))
    for study, searchers in parts:
        for searcher in searchers:
            found = [
                logs(study, searcher, samples, targets) for samples in SAMPLES if samples <= study.budget
            ]
            cells = [*map(factor, found), *["-"] * (len(SAMPLES) - len(found))]
            lines.append(f"| {searcher} | {found[0].shape[1]} | {' | '.join(cells)} |")
    last = SAMPLES[-1]
    made = [line for study, _ in parts[:-1] for line in older(study)]
    team, own, masac = (logs(ours, name, last, targets) for name in OURS)
    others = {name: logs(whole, name, last, targets) for name in OTHERS}
    lines += [
        "",
        f"After {last:,} samples, the ratio of such figures: maddpg / maddpg-own {factor(team - own)}; "
        f"maddpg / marl {factor(team - others['marl'])}; masac / marl {factor(masac - others['marl'])}; "
        f"maddpg / random {factor(team - others['random'])}.",
        "",
        *beside_random(parts, targets),
        "",
        *([" ".join(made), ""] if made else []),
    ]
    return lines


def beside_random(parts: list[tuple[Study, tuple[str, ...]]], targets: dict[str, float]) -> list[str]:
    """Who ends lower than random search after so many samples that all have, paired by problem."""
    samples = SAMPLES[2]
    means = {
        name: logs(study, name, samples, targets).mean(axis=1) for study, names in parts for name in names
    }
    random = means.pop("random")
    over = {name: mean_of(mean - random).exp() for name, mean in means.items()}
    lines = [
        f"After {samples} samples over random, paired: "
        + "; ".join(f"{name} {found.shown(3)}" for name, found in over.items())
        + "."
    ]
    lines += [f"Significantly {word}: {', '.join(names) or 'none'}." for word, names in told(over).items()]
    if {"actorq", "d4pg"} <= means.keys():
        lines.append(f"actorq over d4pg: {mean_of(means['actorq'] - means['d4pg']).exp().shown(3)}.")
    return lines


def told(over: dict[str, Estimate]) -> dict[str, list[str]]:
    """Names by what their ratios say: lower, higher, or neither, where 1 lies within the interval."""
    found: dict[str, list[str]] = {"lower": [], "higher": [], "neither": []}
    for name, ratio in over.items():
        word = "lower" if ratio.high < 1 else "higher" if ratio.low > 1 else "neither"
        found[word].append(name)
    return found


def older(study: Study) -> list[str]:
    """The searchers of a campaign whose samples have changed since it was run, in a sentence each."""
    found = []
    for name, settings in study.about["settings"].items():
        given = {key: value for key, value in settings.items() if key != "type"}
        version = abilities_of(make_searcher(settings["type"], given)).version or FIRST
        then = study.about["versions"].get(f"searcher {settings['type']}", FIRST)
        if version != then:
            found.append(f"{name} ran in version {then} of {settings['type']}, which is {version} by now.")
    return found


def main() -> None:
    """Write and print the tables."""
    head = ["Written by `python -m experiments.learners.standing`: best loss / proven optimum.", ""]
    text = "\n".join([*head, *(line for campaign in CAMPAIGNS for line in lines_of(campaign))])
    write_whole(HERE / "standing.md", text, "table")
    print(text)


if __name__ == "__main__":
    main()
