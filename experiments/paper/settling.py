"""When each parameter settles: Figure 7 of arXiv:2507.16249, `python -m experiments.paper.settling`.

Runs marl and ppo on layers of the paper's own problem (space `paper`, any tiles, preset `paper`, latency) and
says for each gene of each run after which sample the best mapping so far has the value that it ends with, and
which value that is. Writes figure7.csv and figure7.png beside the other results; `--budget`, `--seeds` and
`--layers` ask for other runs. Six minutes on one core.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from dse.domains.clustered.accelerator import load_accelerator
from dse.domains.clustered.problem import Problem
from dse.search.api import search
from dse.support.arrays import FloatArray, IntArray
from experiments import RESULTS, write_rows
from workloads import load_layer

SEARCHERS = ("marl", "ppo")
LAYERS = ("mobilenet_v2:2", "vgg16:2")
HEAD = ("layer", "gene", "searcher", "seed", "settled", "ends")
Line = tuple[str, str, str, int, int, int]


def settled(genes: IntArray, losses: FloatArray) -> IntArray:
    """For each gene of the samples (n, genes), after how many samples the best so far has its last value.

    The budget n where nothing feasible was found.
    """
    before = np.minimum.accumulate(np.concatenate([[np.inf], losses[:-1]]))
    better = np.flatnonzero(losses < before)
    if not len(better):
        return np.full(genes.shape[1], len(genes))
    bests = genes[better]
    differs = bests != bests[-1]
    last = np.where(differs.any(axis=0), len(bests) - np.argmax(differs[::-1], axis=0), 0)
    return np.asarray(better[last] + 1, dtype=np.int64)


def rows(layer: str, problem: Problem, budget: int, seeds: int) -> Iterator[Line]:
    """The table's lines, run by run, of the genes that have more than one value."""
    for name in SEARCHERS:
        for seed in range(seeds):
            record = search(problem, name, budget=budget, seed=seed).record
            genes, losses = record.genes(), record.evaluations().loss
            times, ends = settled(genes, losses), genes[int(np.argmin(losses))]
            for place, gene in enumerate(problem.space.genes):
                if gene.size > 1:
                    yield layer, gene.name, name, seed, int(times[place]), int(ends[place])


def draw(lines: Sequence[Line], title: str, path: Path) -> None:
    """Medians and ranges over seeds as a figure: a panel a layer, a row a gene, a mark a searcher."""
    from matplotlib import pyplot as plt

    layers = list(dict.fromkeys(line[0] for line in lines))
    genes = [list(dict.fromkeys(line[1] for line in lines if line[0] == layer)) for layer in layers]
    size = (4.4 * len(layers), 0.28 * max(map(len, genes)) + 1.2)
    figure, panels = plt.subplots(1, len(layers), figsize=size, squeeze=False)
    for axes, layer, names in zip(panels[0], layers, genes, strict=True):
        for number, searcher in enumerate(SEARCHERS):
            times = np.array(
                [[line[4] for line in lines if line[:3] == (layer, name, searcher)] for name in names]
            )
            middle, places = np.median(times, axis=1), np.arange(len(names)) + 0.25 * number
            ends = [middle - times.min(axis=1), times.max(axis=1) - middle]
            axes.errorbar(
                middle, places, xerr=ends, fmt="os"[number], markersize=4, capsize=2, label=searcher
            )
        axes.set_yticks(np.arange(len(names)) + 0.12, names, fontsize=7)
        axes.invert_yaxis()
        axes.set_xscale("log")
        axes.set_title(layer, fontsize=8)
        axes.legend(fontsize=7)
    figure.suptitle(title, fontsize=8)
    figure.supxlabel("samples until the best mapping so far has the value that it ends with", fontsize=8)
    figure.tight_layout()
    figure.savefig(path, dpi=120, metadata={"Software": None})
    plt.close(figure)


def main() -> None:
    """Run, write and draw."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--layers", nargs="+", default=LAYERS)
    parser.add_argument("--objective", default="latency")
    parser.add_argument("--accelerator", default="paper")
    parser.add_argument("--budget", type=int, default=20_000)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--out", type=Path, default=RESULTS / "paper", metavar="FOLDER")
    asked = parser.parse_args()
    machine = load_accelerator(asked.accelerator)
    lines: list[Line] = []
    for layer in asked.layers:
        problem = Problem(load_layer(layer), machine, asked.objective, "maestro", space="paper", tiles="any")
        lines += rows(layer, problem, asked.budget, asked.seeds)
    write_rows(asked.out / "figure7.csv", HEAD, lines)
    where = f"{asked.accelerator}, {asked.objective}, {asked.budget:,} samples"
    draw(lines, f"{where}, {asked.seeds} seeds: median and range", asked.out / "figure7.png")


if __name__ == "__main__":
    main()
