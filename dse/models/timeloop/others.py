"""What `dse bench cost` compares with: the plain reference, and Timeloop's executable, if one is named."""

from __future__ import annotations

import os
import subprocess
import tempfile
from functools import partial
from pathlib import Path

from dse.core.cost_model import Other
from dse.domains.levels.formats import export_levels
from dse.domains.levels.mapping import HierarchyMapping
from dse.domains.levels.problem import MachineProblem
from dse.domains.levels.space.batch import HierarchyBatch
from dse.domains.levels.space.chains import FACTORS
from dse.models.timeloop import reference
from dse.support.errors import InputError, shorten

VARIABLE = "DSE_TIMELOOP"
"""The environment variable that names the executable (`timeloop-model`), run as `PROGRAM FILE.yaml ...`."""
REFERENCE, PROGRAM = 20, 5
"""Mappings that each prices."""
SECONDS = 60.0


def others(problem: MachineProblem, designs: HierarchyBatch) -> dict[str, Other]:
    """See Others."""
    mappings = [designs[place] for place in range(min(REFERENCE, len(designs)))]
    found = {"reference": Other(len(mappings), partial(_refer, problem, mappings))}
    given = os.environ.get(VARIABLE)
    if given and problem.tiles == FACTORS:
        few = mappings[:PROGRAM]
        found["timeloop program"] = Other(len(few), partial(_run, os.path.abspath(given), problem, few))
    return found


def _refer(problem: MachineProblem, mappings: list[HierarchyMapping]) -> None:
    for mapping in mappings:
        reference.evaluate_mapping(problem.space.workload, problem.accelerator, mapping)


def _run(program: str, problem: MachineProblem, mappings: list[HierarchyMapping]) -> None:
    """Runs with the files that `dse export --format timeloop` writes. InputError where one fails."""
    with tempfile.TemporaryDirectory(prefix="dse-timeloop-") as scratch:
        for place, mapping in enumerate(mappings):
            folder = Path(scratch) / str(place)
            files, _ = export_levels("timeloop", problem, mapping, folder)
            read = [str(file) for file in files if file.suffix == ".yaml"]
            try:
                run = subprocess.run(
                    [program, *read], cwd=folder, capture_output=True, check=False, timeout=SECONDS
                )
            except (OSError, subprocess.TimeoutExpired) as error:
                raise InputError(f"{VARIABLE}={program!r} does not run: {error}") from None
            if run.returncode:
                said = shorten((run.stderr or run.stdout).decode(errors="replace").strip())
                raise InputError(f"{VARIABLE}={program!r} ended with code {run.returncode}: {said}")
