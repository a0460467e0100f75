"""How fast things are, measured on this machine."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from dse.cost import DEFAULT_COST_MODEL
from dse.problem.problem import Problem
from dse.spec.accelerator import Accelerator
from dse.spec.layer import Layer
from dse.spec.mapping import MappingBatch
from dse.support.arrays import IntArray
from dse.support.errors import InputError, shorten

BATCH, SINGLE_ROWS, REFERENCE_ROWS, PROGRAM_ROWS = 50_000, 200, 100, 10
REPEATS = 25
Row = dict[str, Any]

PROGRAM_VARIABLE = "DSE_MAESTRO"
"""The environment variable that names a MAESTRO executable to compare with."""


def cost(layer: Layer, accelerator: Accelerator, model: str = DEFAULT_COST_MODEL) -> dict[str, list[Row]]:
    """The pricing rates of `model` for random feasible mappings of one layer, with both kinds of tiles.

    `cost`: mappings a second in batches on one and on two threads. `one_row`: microseconds that
    Problem.price takes for a single point. `baselines`: milliseconds that other implementations take for
    one of the same mappings, and how many times faster the batches are. All are the best of several repeats.
    """
    report: dict[str, list[Row]] = {"cost": [], "one_row": [], "baselines": []}
    for tiles in ("factors", "any"):
        problem = Problem(layer, accelerator, cost_model=model, tiles=tiles)
        genes = feasible_points(problem, BATCH)
        batch = problem.space.decode(genes)
        rates = {threads: len(batch) / _batch_seconds(problem, batch, threads) for threads in (1, 2)}
        what = {"model": model, "tiles": tiles}
        for threads, rate in rates.items():
            report["cost"].append({**what, "threads": threads, "mappings_per_second": rate})
        report["one_row"].append({**what, "microseconds": _single_row_seconds(problem, genes) * 1e6})
        for name, seconds in _baselines(problem, batch).items():
            entry = {"name": name, "milliseconds": seconds * 1e3, "ratio": seconds * rates[1]}
            report["baselines"].append({**what, **entry})
    return report


def feasible_points(problem: Problem, count: int, seed: int = 0) -> IntArray:
    """`count` random points of the problem's space that are feasible: genes (count, 13)."""
    rng = np.random.default_rng(seed)
    found: list[IntArray] = []
    while sum(map(len, found)) < count:
        genes = problem.space.sample(rng, count)
        found.append(genes[problem.price(genes).reason == 0])
    return np.concatenate(found)[:count]


def best_seconds(work: Callable[[], object], repeats: int = REPEATS) -> float:
    """The shortest of `repeats` runs of `work`, after one that warms up."""
    work()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def _batch_seconds(problem: Problem, batch: MappingBatch, threads: int) -> float:
    layer, accelerator, model = problem.layer, problem.accelerator, problem.model
    return best_seconds(lambda: model.evaluate(layer, accelerator, batch, threads=threads))


def _single_row_seconds(problem: Problem, genes: IntArray) -> float:
    rows = [genes[index : index + 1] for index in range(SINGLE_ROWS)]

    def price_each() -> None:
        for row in rows:
            problem.price(row)

    return best_seconds(price_each) / SINGLE_ROWS


def _baselines(problem: Problem, batch: MappingBatch) -> dict[str, float]:
    """Seconds that other implementations of the problem's cost model take for one mapping."""
    if problem.model.name == "loopnest":
        return {"python reference": _loopnest_reference_seconds(problem, batch)}
    if problem.model.name != "maestro":
        return {}
    seconds = {"python reference": _reference_seconds(problem, batch)}
    program = os.environ.get(PROGRAM_VARIABLE)
    if program:
        seconds["maestro program"] = _program_seconds(program, problem, batch)
    return seconds


def _reference_seconds(problem: Problem, batch: MappingBatch) -> float:
    from dse.cost import maestro
    from dse.cost.maestro import reference

    layer = maestro.layer_row(problem.layer.lowered())[0]
    hardware = maestro.hardware_row(problem.accelerator)[0]
    rows = batch.rows[:REFERENCE_ROWS]

    def price_each() -> None:
        for row in rows:
            reference.price(layer, hardware, row)

    return best_seconds(price_each, repeats=2) / len(rows)


def _loopnest_reference_seconds(problem: Problem, batch: MappingBatch) -> float:
    from dse.cost.loopnest import reference

    mappings = [batch[index] for index in range(min(REFERENCE_ROWS, len(batch)))]

    def price_each() -> None:
        for mapping in mappings:
            reference.price(problem.layer, problem.accelerator, mapping)

    return best_seconds(price_each, repeats=1) / len(mappings)


def _program_seconds(program: str, problem: Problem, batch: MappingBatch) -> float:
    """Seconds of one run of the MAESTRO executable, one mapping a run, as searches call it."""
    from dse.cost.maestro.dataflow_text import maestro_text

    with tempfile.TemporaryDirectory() as folder:
        files = []
        for index in range(PROGRAM_ROWS):
            files.append(Path(folder) / f"mapping{index}.m")
            files[-1].write_text(maestro_text(problem.layer, batch[index]), encoding="utf-8")
        command = [os.path.abspath(program), *_program_options(problem)]

        def run_each() -> None:
            for file in files:
                _run_program([*command, f"--Mapping_file={file}"], folder)

        return best_seconds(run_each, repeats=2) / len(files)


def _program_options(problem: Problem) -> list[str]:
    hardware = problem.accelerator
    return [
        f"--num_pes={hardware.num_pes}",
        f"--noc_bw={hardware.noc_bandwidth}",
        "--noc_hops=1",
        f"--noc_hop_latency={hardware.noc_latency}",
        f"--offchip_bw={hardware.offchip_bandwidth}",
        f"--l1_size={hardware.l1_size}",
        f"--l2_size={hardware.l2_size}",
        "--noc_mc_support=true",
        "--print_res=false",
        "--print_res_csv_file=true",
    ]


def _run_program(command: list[str], folder: str) -> None:
    try:
        run = subprocess.run(command, cwd=folder, capture_output=True, check=False, timeout=60)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise InputError(f"{PROGRAM_VARIABLE}={command[0]!r} does not run: {error}") from None
    if run.returncode != 0:
        said = shorten((run.stderr or run.stdout).decode(errors="replace").strip())
        raise InputError(f"{PROGRAM_VARIABLE}={command[0]!r} ended with code {run.returncode}: {said}")
