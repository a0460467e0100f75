"""Writes the proven optima of four networks on three machines: `python -m experiments.optima [DIR]`.

One CSV file a machine, a row for each network, distinct layer and objective, under the cost model `maestro`.
Losses are in s, J and J s, and `genes` is the best mapping as a gene vector of the layer's space (see
`dse space`). Nothing in the files depends on the computer that makes them.
"""

from __future__ import annotations

import sys
from pathlib import Path

from dse.core.certificate import Certificate
from dse.domains.clustered.accelerator import PRESETS
from dse.domains.clustered.problem import Problem
from dse.optimum import certify
from experiments import RESULTS, write_rows
from workloads import load

NETWORKS = ("mobilenet_v2", "vgg16", "resnet18", "alexnet")
ACCELERATORS = ("eyeriss-small", "edge", "tpu-like")
OBJECTIVES = ("latency", "energy", "edp")
COST_MODEL = "maestro"
FIGURES = ("cycles", "energy_nj", "l1_size", "l2_size")
HEAD = ("network", "layer", "repeats", "objective", "status", "loss", *FIGURES, "groups", "solved", "genes")


def row(network: str, problem: Problem, found: Certificate) -> list[object]:
    """One optimum; figures are empty where no mapping is feasible."""
    best, layer = found.best, problem.layer
    about = [network, layer.name, layer.repeats, problem.objective, found.status]
    figures = [best.loss, *(getattr(best, name) for name in FIGURES)] if best else [""] * (1 + len(FIGURES))
    genes = " ".join(map(str, best.genes)) if best else ""
    return [*about, *figures, found.counts.groups, found.counts.solved, genes]


def main(folder: Path) -> None:
    """Write all files."""
    for accelerator in ACCELERATORS:
        lines = []
        for network in NETWORKS:
            for layer in load(network).layers:
                for objective in OBJECTIVES:
                    problem = Problem(layer, PRESETS[accelerator], objective, COST_MODEL)
                    lines.append(row(network, problem, certify(problem, cache=False)))
        write_rows(folder / f"{accelerator}.csv", HEAD, lines)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else RESULTS / "optima")
