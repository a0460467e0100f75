"""When each parameter settles: Figure 7 of arXiv:2507.16249, `python -m experiments.paper.settling`.

Runs marl and ppo on one layer of the paper's own problem (space `paper`, preset `paper`, MobileNet-v2,
latency) and says for each gene after which sample the best mapping so far has the value that it ends with,
and whether both end with the same values. Writes figure7.csv and figure7.png beside the other results;
`--budget`, `--seeds` and `--layer` ask for other runs. Two minutes on one core.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from dse.problem.problem import Problem
from dse.search.api import search
from dse.spec.accelerator import load_accelerator
from dse.support.arrays import FloatArray, IntArray
from experiments import RESULTS
from workloads import load_layer

SEARCHERS = ("marl", "ppo")
HEAD = ("gene", "searcher", "seeds", "settled_median", "settled_least", "settled_most", "ends_as_marl")


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


def runs(problem: Problem, searcher: str, budget: int, seeds: int) -> tuple[IntArray, IntArray]:
    """When each gene settles in each run, and the values it ends with: (seeds, genes) each."""
    times, ends = [], []
    for seed in range(seeds):
        record = search(problem, searcher, budget=budget, seed=seed).record
        genes, losses = record.genes(), record.evaluations().loss
        times.append(settled(genes, losses))
        ends.append(genes[int(np.argmin(losses))])
    return np.array(times), np.array(ends)


def rows(problem: Problem, budget: int, seeds: int) -> Iterator[tuple[object, ...]]:
    """The table's lines: gene by gene, searcher by searcher."""
    found = {name: runs(problem, name, budget, seeds) for name in SEARCHERS}
    for place, gene in enumerate(problem.space.genes):
        for name, (times, ends) in found.items():
            mine, common = times[:, place], found["marl"][1][:, place]
            # Over all pairs of runs: how often two of them end with one value of the gene.
            alike = float((ends[:, place][:, None] == common[None, :]).mean())
            spread = int(np.median(mine)), int(mine.min()), int(mine.max())
            yield (gene.name, name, seeds, *spread, round(alike, 2))


def draw(lines: Sequence[tuple[object, ...]], title: str, path: Path) -> None:
    """The medians as a figure: a row a gene, a mark a searcher, with the range over seeds."""
    from matplotlib import pyplot as plt

    genes = list(dict.fromkeys(str(line[0]) for line in lines))
    figure, axes = plt.subplots(figsize=(6.8, 0.28 * len(genes) + 1.2))
    for number, name in enumerate(SEARCHERS):
        mine = [line for line in lines if line[1] == name]
        middle, least, most = (np.array([float(str(line[at])) for line in mine]) for at in (3, 4, 5))
        places = np.arange(len(genes)) + 0.25 * number
        ends = [middle - least, most - middle]
        axes.errorbar(middle, places, xerr=ends, fmt="os"[number], markersize=4, capsize=2, label=name)
    axes.set_yticks(np.arange(len(genes)) + 0.12, genes, fontsize=7)
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.set_xlabel("samples until the best mapping so far has the value that it ends with", fontsize=8)
    axes.set_title(title, fontsize=8, loc="left")
    axes.legend(fontsize=7)
    figure.tight_layout()
    figure.savefig(path, dpi=120, metadata={"Software": None})
    plt.close(figure)


def main() -> None:
    """Run, write and draw."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--layer", default="mobilenet_v2:2")
    parser.add_argument("--objective", default="latency")
    parser.add_argument("--accelerator", default="paper")
    parser.add_argument("--budget", type=int, default=20_000)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--out", type=Path, default=RESULTS / "paper", metavar="FOLDER")
    asked = parser.parse_args()
    machine = load_accelerator(asked.accelerator)
    problem = Problem(load_layer(asked.layer), machine, asked.objective, "maestro", space="paper")
    lines = list(rows(problem, asked.budget, asked.seeds))
    asked.out.mkdir(parents=True, exist_ok=True)
    with (asked.out / "figure7.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([HEAD, *lines])
    where = f"{asked.layer} on {asked.accelerator}, {asked.objective}, {asked.budget:,} samples"
    draw(lines, f"{where}, {asked.seeds} seeds: median and range", asked.out / "figure7.png")
    for line in lines:
        print(*line)


if __name__ == "__main__":
    main()
