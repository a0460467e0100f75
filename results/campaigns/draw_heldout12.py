"""Draw the twelve problems of `heldout12.toml`, on which no searcher's defaults were chosen.

    python results/campaigns/draw_heldout12.py

The seeded draw goes through the layers of EfficientNet-B0, MobileNet-v2 and VGG16, the presets that are not
degenerate, and latency and EDP, in random order. It keeps four problems a network, of layers that differ from
each other and from those of `hard12.toml`, and hard enough to tell searchers apart: the best of 20,000 random
samples is at least HARD times the proven optimum.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from dse.accelerator import PRESETS
from dse.campaign.config import NamedProblem, load_campaign
from dse.certify import certify
from dse.cli.commands.run import find_layers
from dse.problem import Problem
from workloads import load

SEED = 20_261_120
HARD = 1.2
SAMPLES = 20_000
EACH = 4
NETWORKS = ("efficientnet_b0", "mobilenet_v2", "vgg16")
ACCELERATORS = ("eyeriss", "eyeriss-small", "edge", "edge-small", "tpu-like")
OBJECTIVES = ("latency", "edp")
FOLDER = Path(__file__).parent

HEAD = """\
# Drawn by draw_heldout12.py before any searcher was tuned: for reports only.
name = "heldout12"
budget = 20_000
seeds = 20
cost_model = "maestro"
"""


def candidates(network: str) -> list[NamedProblem]:
    """Every problem that the network's layers, the accelerators and the objectives make."""
    return [
        NamedProblem(f"{network}:{layer.name}", name, Problem(layer, PRESETS[name], objective, "maestro"))
        for layer in load(network).layers
        for name in ACCELERATORS
        for objective in OBJECTIVES
    ]


def is_hard(problem: Problem, rng: np.random.Generator) -> bool:
    """Whether uniform sampling stays clear of the optimum."""
    best = problem.price(problem.space.sample(rng, SAMPLES)).loss.min()
    certificate = certify(problem)
    return certificate.status == "optimal" and best >= HARD * certificate.lower_bound


def draw(network: str, known: set[str], rng: np.random.Generator) -> list[NamedProblem]:
    """EACH hard problems of the network, of different layers that are not `known`."""
    pool = candidates(network)
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


def main() -> None:
    """Write `heldout12.toml`, with the searchers of `hard12.toml`."""
    benchmark = FOLDER / "hard12.toml"
    known = {named.layer for named in load_campaign(str(benchmark), find_layers).problems}
    rng = np.random.default_rng(SEED)
    drawn = [named for network in NETWORKS for named in draw(network, known, rng)]
    parts = [HEAD]
    for named in drawn:
        parts.append(
            f'[[problems]]\nlayer = "{named.layer}"\naccelerator = "{named.accelerator}"\n'
            f'objective = "{named.objective}"\n'
        )
    searchers = benchmark.read_text(encoding="utf-8").partition("[searchers.")
    text = "\n".join(parts) + "\n" + searchers[1] + searchers[2]
    (FOLDER / "heldout12.toml").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
