"""Table 1 and Fig. 2 again, quantisation of what is taught: `python -m experiments.quantised.ptq`.

Every policy of `taught` that is there, in each precision: weights and activations, and weights alone; a scale
for a layer and, on tasks of Gymnasium, for each channel. Writes ptq.csv in results/quantised, a line for a
policy and a precision; five minutes of CPU. What is there already is kept; --anew begins anew.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import torch

from experiments import RESULTS, read_rows, write_rows
from experiments.quantised.taught import policies
from learners.quantised import Precision
from learners.trials import precision_of, worse_with_interval

HERE = RESULTS / "quantised"
HEAD = ("task", "algorithm", "seed", "weights", "activations", "per_channel", "mean", "worse", "low", "high")


def precisions(channels: bool) -> Iterator[Precision]:
    """Half precision, and whole numbers of 8 to 2 bits, in four ways or, without `channels`, in two."""
    yield precision_of(16)
    for bits in range(8, 1, -1):
        for activations in (True, False):
            for per_channel in (False, True)[: 1 + channels]:
                yield precision_of(bits, activations, per_channel)


def main() -> None:
    """Measure what is missing."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--anew", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(1)
    path = HERE / "ptq.csv"
    done = set() if options.anew else {tuple(row[name] for name in HEAD[:3]) for row in read_rows(path)}
    if options.anew:
        path.unlink(missing_ok=True)
    for taught in policies():
        key = (taught.task, taught.algorithm, taught.seed)
        if not taught.is_there or tuple(map(str, key)) in done:
            continue
        saved, trial = taught.load()
        full = trial.measure(saved.policy)
        print(*key, full.mean(), flush=True)
        lines = [[*key, 32, 32, False, full.mean(), 0.0, 0.0, 0.0]]
        for precision in precisions(channels=not taught.is_mapper):
            few = trial.measure(saved.policy.quantised(precision))
            cut = precision.weights, precision.activations, precision.per_channel
            lines.append([*key, *cut, few.mean(), *worse_with_interval(trial, full, few)])
        write_rows(path, HEAD, lines, add=True)


if __name__ == "__main__":
    main()
