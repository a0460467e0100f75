"""Teaches the transformers of `generative`, and notes the mappings that `nearest` copies: writes taught.npz.

The layers of the development networks (those of dev8.toml) on four presets, for two objectives, under
`loopnest`: a climb each from random mappings, of which the best and some others are learned, told how far
they are from the best. No layer of a reported campaign is among them. One transformer is trained dense, the
other by mixed sparsity (learners.mst), with as many mini-batches, the same ones.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

import dse
from dse.support.arrays import BoolArray, FloatArray, IntArray
from experiments.tuning.gradient_offline import NETWORKS
from searchers.common.torch_apart import torch_apart
from searchers.generative.sequences import OBJECTIVES, context_vector, tokens_of
from workloads import load

if TYPE_CHECKING:
    from learners.mst import Pretraining
    from searchers.generative.mapper import Mapper

ACCELERATORS = ("eyeriss", "eyeriss-small", "edge-small", "tpu-like")
RANDOM, ROUNDS, KEPT, NEIGHBOURS = 512, 8, 16, 12
"""Of a problem: random samples, and rounds in which so many of the best have so many neighbours drawn."""
BEST, OTHERS = 12, 8
FARTHEST = 3.0
HELD_OUT = 0.05
MST = {"warm_up": 0.1, "sparse": 0.2, "ultra": 0.05, "restored": 0.15}
"""Mixed sparsity, as experiments.mst has it but for attention, which has only 13 places to look at."""


def climbed(problem: dse.Problem, rng: np.random.Generator) -> tuple[IntArray, FloatArray]:
    """Mappings of a problem, the best first, with their losses: random ones, then neighbours of the best."""
    genes = problem.space.sample(rng, RANDOM)
    losses = problem.price(genes).loss
    for _ in range(ROUNDS):
        best = genes[np.argsort(losses, kind="stable")[:KEPT]]
        near = problem.space.neighbour(rng, np.repeat(best, NEIGHBOURS, axis=0))
        genes = np.concatenate([genes, near])
        losses = np.concatenate([losses, problem.price(near).loss])
    genes = problem.space.canonical(genes)
    distinct = np.unique(genes, axis=0, return_index=True)[1]
    order = distinct[np.argsort(losses[distinct], kind="stable")]
    order = order[np.isfinite(losses[order])]
    return genes[order], losses[order]


def sequences() -> tuple[FloatArray, FloatArray, IntArray, int]:
    """Contexts (n, inputs), targets (n,) and tokens (n, LENGTH); a problem's best is first; samples drawn."""
    contexts, targets, tokens, samples = [], [], [], 0
    rng = np.random.default_rng(0)
    for network in NETWORKS:
        for layer in load(network).layers:
            for accelerator in ACCELERATORS:
                for objective in OBJECTIVES:
                    problem = dse.Problem(layer, dse.load_accelerator(accelerator), objective, "loopnest")
                    genes, losses = climbed(problem, rng)
                    samples += RANDOM + ROUNDS * KEPT * NEIGHBOURS
                    others = BEST + rng.permutation(max(len(genes) - BEST, 0))[:OTHERS]
                    rows = np.concatenate([np.arange(min(BEST, len(genes))), others])
                    if not len(rows):
                        continue
                    targets.append(np.minimum(np.log2(losses[rows] / losses[0]), FARTHEST))
                    tokens.append(tokens_of(problem.space, problem.space, genes[rows]))
                    contexts.append(np.tile(context_vector(problem.space, objective), (len(rows), 1)))
    return np.concatenate(contexts), np.concatenate(targets), np.concatenate(tokens), samples


def taught(told: FloatArray, tokens: IntArray, apart: BoolArray, training: Pretraining) -> Mapper:
    """A mapper that has learned the sequences that are not `apart`, (n,), and says how well."""
    import torch

    from learners.mst import SparseLayers
    from searchers.generative.mapper import Mapper

    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    rows, wanted = torch.from_numpy(told.astype(np.float32)), torch.from_numpy(tokens)
    mapper = Mapper(told.shape[1])
    layers = SparseLayers(mapper.weights, training, rng.spawn(1)[0])
    adam = torch.optim.AdamW(mapper.parameters(), lr=training.learning_rate, weight_decay=0.05)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(adam, training.steps)
    ours, theirs = np.flatnonzero(~apart), np.flatnonzero(apart)
    connections = 0

    def loss(chosen: IntArray) -> torch.Tensor:
        logits = mapper(rows[chosen], wanted[chosen])
        return torch.nn.functional.cross_entropy(logits.flatten(0, 1), wanted[chosen].flatten())

    for step in range(training.steps):
        found = loss(rng.choice(ours, training.batch))
        adam.zero_grad()
        found.backward()  # type: ignore[no-untyped-call]
        layers.change(step)
        layers.mask_gradients()
        adam.step()
        layers.keep(adam)
        schedule.step()
        connections += layers.connections
    with torch.no_grad():
        share = connections / layers.everything / training.steps
        print(
            f"{len(ours)} sequences, connections {share:.2f} of all over training, nats a token "
            f"{float(loss(ours)):.3f}, on problems apart {float(loss(theirs)):.3f}"
        )
    return mapper


def main() -> None:
    """Draw, learn, say how well, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--batches", type=int, default=800, help="mini-batches to learn from")
    options = parser.parse_args()
    contexts, targets, tokens, samples = sequences()
    middle, spread = contexts.mean(axis=0), np.maximum(contexts.std(axis=0), 0.1)
    told = np.column_stack([(contexts - middle) / spread, targets])
    layers = np.unique(contexts, axis=0, return_inverse=True)[1].ravel()
    order = np.random.default_rng(0).permutation(layers.max() + 1)
    apart = np.isin(layers, order[: int(HELD_OUT * layers.max())])
    weights = {}
    with torch_apart():
        from learners.mst import Pretraining
        from searchers.generative.mapper import PATH

        dense = Pretraining(options.batches, 64, 2e-3)
        for name, training in (("mapper", dense), ("sparse", replace(dense, **MST))):
            mapper = taught(told, tokens, apart, training)
            weights |= {f"{name}.{key}": weight.numpy() for key, weight in mapper.state_dict().items()}
    best = np.flatnonzero(targets == 0)
    best = best[np.unique(contexts[best], axis=0, return_index=True)[1]]
    np.savez_compressed(
        PATH,
        samples=samples,
        middle=middle,
        spread=spread,
        contexts=contexts[best].astype(np.float32),
        best=tokens[best].astype(np.uint8),
        **{name: weight.astype(np.float16) for name, weight in weights.items()},
    )


if __name__ == "__main__":
    main()
