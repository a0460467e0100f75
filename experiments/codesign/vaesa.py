"""How soon searchers find the best machine of VAESA's grids: `python -m experiments.codesign.vaesa`.

2,304 machines with what Timeloop says of CoSA's mappings of four networks (Huang et al., ISPASS 2022;
github.com/ucb-bar/vaesa, BSD 2-Clause, LICENSE.vaesa), looked up: nothing is mapped here. Each searcher has
100 machines, from ten seeds. Writes results/codesign/vaesa.md.
"""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from dse.core.evaluations import Evaluations
from dse.domains.codesign.joint import Joint
from dse.domains.codesign.reading import space_from_dict
from dse.optimum.codesign.networks import JointNetwork
from dse.search.run import Cell, run_cell
from dse.search.searcher import make_searcher
from dse.support.arrays import FloatArray, IntArray
from experiments import RESULTS, keep
from experiments.comparisons.showing import table
from experiments.intervals import mean_of

GRID = Path(__file__).with_name("vaesa_grid.csv.gz")
PARAMETERS = ("arith_meshX", "arith_ins", "mem1_ent", "mem2_ent", "mem3_ent", "mem4_ent")
NETWORKS = ("resnet50", "alexnet", "deepbench", "resnext50_32x4d")
SEARCHERS = ("random", "grid", "walk", "local", "genetic", "cem", "tpe", "team")
BUDGET, SEEDS = 100, 10
AFTER = (10, 20, 50, 100)


@cache
def grid() -> dict[str, FloatArray]:
    """The columns of the grid."""
    with gzip.open(GRID, "rt") as file:
        rows = list(csv.DictReader(io.StringIO(file.read())))
    return {name: np.array([float(row[name]) for row in rows]) for name in rows[0]}


@cache
def machines() -> Joint:
    """The grid's machines: parameters without a meaning here."""
    values = {name: sorted({int(one) for one in grid()[name]}) for name in PARAMETERS}
    space = {"name": "vaesa", "base": "edge", "cost_model": "loopnest", "parameters": values}
    return Joint(space_from_dict(space), (), "edp")


@dataclass(frozen=True)
class Looked(JointNetwork):
    """A network on the grid: its figures are looked up."""

    network: str = "resnet50"

    @property
    def way(self) -> dict[str, Any]:
        """Which network."""
        return {"network": self.network}

    @property
    def rows(self) -> IntArray:
        """The row of each machine, by its indices of the parameters."""
        found = np.zeros([len(values) for values in self.space.hardware.parameters.values()], np.int64)
        columns = [
            np.searchsorted(values, grid()[name]) for name, values in self.space.hardware.parameters.items()
        ]
        found[tuple(columns)] = np.arange(len(columns[0]))
        return found

    def price(self, genes: IntArray) -> Evaluations:
        """What the grid says."""
        rows = self.rows[tuple(genes.T)]
        none = super().price(genes)
        costs = replace(
            none,
            cycles=grid()[f"{self.network}_cycles"][rows].astype(np.int64),
            energy_nj=grid()[f"{self.network}_energy"][rows] * 1e-3,
        )
        return replace(costs, loss=costs.objective_value)


def ratios(network: str, searcher: str) -> Iterator[FloatArray]:
    """Of each seed, the best EDP after so many machines over the least of the grid."""
    problem = Looked(machines(), network)
    every = problem.price(np.indices(problem.rows.shape).reshape(len(PARAMETERS), -1).T)
    for seed in range(SEEDS):
        cell = Cell(problem, searcher, make_searcher(searcher), seed, BUDGET)  # type: ignore[arg-type]
        best = np.minimum.accumulate(run_cell(cell).evaluations().loss)
        yield best[np.array(AFTER) - 1] / every.loss.min()


def main() -> None:
    """Run all, and write the table."""
    rows = []
    for network in NETWORKS:
        found = {name: np.array(list(ratios(network, name))) for name in SEARCHERS}
        for name, values in sorted(found.items(), key=lambda item: float(item[1].mean(axis=0).sum())):
            means = [mean_of(column).shown(3) for column in values.T]
            hit = int((values[:, -1] < 1 + 1e-9).sum())
            rows.append([network, name, *means, f"{hit} of {SEEDS}"])
    heads = ["network", "searcher", *(str(after) for after in AFTER), f"optimum after {BUDGET}"]
    what = (
        f"The best EDP after so many of VAESA's 2,304 machines over the least of all: means of {SEEDS} seeds "
        "with Student's 95 % intervals."
    )
    keep(RESULTS / "codesign" / "vaesa.md", "experiments.codesign.vaesa", what, table(heads, rows))


if __name__ == "__main__":
    main()
