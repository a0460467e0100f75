"""The Timeloop executable, where an environment variable names one: how long it takes is compared with."""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

import numpy as np

from dse.bench.cost import feasible_points
from dse.core.layer import Layer
from dse.domains.clustered.accelerator import load_accelerator
from dse.domains.clustered.formats.registry import export
from dse.domains.clustered.models.outside.answers import Refusal
from dse.domains.clustered.models.outside.processes import find_program, run_once
from dse.domains.clustered.problem import Problem
from dse.support.errors import InputError

VARIABLE = "DSE_TIMELOOP"
"""The environment variable that names the executable (`timeloop-model`), run as `PROGRAM FILE.yaml ...`."""
ACCELERATOR, MAPPINGS, SECONDS = "edge", 5, 60.0


def seconds_each(layer: Layer) -> float | None:
    """Seconds that the program takes for a mapping of the layer onto `edge`, the best of several.

    Each is a run with the three files that `dse export --format timeloop` writes. None where no program is
    named; InputError where it does not run.
    """
    given = os.environ.get(VARIABLE)
    if not given:
        return None
    program = find_program(given, f"environment variable {VARIABLE}")
    problem = Problem(layer, load_accelerator(ACCELERATOR))
    batch = problem.space.decode(feasible_points(problem, MAPPINGS))
    times = []
    with tempfile.TemporaryDirectory(prefix="dse-timeloop-") as scratch:
        for index in range(len(batch)):
            folder = Path(scratch) / str(index)
            files = export("timeloop", layer, problem.accelerator, batch[index], folder)
            start = time.perf_counter()
            failed = run_once([program, *map(str, files)], folder, SECONDS)
            times.append(time.perf_counter() - start)
            if isinstance(failed, Refusal):
                raise InputError(f"{VARIABLE}={given!r} does not run: {failed}")
    return float(np.min(times))
