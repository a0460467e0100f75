"""Draw the problems of the benchmark of small budgets, and those of the run that is made once.

    python -m experiments.draw_small     # writes small-*.toml and final-*.toml, and the folder small/

Layers are of networks that no tuning has used, with their sizes as their papers have them: GPT-2, ViT-B/16,
Inception-v3, ConvNeXt-T, EfficientNet-B4, fully connected layers of one sample, and some of odd sizes. The
machines are drawn too. Of each model's problems a third has `any` tiles. They are drawn for variety, a class
of layers after the other, and not for hardness; one is dropped only where 20,000 random samples find nothing
that fits, or where the optimum (of `any`: among perfect factors) is not proven.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from dse.core.certificate import OPTIMAL
from dse.core.layer import Layer
from dse.domains.clustered.accelerator import Accelerator
from dse.domains.clustered.problem import Problem
from dse.optimum import certify
from dse.support.arrays import IntArray
from experiments import RESULTS

SEED = 20_261_122
SAMPLES = 20_000
OBJECTIVES = ("latency", "energy", "edp")
ANY = 3
"""Every third problem has `any` tiles."""
FOLDER = RESULTS / "campaigns"
SMALL = FOLDER / "small"
MODELS = ("loopnest", "maestro")
CAMPAIGNS = {"small": 12, "final": 6}
"""How many problems each has under each cost model."""
SEEDS = {"small": 20, "final": 20}
"""More may be added: what is done stays."""

HEAD = """\
# Drawn by draw_small.py{what}: for reports only.
name = "{name}"
budget = 500
seeds = {seeds}
cost_model = "{model}"
start = "own"
reference = "team"
looks = "../looks.toml"
"""
WHAT = {
    "small": "; no tuning has used these layers or machines",
    "final": "; run once, with all settings frozen by the commit that wrote this line",
}
SEARCHERS = """
[searchers.team]

[searchers.team-uniform-start]
type = "team"
initial_design = "random"
budget = 200

[searchers.bayesian]
start = "templates"

[searchers.genetic]
start = "templates"

[searchers.gamma]
start = "templates"

[searchers.cem]
start = "templates"

[searchers.local]
start = "templates"

[searchers.tpe]
start = "templates"
budget = 200

[searchers.catcma]
start = "templates"
budget = 200

[searchers.nevergrad]
start = "templates"
budget = 200

[searchers.pymoo]
start = "templates"
budget = 200

[searchers.random]
"""


def classes() -> dict[str, tuple[Layer, ...]]:
    """The layers by class: each draw takes a layer of the next class."""
    return {name: tuple(make()) for name, make in CLASSES.items()}


def conv(**sizes: Any) -> Layer:
    return Layer(type="CONV", **sizes)


def depthwise(**sizes: Any) -> Layer:
    return Layer(type="DSCONV", K=1, **sizes)


def gpt2() -> Iterator[Layer]:
    """GPT-2 small over 1,024 tokens, and one token with 1,023 before it (Radford et al. 2019)."""
    for name, shape in {
        "qkv": (1024, 2304, 768),
        "scores": (1024, 1024, 64),
        "context": (1024, 64, 1024),
        "fc": (1024, 3072, 768),
        "scores.one": (1, 1024, 64),
        "context.one": (1, 64, 1024),
    }.items():
        yield Layer.gemm(*shape, name=f"gpt2.{name}")


def vit() -> Iterator[Layer]:
    """ViT-B/16 over 197 tokens (Dosovitskiy et al. 2021)."""
    yield conv(K=768, C=3, Y=224, X=224, R=16, S=16, stride=(16, 16), name="vit.patches")
    for name, shape in {"qkv": (197, 2304, 768), "scores": (197, 197, 64), "context": (197, 64, 197)}.items():
        yield Layer.gemm(*shape, name=f"vit.{name}")
    yield Layer.gemm(197, 3072, 768, name="vit.mlp")


def inception() -> Iterator[Layer]:
    """Inception-v3 (Szegedy et al. 2016): its rectangular windows."""
    yield conv(K=64, C=48, Y=35, X=35, R=5, S=5, padding=(2, 2), name="inception.5x5")
    yield conv(K=192, C=160, Y=17, X=17, R=1, S=7, padding=(0, 3), name="inception.1x7")
    yield conv(K=192, C=192, Y=17, X=17, R=7, S=1, padding=(3, 0), name="inception.7x1")
    yield conv(K=384, C=384, Y=8, X=8, R=1, S=3, padding=(0, 1), name="inception.1x3")
    yield conv(K=320, C=2048, Y=8, X=8, R=1, S=1, name="inception.branch1x1")


def convnext() -> Iterator[Layer]:
    """ConvNeXt-T (Liu et al. 2022)."""
    yield conv(K=96, C=3, Y=224, X=224, R=4, S=4, stride=(4, 4), name="convnext.stem")
    yield depthwise(C=96, Y=56, X=56, R=7, S=7, padding=(3, 3), name="convnext.depthwise1")
    yield depthwise(C=384, Y=14, X=14, R=7, S=7, padding=(3, 3), name="convnext.depthwise3")
    yield conv(K=192, C=96, Y=56, X=56, R=2, S=2, stride=(2, 2), name="convnext.downsample")
    yield conv(K=3072, C=768, Y=7, X=7, R=1, S=1, name="convnext.expand4")


def efficientnet() -> Iterator[Layer]:
    """EfficientNet-B4 at 380 pixels (Tan and Le 2019), which no other campaign has."""
    yield conv(K=48, C=3, Y=380, X=380, R=3, S=3, stride=(2, 2), padding=(1, 1), name="efficientnet_b4.stem")
    yield conv(K=144, C=24, Y=190, X=190, R=1, S=1, name="efficientnet_b4.expand2")
    yield depthwise(C=336, Y=48, X=48, R=5, S=5, padding=(2, 2), name="efficientnet_b4.depthwise3")
    yield conv(K=160, C=672, Y=24, X=24, R=1, S=1, name="efficientnet_b4.project5")
    yield conv(K=1792, C=448, Y=12, X=12, R=1, S=1, name="efficientnet_b4.head")


def fully_connected() -> Iterator[Layer]:
    """One sample at a time."""
    for outputs, inputs in ((1000, 2048), (4096, 25_088), (1000, 1280), (3072, 768), (10, 84)):
        yield Layer.fc(outputs, inputs, name=f"fc.{outputs}x{inputs}")


def odd() -> Iterator[Layer]:
    """Sizes with few divisors, as pruning and cropping leave them."""
    yield conv(K=61, C=37, Y=53, X=53, R=3, S=3, padding=(1, 1), name="odd.conv")
    yield Layer.gemm(127, 509, 251, name="odd.gemm")
    yield conv(K=101, C=67, Y=29, X=31, R=5, S=3, name="odd.window")
    yield Layer.gemm(1021, 31, 113, name="odd.tall")


CLASSES = {
    "gpt2": gpt2,
    "vit": vit,
    "inception": inception,
    "convnext": convnext,
    "efficientnet": efficientnet,
    "fc": fully_connected,
    "odd": odd,
}


def machine(rng: np.random.Generator) -> Accelerator:
    """A machine between a small and a large one, its buffers tight or loose, its bandwidths by its size."""
    pes = int(rng.choice([168, 192, 224, 320, 384, 512, 640, 768, 1024, 1344, 2048]))
    tight = bool(rng.integers(2))
    l1 = int(rng.choice([96, 128, 192] if tight else [512, 1024, 2048]))
    l2 = pes * int(rng.choice([48, 96] if tight else [384, 768]))
    noc = int(rng.choice([8, 16, 32, 64]))
    return Accelerator(pes, l1, l2, noc, max(2, noc // int(rng.choice([2, 4, 8]))))


def solvable(problem: Problem, points: IntArray) -> bool:
    """Whether something fits among points (n, genes), and the optimum is proven."""
    if not np.isfinite(problem.price(points).loss).any():
        return False
    return certify(replace(problem, tiles="factors")).status == OPTIMAL


def draw(model: str, count: int, rng: np.random.Generator, used: set[str]) -> Iterator[tuple[Problem, str]]:
    """So many problems: a class after the other, a layer that was not `used`, a machine, an objective."""
    pools, order = classes(), list(rng.permutation(list(CLASSES)))
    for place in range(count):
        objective, tiles = OBJECTIVES[place % 3], "any" if place // 3 % ANY == ANY - 1 else "factors"
        while True:
            order.append(order.pop(0))
            fresh = [layer for layer in pools[order[-1]] if layer.name not in used]
            if not fresh:
                continue
            layer = fresh[rng.integers(len(fresh))]
            problem = Problem(layer, machine(rng), objective, model, tiles)
            sizes = problem.space.sizes
            if solvable(problem, rng.integers(0, sizes, size=(SAMPLES, len(sizes)))):
                used.add(layer.name)
                yield problem, tiles
                break


def main() -> None:
    """Write the layers, the machines and the campaigns."""
    rng = np.random.default_rng(SEED)
    SMALL.mkdir(exist_ok=True)
    layers = [layer for made in classes().values() for layer in made]
    write_layers(SMALL / "layers.toml", "draw_small.py", layers)
    used: dict[str, set[str]] = {model: set() for model in MODELS}
    for campaign, count in CAMPAIGNS.items():
        for model in MODELS:
            name = f"{campaign}-{model}"
            parts = [HEAD.format(name=name, model=model, what=WHAT[campaign], seeds=SEEDS[campaign])]
            for place, (problem, tiles) in enumerate(draw(model, count, rng, used[model]), 1):
                file = SMALL / f"{name}-{place}.toml"
                write_machine(file, problem.accelerator)
                lines = {
                    "layer": f"small/layers.toml:{problem.layer.name}",
                    "accelerator": f"small/{file.name}",
                    "objective": problem.objective,
                    "tiles": tiles,
                }
                parts.append(
                    "[[problems]]\n" + "".join(f'{key} = "{value}"\n' for key, value in lines.items())
                )
            (FOLDER / f"{name}.toml").write_text("\n".join(parts) + SEARCHERS, encoding="utf-8")
            print(name)


def write_layers(path: Path, script: str, layers: Iterable[Layer]) -> None:
    """Write layers as a network of a user's own, with the script that names their sources."""
    parts = [f'# Written by {script}, which names the sources of the sizes.\nname = "unseen"\n']
    for layer in layers:
        entry = {"name": layer.name} | layer.to_dict()
        parts.append("[[layers]]\n" + "".join(f"{key} = {_toml(value)}\n" for key, value in entry.items()))
    path.write_text("\n".join(parts), encoding="utf-8")


def write_machine(path: Path, machine: Accelerator) -> None:
    """Write a machine as a file that a campaign names."""
    entry = machine.to_dict()
    path.write_text("".join(f"{key} = {_toml(value)}\n" for key, value in entry.items()), encoding="utf-8")


def _toml(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else str(list(value) if isinstance(value, tuple) else value)


if __name__ == "__main__":
    main()
