"""Teaches the network that `gradient` begins with where `offline` is set, and writes it into searchers/.

Every distinct layer of the development networks (those of dev8.toml) on five presets, under `loopnest`: half
of a problem's samples are random, half are those of a local search for EDP, which look closer where it is
low. No layer of a reported campaign is among them.
"""

from __future__ import annotations

import argparse

import numpy as np

import dse
from dse.core.evaluations import Evaluations
from dse.support.arrays import FloatArray
from searchers.common.features import layer_and_accelerator
from searchers.common.torch_apart import torch_apart
from searchers.gradient.offline import PATH, network_inputs, size_offsets
from workloads import load

NETWORKS = ("alexnet", "resnet18", "resnet50", "bert_base")
ACCELERATORS = ("eyeriss", "eyeriss-small", "edge", "edge-small", "tpu-like")
SAMPLES = 128
HIDDEN = 64


def samples() -> tuple[FloatArray, FloatArray]:
    """Inputs (n, width) and what came of them (n, 4), of all problems."""
    rows, targets = [], []
    for network in NETWORKS:
        for layer in load(network).layers:
            for accelerator in ACCELERATORS:
                problem = dse.Problem(layer, dse.load_accelerator(accelerator), "edp", "loopnest")
                for name in ("random", "local"):
                    record = dse.search(problem, name, budget=SAMPLES, seed=0).record
                    space, genes = problem.space, record.genes()
                    rows.append(network_inputs(space, genes, layer_and_accelerator(space)))
                    targets.append(_outcomes(problem.price(genes)) - size_offsets(space))
    found, outcomes = np.concatenate(rows), np.concatenate(targets)
    known = np.isfinite(outcomes).all(axis=1)
    return found[known], outcomes[known]


def _outcomes(evaluations: Evaluations) -> FloatArray:
    """log2 of cycles, energy, and needs over capacities; refused ones are not finite."""
    with np.errstate(divide="ignore", invalid="ignore"):
        needs = np.log2(np.maximum(evaluations.needs, 1) / (evaluations.capacities + 0.5))
        refused = (evaluations.reason != 0) & ~evaluations.violation.any(axis=1)
        figures = np.log2(np.stack([evaluations.cycles, evaluations.energy_nj], axis=1))
    figures[refused] = np.nan
    return np.concatenate([figures, needs], axis=1)


def main() -> None:
    """Draw, learn, say how well, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--batches", type=int, default=12_000, help="mini-batches to learn from")
    options = parser.parse_args()
    with torch_apart():
        from searchers.gradient.surrogate import Scale, Surrogate

        rng = np.random.default_rng(0)
        rows, targets = samples()
        apart = rng.random(len(rows)) < 0.05
        made = Surrogate(Scale.of(rows), Scale.of(targets), 2, HIDDEN, rng)
        made.learn(rows[~apart], targets[~apart], options.batches)
        error = np.abs(made.outcomes(rows[apart]) - targets[apart]).mean(axis=0)
        print(f"{len(rows)} samples, mean error in log2 of cycles, energy, L1, L2: {np.round(error, 3)}")
        weights = [weight.detach().numpy() for weight in made.layers.parameters()]
    np.savez_compressed(
        PATH,
        samples=len(rows),
        input_middle=made.inputs.middle.astype(np.float32),
        input_spread=made.inputs.spread.astype(np.float32),
        output_middle=made.outputs.middle.astype(np.float32),
        output_spread=made.outputs.spread.astype(np.float32),
        **{f"weight_{place}": weight for place, weight in enumerate(weights)},
    )


if __name__ == "__main__":
    main()
