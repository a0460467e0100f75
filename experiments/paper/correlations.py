"""How independent the genes of good mappings are: `python -m experiments.paper.correlations`.

For each problem of campaign table3, and for those of paper-table3-any on the paper's own accelerator, the
analysis of `dse correlate` on random samples: 20,000 of them, as the paper has, and 200,000 where the
best 15 % of the feasible ones are less than 1,000, which shows what few points cannot. Ward's tree, whose
distances are of the size of the paper's thresholds, is cut at each of them. Writes correlations.csv; ten
minutes on one core.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dse.analysis.dependence import LEAST, analyse_dependence
from dse.campaign.reading import load_campaign
from dse.domains.clustered.problem import Problem
from dse.search.api import search
from dse.search.gene_groups import best_points, cut_at, gene_correlations, gene_tree
from dse.support.arrays import FloatArray
from experiments import RESULTS, write_rows
from workloads import load_layer

HERE = RESULTS / "paper"
CAMPAIGNS = {"table3": None, "paper-table3-any": "paper"}
"""Each with the one accelerator whose problems are taken, or all."""
SAMPLES = (20_000, 200_000)
ENOUGH = 1_000
"""Good points, with which no more samples are drawn."""
THRESHOLD = 0.2
DISTANCES = (0.5, 1.0, 1.5, 2.0, 2.5)
"""The thresholds of the paper's Algorithm 1."""
HEAD = (
    "campaign", "layer", "objective", "samples", "feasible", "points", "genes", "largest_r", "critical_r",
    "pairs", "weak_pairs", "weak", "uncorrelated", "unrelated", "k_with_c", "choices",
    *(f"agents_{distance:g}" for distance in DISTANCES),
)  # fmt: skip


def row(campaign: str, layer: str, problem: Problem, samples: int) -> tuple[object, ...] | None:
    """One line of the table: counts of the genes and pairs that vary, and of those that are independent.

    None where too few samples are feasible to correlate anything.
    """
    record = search(problem, "random", budget=samples).record
    chosen = problem.space.sizes > 1
    genes, losses = record.genes()[:, chosen], record.evaluations().loss
    points = best_points(genes, losses)
    if len(points) < LEAST:
        return None
    matrix = gene_correlations(genes, losses)
    names = tuple(gene.name for gene, has in zip(problem.space.genes, chosen, strict=True) if has)
    found = analyse_dependence(names, points, matrix, gene_tree(matrix), {}, THRESHOLD)
    sizes = np.abs(matrix[np.ix_(found.varied, found.varied)][np.triu_indices(found.varied.sum(), 1)])
    tree = gene_tree(matrix, "ward")
    return (
        campaign,
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
        round(k_with_c(names, matrix), 3),
        len(names),
        *(cut_at(tree, distance) for distance in DISTANCES),
    )


def k_with_c(names: tuple[str, ...], matrix: FloatArray) -> float:
    """The strongest correlation of a tile of K with one of C, 0 where either is constant."""
    places = [[p for p, name in enumerate(names) if name.endswith(f".tile.{dim}")] for dim in "KC"]
    return float(np.abs(matrix[np.ix_(*places)]).max(initial=0.0))


def rows() -> Iterator[tuple[object, ...]]:
    """The table's lines, problem by problem."""
    for name, accelerator in CAMPAIGNS.items():
        path = RESULTS / "campaigns" / f"{name}.toml"
        campaign = load_campaign(str(path), lambda layer: {layer: load_layer(layer)})
        for named in campaign.problems:
            for samples in SAMPLES:
                if accelerator in (None, named.accelerator):
                    line = row(name, named.layer, named.problem, samples)
                    if line is not None:
                        yield line
                        if int(str(line[HEAD.index("points")])) >= ENOUGH:
                            break


def main() -> None:
    """Write the table."""
    lines = []
    for line in rows():
        print(*line)
        lines.append(line)
    write_rows(HERE / "correlations.csv", HEAD, lines)


if __name__ == "__main__":
    main()
