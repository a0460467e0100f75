"""Draw the problems of `final2`, with layers and machines of their own: `python -m experiments.draw_final2`.

Writes final2-loopnest.toml and final2-maestro.toml, twelve problems each, and the folder final2/. Every
problem has a layer and a machine of its own; a third has `any` tiles. Layers are of networks that nothing
here had before, by class, each with its source; a class after the other has its turn. As in draw_small.py a
problem is dropped only where 20,000 random samples find nothing that fits, or where the optimum (of `any`:
among perfect factors) is not proven. A test holds that no layer and no machine is anywhere else in the
repository. The campaigns are run once, and nobody is tuned on them. `team-own-start` was added when one seed
of the others was known, with the settings that `team` had when the problems were drawn.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dse.core.layer import Layer
from dse.domains.clustered.accelerator import Accelerator
from dse.domains.clustered.problem import Problem
from experiments import draw_small as small
from experiments.draw_small import (
    FOLDER,
    MODELS,
    OBJECTIVES,
    SAMPLES,
    conv,
    solvable,
    write_layers,
    write_machine,
)

SEED = 20_261_123
COUNT = 12
"""Problems under each cost model."""
NAME = "final2"
HEAD = """\
# Drawn by draw_final2.py; committed before anything was run, run once, nobody tuned on it: for reports only.
name = "{name}"
budget = 500
seeds = 14
cost_model = "{model}"
start = "templates"
reference = "team"
looks = "../looks.toml"
"""
SEARCHERS = """
[searchers.team]

[searchers.bayesian]

[searchers.genetic]

[searchers.gamma]

[searchers.local]

[searchers.tpe]
seeds = 8
budget = 200

[searchers.nevergrad]
seeds = 8
budget = 200

[searchers.random]
start = "random"

[searchers.team-random-start]
type = "team"
start = "random"
seeds = 8
budget = 200

[searchers.bayesian-random-start]
type = "bayesian"
start = "random"
seeds = 8
budget = 200

[searchers.genetic-random-start]
type = "genetic"
start = "random"

[searchers.gamma-random-start]
type = "gamma"
start = "random"

[searchers.local-random-start]
type = "local"
start = "random"

[searchers.team-own-start]
type = "team"
start = "own"
seeds = 1
"""


def few_rows() -> Iterator[Layer]:
    """GNMT's gates for one sentence (Wu et al. 2016), Zaremba's medium LSTM (2014), DQN's last layers."""
    yield Layer.gemm(1, 4096, 2048, name="gnmt.gates")
    yield Layer.gemm(20, 2600, 1300, name="zaremba.gates")
    yield Layer.gemm(32, 512, 3136, name="atari.fc")
    yield Layer.gemm(7, 10_000, 650, name="zaremba.words")


def few_channels() -> Iterator[Layer]:
    """First layers: of SqueezeNet 1.1 (2016), Xception (2017), DQN (2015), Deep Speech 2 (2015)."""
    yield conv(K=64, C=3, Y=227, X=227, R=3, S=3, stride=(2, 2), name="squeezenet.conv1")
    yield conv(K=32, C=3, Y=299, X=299, R=3, S=3, stride=(2, 2), name="xception.conv1")
    yield conv(K=32, C=4, Y=84, X=84, R=8, S=8, stride=(4, 4), name="atari.conv1")
    yield conv(K=32, C=1, Y=161, X=200, R=41, S=11, stride=(2, 2), padding=(20, 5), name="speech.conv1")


def dense() -> Iterator[Layer]:
    """DenseNet-121 and -169 (Huang et al. 2017): growth by 32, bottlenecks, a transition."""
    yield conv(K=32, C=128, Y=28, X=28, R=3, S=3, padding=(1, 1), name="densenet.growth2")
    yield conv(K=128, C=896, Y=14, X=14, R=1, S=1, name="densenet.bottleneck3")
    yield conv(K=640, C=1280, Y=14, X=14, R=1, S=1, name="densenet.transition3")
    yield conv(K=32, C=128, Y=7, X=7, R=3, S=3, padding=(1, 1), name="densenet.growth4")


def depthwise() -> Iterator[Layer]:
    """MobileNet-v3-Large (Howard et al. 2019), Xception, Conformer (Gulati et al. 2020)."""
    yield small.depthwise(
        C=72, Y=56, X=56, R=5, S=5, stride=(2, 2), padding=(2, 2), name="mobilenet_v3.block4"
    )
    yield small.depthwise(C=184, Y=14, X=14, R=3, S=3, padding=(1, 1), name="mobilenet_v3.block8")
    yield small.depthwise(C=728, Y=19, X=19, R=3, S=3, padding=(1, 1), name="xception.middle")
    yield small.depthwise(C=256, Y=250, X=1, R=31, S=1, padding=(15, 0), name="conformer.depthwise")


def windows() -> Iterator[Layer]:
    """Swin-T's products in windows of 49 tokens (Liu et al. 2021)."""
    yield Layer.gemm(49, 576, 192, name="swin.qkv2")
    yield Layer.gemm(49, 49, 32, name="swin.scores")
    yield Layer.gemm(196, 1536, 384, name="swin.mlp3")
    yield Layer.gemm(784, 192, 384, name="swin.merging")


def sequences() -> Iterator[Layer]:
    """Convolutions over time: Whisper-small (2022); PointNet's perceptrons over points (2017)."""
    yield conv(K=768, C=80, Y=3000, X=1, R=3, S=1, padding=(1, 0), name="whisper.conv1")
    yield conv(K=768, C=768, Y=3000, X=1, R=3, S=1, stride=(2, 1), padding=(1, 0), name="whisper.conv2")
    yield conv(K=1024, C=128, Y=1024, X=1, R=1, S=1, name="pointnet.conv5")
    yield conv(K=64, C=3, Y=1024, X=1, R=1, S=1, name="pointnet.conv1")


def boards() -> Iterator[Layer]:
    """AlphaZero on Go's board (2017), DQN's middle layers, LeNet-5 (1998): small images."""
    yield conv(K=256, C=256, Y=19, X=19, R=3, S=3, padding=(1, 1), name="alphazero.block")
    yield conv(K=2, C=256, Y=19, X=19, R=1, S=1, name="alphazero.policy")
    yield conv(K=64, C=32, Y=20, X=20, R=4, S=4, stride=(2, 2), name="atari.conv2")
    yield conv(K=16, C=6, Y=14, X=14, R=5, S=5, name="lenet.conv2")


def detection() -> Iterator[Layer]:
    """YOLOv3-tiny at 416 pixels (Redmon and Farhadi 2018), SqueezeNet's classifier over 13 x 13."""
    yield conv(K=32, C=16, Y=208, X=208, R=3, S=3, padding=(1, 1), name="yolo.conv2")
    yield conv(K=1024, C=512, Y=13, X=13, R=3, S=3, padding=(1, 1), name="yolo.conv7")
    yield conv(K=255, C=512, Y=13, X=13, R=1, S=1, name="yolo.head")
    yield conv(K=1000, C=512, Y=13, X=13, R=1, S=1, name="squeezenet.classifier")


CLASSES = {
    made.__name__: made
    for made in (few_rows, few_channels, dense, depthwise, windows, sequences, boards, detection)
}


def machine(rng: np.random.Generator) -> Accelerator:
    """A machine between a small and a large one, its buffers tight or loose, its bandwidths by its size."""
    pes = int(rng.choice([144, 208, 240, 288, 352, 416, 480, 576, 704, 896, 1152, 1536]))
    tight = bool(rng.integers(2))
    l1 = int(rng.choice([80, 112, 160] if tight else [384, 640, 1536]))
    l2 = pes * int(rng.choice([56, 112] if tight else [320, 640]))
    noc = int(rng.choice([12, 24, 48, 96]))
    return Accelerator(pes, l1, l2, noc, max(3, noc // int(rng.choice([2, 4, 6]))))


def draw(rng: np.random.Generator) -> Iterator[Problem]:
    """The problems of both cost models, the models in turns: every layer and every machine once."""
    pools = {name: list(make()) for name, make in CLASSES.items()}
    order, machines = [str(name) for name in rng.permutation(list(CLASSES))], set[Accelerator]()
    for place in range(COUNT):
        tiles = "any" if (place + place // 3) % 3 == 2 else "factors"
        for model in MODELS:
            while True:
                order.append(order.pop(0))
                pool, on = pools[order[-1]], machine(rng)
                if not pool or on in machines:
                    continue
                layer = pool[rng.integers(len(pool))]
                problem = Problem(layer, on, OBJECTIVES[place % 3], model, tiles)
                sizes = problem.space.sizes
                if solvable(problem, rng.integers(0, sizes, size=(SAMPLES, len(sizes)))):
                    pool.remove(layer)
                    machines.add(on)
                    yield problem
                    break


def main() -> None:
    """Write the layers, the machines and the campaigns."""
    folder = FOLDER / NAME
    folder.mkdir(exist_ok=True)
    problems = list(draw(np.random.default_rng(SEED)))
    write_layers(folder / "layers.toml", "draw_final2.py", [problem.layer for problem in problems])
    for model in MODELS:
        parts = [HEAD.format(name=f"{NAME}-{model}", model=model)]
        for place, problem in enumerate(one for one in problems if one.model_spec == model):
            file = folder / f"{model}-{place + 1}.toml"
            write_machine(file, problem.accelerator)
            lines = {
                "layer": f"{NAME}/layers.toml:{problem.layer.name}",
                "accelerator": f"{NAME}/{file.name}",
                "objective": problem.objective,
                "tiles": problem.tiles,
            }
            parts.append("[[problems]]\n" + "".join(f'{key} = "{value}"\n' for key, value in lines.items()))
        (FOLDER / f"{NAME}-{model}.toml").write_text("\n".join(parts) + SEARCHERS, encoding="utf-8")


if __name__ == "__main__":
    main()
