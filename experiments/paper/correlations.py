"""How independent the genes of good mappings are: `python -m experiments.paper.correlations`.

For each problem of campaign table3, the analysis of `dse correlate` on random samples: 1,000 of them, by
which marl deals genes to agents, and 20,000, a whole budget, which show what 1,000 are too few to show.
Writes correlations.csv beside this file; takes about two minutes on one core.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator

import numpy as np

from dse.analysis.dependence import depend
from dse.campaign.reading import load_campaign
from dse.problem.problem import Problem
from dse.search.api import search
from dse.search.gene_groups import best_points, correlations, gene_tree
from experiments import RESULTS
from workloads import load_layer

HERE = RESULTS / "paper"
CAMPAIGN = RESULTS / "campaigns" / "table3.toml"
SAMPLES = (1_000, 20_000)
THRESHOLD = 0.2
HEAD = (
    "layer", "objective", "samples", "feasible", "points", "genes", "largest_r", "critical_r",
    "pairs", "weak_pairs", "weak", "uncorrelated", "unrelated",
)  # fmt: skip


def row(layer: str, problem: Problem, samples: int) -> tuple[object, ...]:
    """One line of the table: counts of the genes and pairs that vary, and of those that are independent."""
    record = search(problem, "random", budget=samples).record
    genes, losses = record.genes(), record.evaluations().loss
    matrix = correlations(genes, losses)
    names = tuple(gene.name for gene in problem.space.genes)
    found = depend(names, best_points(genes, losses), matrix, gene_tree(matrix), {}, THRESHOLD)
    sizes = np.abs(matrix[np.ix_(found.varied, found.varied)][np.triu_indices(found.varied.sum(), 1)])
    return (
        layer,
        problem.objective,
        samples,
        int(np.isfinite(losses).sum()),
        found.points,
        int(found.varied.sum()),
        round(float(sizes.max()), 3),
        round(found.critical_r, 3),
        len(sizes),
        int((sizes < THRESHOLD).sum()),
        len(found.weak),
        len(found.uncorrelated),
        len(found.unrelated),
    )


def rows() -> Iterator[tuple[object, ...]]:
    """The table's lines, problem by problem."""
    campaign = load_campaign(str(CAMPAIGN), lambda name: {name: load_layer(name)})
    for named in campaign.problems:
        for samples in SAMPLES:
            yield row(named.layer, named.problem, samples)


def main() -> None:
    """Write the table."""
    lines = []
    for line in rows():
        print(*line)
        lines.append(line)
    with (HERE / "correlations.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([HEAD, *lines])


if __name__ == "__main__":
    main()
