"""Tries a searcher where samples are dear: `python -m experiments.tuning.varied team early_exploration=2.0`.

24 development problems that are varied rather than hard: layers of the networks that all tuning is on,
products and fully connected layers of one row, odd sizes, a depthwise layer; presets and drawn machines; both
cost models; latency, energy and EDP; five of them with `any` tiles. Prints best loss over the proven optimum
(of `any`: among perfect factors) after so many samples, the geometric mean over problems of the median over
seeds and, in brackets, the worst problem; then the CPU milliseconds of a sample. `--more 60` adds as many
that are drawn whole, of the same networks and of layers made up; `--narrow 36` takes other ones alone, among
them layers of few rows and of few channels with a stride. `--tiles any` leaves out the others. The last line
says how many problems end at or below that optimum, and how far above it the others do.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain

import numpy as np

from dse.core.chains import TILES
from dse.core.layer import Layer
from dse.domains.clustered.accelerator import PRESETS
from dse.domains.clustered.problem import Problem
from dse.optimum import certify
from dse.search.run import Cell, run_cell
from dse.search.searcher import make_searcher
from dse.search.start import start_points
from experiments.draw_small import MODELS, machine, solvable
from experiments.draw_small import SAMPLES as SAMPLED
from experiments.tuning.try_out import WORST, setting
from experiments.tuning.varied_layers import drawn_layers, narrow_layers
from workloads import load_layer

SEED, MORE_SEED, NARROW_SEED, FIRST_SEED = 770_077, 90_210, 31_415, 5000
MACHINES = 6
"""Machines that are drawn for a narrow layer, until one makes it solvable."""
SAMPLES = (5, 10, 20, 50, 100, 200, 500, 1000, 2000)
OBJECTIVES = ("edp", "latency", "energy")
NAMED = (
    ("alexnet:conv2", "eyeriss-small", "edp", "maestro"),
    ("resnet50:layer2.0.conv1", "eyeriss-small", "edp", "maestro"),
    ("bert_base:query", "eyeriss-small", "edp", "maestro"),
    ("resnet50:layer1.0.conv3", "eyeriss-small", "latency", "maestro"),
    ("resnet50:layer3.1.conv1", "tpu-like", "edp", "maestro"),
    ("bert_base:scores", "edge", "energy", "maestro"),
    ("resnet18:layer2.0.conv1", "eyeriss-small", "edp", "loopnest"),
    ("resnet50:layer3.0.conv3", "eyeriss-small", "energy", "loopnest"),
    ("resnet50:layer4.1.conv1", "eyeriss-small", "latency", "loopnest"),
    ("alexnet:conv3", "tpu-like", "edp", "loopnest"),
)
ALWAYS_EDP = (5, 8)
"""Of the layers on drawn machines: the others take their objective in turn."""


def made_layers() -> list[Layer]:
    """Those that run on drawn machines: every third has `any` tiles, and the cost models alternate."""
    odd = Layer(type="CONV", K=43, C=29, Y=37, X=41, R=3, S=3, padding=(1, 1), name="oddc")
    depthwise = Layer(type="DSCONV", K=1, C=120, Y=30, X=30, R=5, S=5, padding=(2, 2), name="dw")
    return [
        Layer.fc(4096, 9216, name="fc6"),
        load_layer("resnet50:layer2.0.conv2"),
        Layer.gemm(77, 2304, 384, name="g77"),
        depthwise,
        Layer.fc(512, 784, name="fc512"),
        odd,
        load_layer("resnet18:conv1"),
        Layer.gemm(91, 307, 173, name="oddg"),
        load_layer("bert_base:intermediate"),
        load_layer("bert_base:scores"),
        Layer.fc(1000, 4096, name="fc8"),
        load_layer("alexnet:conv4"),
        load_layer("resnet50:layer1.0.conv1"),
        Layer.gemm(1, 512, 128, name="one"),
    ]


def problems() -> Iterator[Problem]:
    """The problems, always the same."""
    for layer, accelerator, objective, model in NAMED:
        yield Problem(load_layer(layer), PRESETS[accelerator], objective, model)
    rng = np.random.default_rng(SEED)
    for place, each in enumerate(made_layers()):
        objective = "edp" if place in ALWAYS_EDP else OBJECTIVES[place % 3]
        model, tiles = ("loopnest", "maestro")[place % 2], "any" if place % 3 == 2 else "factors"
        while True:
            problem = Problem(each, machine(rng), objective, model, tiles)
            if solvable(problem, problem.space.sample(rng, SAMPLED)):
                break
        yield problem


def more_problems(count: int) -> Iterator[Problem]:
    """So many more, whose layers are drawn too."""
    rng = np.random.default_rng(MORE_SEED)
    found = 0
    for layer in drawn_layers(rng):
        if found == count:
            return
        model, tiles = MODELS[found // 3 % 2], "any" if found % 3 == found // 9 % 3 else "factors"
        problem = Problem(layer, machine(rng), OBJECTIVES[found % 3], model, tiles)
        if solvable(problem, problem.space.sample(rng, SAMPLED)):
            found += 1
            yield problem


def narrow_problems(count: int) -> Iterator[Problem]:
    """So many, by which `team` chose its second hypothesis."""
    rng = np.random.default_rng(NARROW_SEED)
    found = 0
    for layer in narrow_layers(rng):
        if found == count:
            return
        turn = found // len(MODELS)
        tiles, objective = "any" if turn % 3 == 2 else "factors", OBJECTIVES[(turn + found // 6) % 3]
        for _ in range(MACHINES):
            problem = Problem(layer, machine(rng), objective, MODELS[found % len(MODELS)], tiles)
            if solvable(problem, problem.space.sample(rng, SAMPLED)):
                found += 1
                yield problem
                break


def main() -> None:
    """Run, and print two lines."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("name", help="the searcher")
    parser.add_argument("settings", nargs="*", type=setting, help="such as early_exploration=2.0")
    parser.add_argument("--seeds", type=int, default=1, help="how many")
    parser.add_argument("--samples", type=int, default=100, help="samples a run")
    parser.add_argument("--more", type=int, default=0, metavar="N", help="N more problems")
    parser.add_argument("--narrow", type=int, default=0, metavar="N", help="N narrow problems, no others")
    parser.add_argument("--tiles", choices=TILES, help="the problems with such tiles alone")
    parser.add_argument("--start", help="what runs begin with: templates")
    options = parser.parse_args()
    searcher = make_searcher(options.name, dict(options.settings))
    samples = [count for count in SAMPLES if count <= options.samples]
    medians, seconds, runs = [], 0.0, 0
    narrow = narrow_problems(options.narrow)
    for problem in narrow if options.narrow else chain(problems(), more_problems(options.more)):
        if options.tiles not in (None, problem.tiles):
            continue
        optimum = certify(replace(problem, tiles="factors")).best
        assert optimum is not None, "solvable"
        points = start_points(problem, options.start) if options.start else ()
        ratios = []
        for seed in range(FIRST_SEED, FIRST_SEED + options.seeds):
            begun = time.process_time()
            record = run_cell(Cell(problem, options.name, searcher, seed, options.samples, points))
            seconds, runs = seconds + time.process_time() - begun, runs + 1
            best = np.minimum.accumulate(record.evaluations().loss) / optimum.loss
            ratios.append(np.minimum(best, WORST)[[count - 1 for count in samples]])
        medians.append(np.median(ratios, axis=0))
    means, worst = np.exp(np.log(medians).mean(axis=0)), np.max(medians, axis=0)
    named = ", ".join(f"{name}={value}" for name, value in options.settings) or "defaults"
    print("|", " | ".join([named, *(f"{m:.3f} ({w:.2f})" for m, w in zip(means, worst, strict=True))]), "|")
    above = sorted(round(float(last), 4) for last in np.array(medians)[:, -1] if last > 1)
    print(f"samples {samples}, {1000 * seconds / runs / options.samples:.1f} ms of CPU a sample")
    print(f"{len(medians) - len(above)} of {len(medians)} at or below the optimum; above it: {above}")


if __name__ == "__main__":
    main()
