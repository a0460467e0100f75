"""Table 2 again, the time of an inference: `python -m experiments.quantised.speed`.

Networks of three layers of 64, of 256, and of 4,096, 512 and 1,024 units, from 32 numbers to 8, one row at a
time and 64, one thread: as they are in single precision, and in half precision and 8 bits as torch computes
in them; beside that torch's own modules, and torchao where it is installed. And what of the time of a sample
that a policy for mappings draws, and that is priced, is its inference. Ways take turns; a figure is the
median of the CPU time of its rounds. Writes speed.csv in results/quantised; half a minute of CPU.
"""

from __future__ import annotations

import argparse
import copy
import time
import warnings
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import torch
from torch import nn

from experiments import write_rows
from experiments.quantised.ptq import HERE
from experiments.quantised.taught import Taught
from learners.networks import Networks
from learners.quantised import Precision
from learners.quantised_networks import activation_bits, executable_networks, quantised_networks
from searchers.commands.mapping_trial import MappingTrial

SIZES = {
    "3 x 64": (64, 64, 64),
    "3 x 256": (256, 256, 256),
    "3 x 512": (512, 512, 512),
    "3 x 2048": (2048, 2048, 2048),
    "4096, 512, 1024": (4096, 512, 1024),
}
"""Theirs of Table 2, ActorQ's of 2,048, and one between."""
SEEN, DONE = 32, 8
ROWS = (1, 64)
ROUNDS = 41
MANY = 1000
MAPPER, A_SAMPLE = "mapper's, 2 x 64", "a sample drawn and priced"
BITS = {"single": 32, "half": 16, "int8": 8}
HEAD = ("network", "rows", "way", "microseconds", "low", "high", "int8_activations")


def networks(hidden: tuple[int, ...]) -> Networks:
    """One network of these layers."""
    return Networks.drawn(np.random.default_rng(0), 1, (SEEN, *hidden, DONE))


def ways(made: Networks, rows: int) -> dict[str, Callable[[], object]]:
    """What may be called to infer."""
    seen = torch.zeros(1, rows, SEEN)
    found: dict[str, Callable[[], object]] = {}
    for name, bits in BITS.items():
        few = executable_networks(made if bits == 32 else quantised_networks(made, Precision(bits)))
        found[name] = lambda few=few: few(seen)
    layers: list[nn.Module] = []
    for matrix, bias in zip(made.weights[::2], made.weights[1::2], strict=True):
        linear = nn.Linear(*matrix.shape[1:])
        linear.weight.data, linear.bias.data = matrix.detach()[0].T.contiguous(), bias.detach()[0, 0]
        layers += [linear, nn.ReLU()]
    plain = nn.Sequential(*layers[:-1])
    half, halves = copy.deepcopy(plain).half(), seen[0].half()
    dynamic = torch.ao.quantization.quantize_dynamic(plain, {nn.Linear}, dtype=torch.qint8)
    found["modules, single"] = lambda: plain(seen[0])
    found["modules, half"] = lambda: half(halves)
    found["modules, quantize_dynamic"] = lambda: dynamic(seen[0])
    try:
        from torchao.quantization import Int8DynamicActivationInt8WeightConfig, quantize_
    except ImportError:
        return found
    theirs = copy.deepcopy(plain)
    quantize_(theirs, Int8DynamicActivationInt8WeightConfig())
    found["modules, torchao"] = lambda: theirs(seen[0])
    return found


def microseconds(
    calls: dict[str, Callable[[], object]], rounds: int = ROUNDS, least: int = 3
) -> dict[str, tuple[float, float, float]]:
    """The median of CPU time a call, with an interval, by way; they take turns."""
    taken: dict[str, list[float]] = {name: [] for name in calls}
    with torch.inference_mode():
        for turn in range(rounds + 1):
            for name, call in calls.items():
                begun, count = time.process_time(), 0
                while time.process_time() - begun < 0.004 or count < least:
                    call()
                    count += 1
                if turn:
                    taken[name].append(1e6 * (time.process_time() - begun) / count)
    # Of 41 sorted numbers the 14th to the 28th hold the median with 97 %, of five the whole with 94 %.
    ends = [rounds // 3, -rounds // 3] if rounds == ROUNDS else [0, -1]
    return {name: (float(np.median(found)), *np.sort(found)[ends]) for name, found in taken.items()}


def drawing() -> dict[str, Callable[[], object]]:
    """A sample drawn and priced by a policy for mappings, and its inference in each precision."""
    taught = Taught("alexnet:conv2", "ppo", 0)
    if not taught.is_there:
        taught.teach()
    saved, trial = taught.load()
    assert isinstance(trial, MappingTrial)
    once = replace(trial, samples=MANY, runs=1)
    seen = torch.zeros(1, 1, saved.policy.team.observed)
    found: dict[str, Callable[[], object]] = {A_SAMPLE: lambda: once.measure(saved.policy)}
    for name, bits in BITS.items():
        few = executable_networks(saved.policy.quantised(Precision(bits)).actors)
        found[name] = lambda few=few: few(seen)
    return found


def main() -> None:
    """Measure all."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    bits = activation_bits(8)
    lines = []
    for name, hidden in SIZES.items():
        for rows in ROWS:
            for way, figures in microseconds(ways(networks(hidden), rows)).items():
                print(name, rows, way, *(f"{figure:.1f}" for figure in figures), flush=True)
                lines.append((name, rows, way, *(f"{figure:.2f}" for figure in figures), bits))
    calls = drawing()
    whole = microseconds({A_SAMPLE: calls.pop(A_SAMPLE)}, rounds=5, least=1)[A_SAMPLE]
    figures_by_way = {A_SAMPLE: tuple(figure / MANY for figure in whole)} | microseconds(calls)
    for way, figures in figures_by_way.items():
        print("a mapper", way, *(f"{figure:.1f}" for figure in figures), flush=True)
        lines.append((MAPPER, 1, way, *(f"{figure:.2f}" for figure in figures), bits))
    write_rows(HERE / "speed.csv", HEAD, lines)


if __name__ == "__main__":
    main()
