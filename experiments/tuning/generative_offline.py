"""Teaches the transformer of `generative`, and notes the mappings that `nearest` copies: writes taught.npz.

The layers of the development networks (those of dev8.toml) on four presets, for two objectives, under
`loopnest`: a climb each from random mappings, of which the best and some others are learned, told how far
they are from the best. No layer of a reported campaign is among them.
"""

from __future__ import annotations

import argparse

import numpy as np

import dse
from dse.support.arrays import FloatArray, IntArray
from experiments.tuning.gradient_offline import NETWORKS
from searchers.common.torch_apart import torch_apart
from searchers.generative.sequences import OBJECTIVES, context, tokens_of
from workloads import load

ACCELERATORS = ("eyeriss", "eyeriss-small", "edge-small", "tpu-like")
RANDOM, ROUNDS, KEPT, NEIGHBOURS = 512, 8, 16, 12
"""Of a problem: random samples, and rounds in which so many of the best have so many neighbours drawn."""
BEST, OTHERS = 12, 8
FARTHEST = 3.0
BATCH, HELD_OUT = 64, 0.05


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
                    contexts.append(np.tile(context(problem.space, objective), (len(rows), 1)))
    return np.concatenate(contexts), np.concatenate(targets), np.concatenate(tokens), samples


def main() -> None:
    """Draw, learn, say how well, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--batches", type=int, default=800, help="mini-batches to learn from")
    options = parser.parse_args()
    contexts, targets, tokens, samples = sequences()
    middle, spread = contexts.mean(axis=0), np.maximum(contexts.std(axis=0), 0.1)
    with torch_apart():
        import torch

        from searchers.generative.mapper import PATH, Mapper

        torch.manual_seed(0)
        rng = np.random.default_rng(0)
        told = np.column_stack([(contexts - middle) / spread, targets]).astype(np.float32)
        rows, wanted = torch.from_numpy(told), torch.from_numpy(tokens)
        mapper = Mapper(told.shape[1])
        adam = torch.optim.AdamW(mapper.parameters(), lr=2e-3, weight_decay=0.05)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(adam, options.batches)
        layers = np.unique(contexts, axis=0, return_inverse=True)[1].ravel()
        apart = np.isin(layers, rng.permutation(layers.max() + 1)[: int(HELD_OUT * layers.max())])
        ours, theirs = np.flatnonzero(~apart), np.flatnonzero(apart)

        def loss(chosen: IntArray) -> torch.Tensor:
            logits = mapper(rows[chosen], wanted[chosen])
            return torch.nn.functional.cross_entropy(logits.flatten(0, 1), wanted[chosen].flatten())

        for _ in range(options.batches):
            found = loss(rng.choice(ours, BATCH))
            adam.zero_grad()
            found.backward()
            adam.step()
            schedule.step()
        with torch.no_grad():
            print(
                f"{len(ours)} sequences, nats a token {float(loss(ours)):.3f}, "
                f"on problems apart {float(loss(theirs)):.3f}"
            )
        weights = {f"mapper.{name}": weight.numpy() for name, weight in mapper.state_dict().items()}
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
