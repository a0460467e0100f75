"""Draw the twelve problems of a held-out campaign, on which no searcher's defaults were chosen.

    python -m experiments.draw_heldout maestro      # writes heldout12.toml
    python -m experiments.draw_heldout loopnest     # writes heldout12-loopnest.toml

The seeded draw goes through the layers of EfficientNet-B0, MobileNet-v2 and VGG16, the presets that are not
degenerate, and latency and EDP, in random order. It keeps four problems a network, of layers that differ from
each other and from those of `hard12.toml`, and hard enough to tell searchers apart: the best of 20,000 random
samples is at least HARD times the proven optimum.

Defaults were chosen under MAESTRO alone: to the problems under loopnest, the cost model is new as well.
"""

from __future__ import annotations

import sys

import numpy as np

from dse.campaign.config import NamedProblem
from dse.campaign.reading import load_campaign
from dse.cli.commands.run import find_layers
from dse.domains.clustered.accelerator import PRESETS
from dse.domains.clustered.problem import Problem
from dse.optimum import certify
from experiments import RESULTS
from workloads import load

SEED = 20_261_120
HARD = 1.2
SAMPLES = 20_000
EACH = 4
NETWORKS = ("efficientnet_b0", "mobilenet_v2", "vgg16")
ACCELERATORS = ("eyeriss", "eyeriss-small", "edge", "edge-small", "tpu-like")
OBJECTIVES = ("latency", "edp")
FOLDER = RESULTS / "campaigns"

HEAD = """\
# Drawn by draw_heldout.py{when}: for reports only.
# Settings that are not defaults are the best of as many trials each on devhard.toml (results/tuning).
name = "{name}"
budget = 20_000
seeds = {seeds}
cost_model = "{model}"
start = "own"
reference = "team"
"""
CAMPAIGNS = {
    "maestro": {"name": "heldout12", "seeds": 20, "when": " before any searcher was tuned"},
    "loopnest": {"name": "heldout12-loopnest", "seeds": 10, "when": "; no searcher was tuned under loopnest"},
}


def candidates(network: str, model: str) -> list[NamedProblem]:
    """Every problem that the network's layers, the accelerators and the objectives make."""
    return [
        NamedProblem(f"{network}:{layer.name}", name, Problem(layer, PRESETS[name], objective, model))
        for layer in load(network).layers
        for name in ACCELERATORS
        for objective in OBJECTIVES
    ]


def is_hard(problem: Problem, rng: np.random.Generator) -> bool:
    """Whether uniform sampling stays clear of the optimum."""
    best = problem.price(problem.space.sample(rng, SAMPLES)).loss.min()
    certificate = certify(problem)
    return certificate.status == "optimal" and best >= HARD * certificate.lower_bound


def draw(network: str, model: str, known: set[str], rng: np.random.Generator) -> list[NamedProblem]:
    """EACH hard problems of the network, of different layers that are not `known`."""
    pool = candidates(network, model)
    drawn: list[NamedProblem] = []
    for place in rng.permutation(len(pool)):
        named = pool[place]
        if named.layer in known | {other.layer for other in drawn}:
            continue
        if is_hard(named.problem, rng):
            drawn.append(named)
        if len(drawn) == EACH:
            return drawn
    raise SystemExit(f"{network} has fewer than {EACH} hard problems")


def main(model: str) -> None:
    """Write the campaign of that cost model, with the searchers of `hard12.toml`."""
    about = CAMPAIGNS[model]
    benchmark = FOLDER / "hard12.toml"
    known = {named.layer for named in load_campaign(str(benchmark), find_layers).problems}
    rng = np.random.default_rng(SEED)
    drawn = [named for network in NETWORKS for named in draw(network, model, known, rng)]
    parts = [HEAD.format(model=model, **about)]
    for named in drawn:
        parts.append(
            f'[[problems]]\nlayer = "{named.layer}"\naccelerator = "{named.accelerator}"\n'
            f'objective = "{named.objective}"\n'
        )
    searchers = benchmark.read_text(encoding="utf-8").partition("[searchers.")
    text = "\n".join(parts) + "\n" + searchers[1] + searchers[2]
    (FOLDER / f"{about['name']}.toml").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:] not in [[model] for model in CAMPAIGNS]:
        raise SystemExit(f"name a cost model: {' or '.join(CAMPAIGNS)}")
    main(sys.argv[1])
