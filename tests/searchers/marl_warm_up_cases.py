"""Searches with a warm-up, for the tests of MARL."""

from __future__ import annotations

from typing import Any

from dse.domains.clustered.accelerator import PRESETS
from dse.domains.clustered.problem import Problem
from dse.search.record import Record
from dse.search.run import Cell, run_cell
from searchers.marl import MARL
from workloads import load_layer

LAYER = load_layer("resnet50:layer1.0.conv3")


PROBLEM = Problem(LAYER, PRESETS["eyeriss-small"], "edp", "maestro")


FEW = {
    gene.name: {"permutation": "KCYX", "categorical": "K", "ordinal": 1}[gene.kind]
    for gene in PROBLEM.space.genes
    if gene.name != "cluster"
}


SMALL = Problem(LAYER, PRESETS["eyeriss-small"], cost_model="maestro", fixed=FEW)


def run(budget: int, problem: Problem = PROBLEM, seed: int = 0, **settings: Any) -> Record:
    return run_cell(Cell(problem, "marl", MARL(**settings), seed, budget))
