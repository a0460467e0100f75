"""The files that examples in the command line's help name, for the tests that run them."""

from __future__ import annotations

import csv
import gzip
from pathlib import Path

import numpy as np

from dse.domains.clustered.accelerator import PRESETS
from dse.domains.clustered.problem import Problem
from tests import DATA
from tests.workloads.onnx_cases import model, operator, written
from workloads import load_layer

COSTS = """
def price(layer, accelerator, mapping):
    return {"cycles": layer.macs // mapping.cluster_size, "energy_nj": 2.5 * layer.macs}
"""

SPACE = """
base = "edge"
[hardware]
num_pes = [64, 128]
l1_size = [64, 512]
"""

CASES = """
[[cases]]
name = "products"
command = "certify --layer mlp:1 --accelerator edge --tiles factors"
before = "1 s"
"""


def write_files(folder: Path) -> None:
    """Write a function that prices, cases, cases to measure, and a model."""
    (folder / "costs.py").write_text(COSTS)
    (folder / "cases.toml").write_text(CASES)
    (folder / "space.toml").write_text(SPACE)
    with gzip.open(DATA / "golden.jsonl.gz", "rt") as golden:
        (folder / "cases.jsonl").write_text("".join(next(golden) for _ in range(20)))
    problem = Problem(load_layer("resnet18:1"), PRESETS["edge"], cost_model="maestro")
    genes = problem.space.sample(np.random.default_rng(0), 20)
    mappings, cycles = problem.space.decode(genes), problem.price(genes).cycles
    with (folder / "samples.csv").open("w", newline="") as file:
        rows = [["resnet18:1", mappings[row].to_json(), cycles[row]] for row in np.flatnonzero(cycles)]
        csv.writer(file).writerows([["layer", "mapping", "cycles"], *rows])
    written(folder / "model.onnx", model(operator("MatMul", "x w", "y"), x=[8, 16], w=[16, 4]))
