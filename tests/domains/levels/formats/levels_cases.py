"""Mappings onto machines of levels in the files of other tools, and what is read back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from dse.core.domains import make_problem
from dse.domains.levels.formats import export_levels
from dse.domains.levels.mapping import HierarchyMapping
from dse.support.errors import InputError
from tests import ROOT
from workloads import load_layer

CHIP = str(ROOT / "examples" / "chip.toml")
MACHINES = (CHIP, "simba_like", "eyeriss_like", "gemmini", "edge")
FILES = {
    "timeloop": ("timeloop-arch.yaml", "timeloop-problem.yaml", "timeloop-mapping.yaml"),
    "zigzag": ("zigzag-accelerator.yaml", "zigzag-workload.yaml", "zigzag-mapping.yaml"),
}


def a_problem(layer: str, machine: str) -> Any:
    return make_problem(load_layer(layer), machine, "edp", "timeloop")


def drawn(problem: Any, count: int, seed: int = 0) -> list[HierarchyMapping]:
    """The first feasible ones of random mappings."""
    genes = problem.space.sample(np.random.default_rng(seed), 40 * count)
    fits = genes[np.isfinite(problem.price(genes).loss)][:count]
    mappings = problem.space.decode(fits)
    return [mappings[place] for place in range(len(fits))]


def exported(name: str, problem: Any, count: int, folder: Path) -> list[tuple[HierarchyMapping, Path]]:
    """Some mappings that the format can say, each with the folder of its files."""
    found = []
    for number, mapping in enumerate(drawn(problem, 3 * count)):
        home = folder / f"{name}-{number}"
        try:
            export_levels(name, problem, mapping, home)
        except InputError as error:
            if name == "zigzag" and "ZigZag would" in str(error):
                continue
            raise
        found.append((mapping, home))
        if len(found) == count:
            break
    return found


def read_back(name: str, home: Path) -> tuple[Any, HierarchyMapping]:
    """The problem and the mapping in the files of a folder."""
    machine, layer, mapping = (str(home / file) for file in FILES[name])
    problem = a_problem(layer, machine)
    return problem, problem.find_mapping(mapping)


def strip_notes(home: Path) -> None:
    """Leave of the files what another tool would write back: their data."""
    for file in home.glob("*.yaml"):
        lines = file.read_text().splitlines(keepends=True)
        file.write_text("".join(line for line in lines if not line.startswith("#")))
