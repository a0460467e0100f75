"""Compiles once for all test processes, before they start: `python -m tests.warm_up`.

Numba keeps the kernels that it compiles on disk, and Python the bytecode of the modules that it imports. Test
processes that start together would each compile the same ones. Here libraries are imported first, by one
process, then two compile the kernels share by share, and one collects the tests. Where no file has changed
since, there is nothing to do.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from importlib import import_module
from importlib.metadata import version
from multiprocessing import get_context
from pathlib import Path

import numpy as np
from llvmlite.binding import get_host_cpu_name

from dse.analysis.stats.bootstrap import interquartile_curve
from dse.core.layer import Layer
from dse.domains.clustered.accelerator import Accelerator
from dse.domains.clustered.cost_model import cost_columns
from dse.domains.clustered.mapping import Level, Mapping, MappingBatch
from dse.domains.clustered.problem import Problem
from dse.domains.levels.problem import MachineProblem
from dse.models.maestro import hardware_row, layer_row
from dse.models.maestro.kernel import LEFT
from dse.models.timeloop.presets import load_machine
from dse.optimum import certify
from dse.search.api import search
from dse.search.run import make_ready
from dse.support.jit import load_kernels
from tests import ROOT
from tests.import_graph import CODE as PACKAGES

LAYER, ACCELERATOR = Layer("CONV", 4, 4, 4, 4, 3, 3), Accelerator(4, 64, 512, 4, 4)

CODE = (*PACKAGES, "tests")
DONE = Path(__file__).parent / "__pycache__" / "warm_up.done"
"""Holds the state that was compiled last; it goes when the caches go."""


def price(model: str) -> None:
    """Price a batch and look at neighbours: the kernels of the model, of constraints and of the space."""
    for tiles in ("factors", "any"):
        problem = Problem(LAYER, ACCELERATOR, "edp", model, tiles=tiles)
        make_ready(problem)
        problem.price(problem.space.sample(np.random.default_rng(0), 2000))


def maestro() -> None:
    """What uses `maestro`; the searcher's own kernels too."""
    price("maestro")
    for tiles in ("factors", "any"):
        certify(Problem(LAYER, ACCELERATOR, "edp", "maestro", tiles=tiles), cache=False)
    search(Problem(LAYER, ACCELERATOR, "edp", "maestro"), "team", budget=64)


def complete() -> None:
    """The walk that `maestro` takes for layers with a stride and the like: it is long."""
    layers, hardware = layer_row(replace(LAYER, stride=(2, 2))), hardware_row(ACCELERATOR)
    level = Level("K", tuple("KCYXRS"), (1, 1, 1, 1, 3, 3))
    rows = MappingBatch.of([Mapping(level, 1, level)]).rows
    costs = cost_columns(1)
    costs.reason[:] = LEFT
    load_kernels("dse.models.maestro.kernel").price_left(layers, hardware, rows, True, (0, 1), costs)
    assert costs.reason[0] != LEFT


def loopnest() -> None:
    """What uses `loopnest`: the proofs first, while the other process compiles the space; means."""
    for tiles in ("factors", "any"):
        certify(Problem(LAYER, ACCELERATOR, "edp", "loopnest", tiles=tiles), cache=False)
    price("loopnest")
    interquartile_curve(np.ones((1, 1)), np.ones((1, 1), np.int32))


def machines() -> None:
    """What uses `timeloop`: the space of its machines, their prices, a proof."""
    problem = MachineProblem(LAYER, load_machine("gemmini"), "edp", "timeloop")
    make_ready(problem)
    genes = problem.space.canonical(problem.space.sample(np.random.default_rng(0), 100))
    problem.space.keep_inside(genes, genes, np.zeros(len(genes), np.int64))
    problem.space.features(genes)
    certify(problem, cache=False)
    # Tiles that do not divide have a price and bounds of their own.
    certify(
        MachineProblem(Layer.gemm(3, 2, 1), load_machine("gemmini"), "edp", "timeloop", "any"), cache=False
    )


SHARES: tuple[Callable[[], None], ...] = (machines, maestro, loopnest, complete)


def state() -> str:
    """What was compiled, and for what: every file of Python, this installation, the CPU."""
    about = [sys.version, sys.prefix, version("numba"), get_host_cpu_name()]
    stamps = [Path(sys.prefix) / ".installed", *(path for top in CODE for path in (ROOT / top).rglob("*.py"))]
    for path in sorted(path for path in stamps if path.exists()):
        about.append(f"{path} {path.stat().st_mtime_ns} {path.stat().st_size}")
    return hashlib.sha256("\n".join(about).encode()).hexdigest()


def main() -> None:
    """Run the shares, two at a time; what fails in one is raised."""
    now = state()
    if DONE.exists() and DONE.read_text() == now:
        return
    import_module("tests.faults.libraries")
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        for ended in [pool.submit(share) for share in SHARES]:
            ended.result()
    # What fails to be imported shows when the tests are run.
    collect = [sys.executable, "-m", "pytest", "--collect-only", "-p", "no:xdist"]
    subprocess.run(collect, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    DONE.parent.mkdir(exist_ok=True)
    DONE.write_text(now)


if __name__ == "__main__":
    main()
