"""Fig. 4 again, learning that is aware of rounding: `python -m experiments.quantised.qat`.

Policies of `taught` that are cheap are taught again from the same seeds, rounding weights and activations of
actor and critic from half of the steps on, and judged in that precision beside what they were in full. Writes
qat.csv in results/quantised, with the columns of ptq.csv; ten minutes of CPU. It goes on where it stopped.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import torch

from experiments import read_rows, write_rows
from experiments.quantised.ptq import HEAD, HERE
from experiments.quantised.taught import LEARNING, PROBLEMS, SEEDS, Taught
from learners.qat import Rounding
from learners.trials import precision_of, worse_with_interval

BITS = (6, 4, 3, 2)
TASKS = ("Acrobot-v1", "CartPole-v1")
"""Taught by PPO."""
LAYERS = tuple(PROBLEMS)[:2]


def cells() -> Iterator[tuple[Taught, int]]:
    """What is taught again in how many bits."""
    tasks = [(task, ("ppo",)) for task in TASKS]
    layers = [(layer, LEARNING) for layer in LAYERS]
    for task, algorithms in (tasks[0], *layers, *tasks[1:]):
        for seed in SEEDS:
            yield from ((Taught(task, name, seed), bits) for name in algorithms for bits in BITS)


def main() -> None:
    """Teach and measure what is missing."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    torch.set_num_threads(1)
    path = HERE / "qat.csv"
    done = {tuple(row[name] for name in HEAD[:4]) for row in read_rows(path)}
    for taught, bits in cells():
        key = (taught.task, taught.algorithm, taught.seed, bits)
        if tuple(map(str, key)) in done:
            continue
        saved, trial = taught.load()
        precision = precision_of(bits)
        few = trial.measure(trial.teach(Rounding(precision)).quantised(precision))
        worse = worse_with_interval(trial, trial.measure(saved.policy), few)
        print(*key, few.mean(), worse[0], flush=True)
        write_rows(path, HEAD, [[*key, precision.activations, False, few.mean(), *worse]], add=True)


if __name__ == "__main__":
    main()
