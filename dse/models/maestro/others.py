"""What `dse bench cost` compares with: the plain reference, and MAESTRO's executable, if one is named."""

from __future__ import annotations

import os
from functools import partial

from dse.core.cost_model import Other
from dse.domains.clustered.mapping import Mapping, MappingBatch
from dse.domains.clustered.problem import Problem
from dse.models.maestro import hardware_row, layer_row, reference
from dse.models.maestro.executable import VARIABLE, ExecutableSettings, MaestroExecutable
from dse.models.outside.answers import Refusal
from dse.support.arrays import IntArray
from dse.support.errors import InputError

REFERENCE, PROGRAM = 100, 10
"""Mappings that each prices."""


def others(problem: Problem, designs: MappingBatch) -> dict[str, Other]:
    """See Others."""
    count = min(REFERENCE, len(designs))
    found = {"python reference": Other(count, partial(_refer, problem, designs.rows[:count]))}
    if os.environ.get(VARIABLE):
        mappings = [designs[place] for place in range(min(PROGRAM, len(designs)))]
        found["maestro program"] = Other(len(mappings), partial(_run, problem, mappings))
    return found


def _refer(problem: Problem, rows: IntArray) -> None:
    layer, hardware = layer_row(problem.layer.lowered())[0], hardware_row(problem.accelerator)[0]
    for row in rows:
        reference.price_by_walk(layer, hardware, row)


def _run(problem: Problem, mappings: list[Mapping]) -> None:
    """InputError where the program does not run."""
    program = MaestroExecutable(ExecutableSettings(processes=1))
    for _, answer in program.answers(problem.layer, problem.accelerator, mappings):
        if isinstance(answer, Refusal):
            raise InputError(f"{VARIABLE}={os.environ[VARIABLE]!r} does not run: {answer}")
