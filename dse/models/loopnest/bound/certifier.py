"""What `loopnest` brings to proofs: which problems are proven, and their boxes."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from dse.core.objective import objective_named
from dse.core.reasons import Reason
from dse.domains.clustered.problem import Problem
from dse.models.loopnest.params import machine_params
from dse.models.loopnest.units import in_units, of_tensors
from dse.support.errors import InputError

if TYPE_CHECKING:
    from dse.models.loopnest import LoopNest
    from dse.models.loopnest.bound.boxes import LoopNestBoxes

MODEL = "loopnest"
GROUP = "tiles, cluster size and parallel dims"
FIGURES = "latency", "energy"
"""What products can be certified of: area is the machine's, and power is least for the slowest mapping."""


def refuse(problem: Problem) -> None:
    """InputError unless the optimum of the problem can be proven."""
    if not objective_named(problem.objective).figures.keys() <= set(FIGURES):
        raise InputError(
            f"under cost model {MODEL!r} only {' and '.join(FIGURES)}, and products of their powers such as "
            f"'edp', can be certified, got {problem.objective!r}"
        )
    # The model refuses every mapping of a layer whose counts could leave 64 bits.
    constants = cast("LoopNest", problem.model).constants
    known, _ = machine_params(problem.layer, problem.accelerator, constants)
    if known["reason"][0] == int(Reason.OUT_OF_RANGE):
        raise InputError(f"layer {problem.layer} is too large to certify: its counts could leave 64 bits")


def make_boxes(problem: Problem) -> LoopNestBoxes:
    """The problem as the engine sees it, if it is not refused."""
    from dse.models.loopnest.bound.boxes import LoopNestBoxes

    return LoopNestBoxes(problem)


def least_area(problem: Problem) -> float:
    """The area of one PE with buffers for tiles of one output, which every mapping needs."""
    layer = problem.layer
    # A window of inputs, its weights and the output, all of them twice.
    taps, machine = layer.R * layer.S, problem.accelerator
    of_input, of_weights, of_output = of_tensors(layer, machine)
    need = 2 * (taps * of_input + of_weights + of_output)
    constants = in_units(cast("LoopNest", problem.model).constants, machine)
    lanes = min(problem.parts.values_of("simd_lanes", problem.accelerator))
    return float(constants.area_of(1, lanes, need, need))
