"""What no mapping is below, without a look at any: before a proof goes through what levels store."""

from __future__ import annotations

import math

from dse.core.objective import objective_named
from dse.domains.levels.machine import Level
from dse.domains.levels.problem import MachineProblem
from dse.domains.levels.workload import Tensor, Workload
from dse.models.timeloop.proof.terms import PJ, pj_a_word


def least_cycles(problem: MachineProblem) -> float:
    """Cycles that all MACs at work take, or the outermost level to move each word once that is of use."""
    machine, workload = problem.accelerator, problem.space.workload
    found = workload.macs / math.prod(level.fan_out for level in machine.levels)
    bandwidth = machine.levels[0].bandwidth
    moving = [one for one in workload.tensors if one.name not in _held(problem)]
    read = sum(_used(workload, one) * one.bits for one in moving if not one.output)
    written = sum(_used(workload, one) * one.bits for one in moving if one.output)
    moved = ((bandwidth.read, read), (bandwidth.write, written), (bandwidth.shared, read + written))
    return max(found, *(words / rate for rate, words in moved if rate is not None), 0.0)


def least_pj(problem: MachineProblem) -> float:
    """The energy of the MACs, of leaks, and of words: each that is of use passes all levels that keep its
    tensor in any case, and the innermost one that does hands down what MACs ask for, in all their steps.
    """
    machine, workload = problem.accelerator, problem.space.workload
    found = workload.macs * machine.mac_pj
    steps = workload.macs / math.prod(level.fan_out for level in machine.levels)
    found += steps * sum(level.leak_pj for level in machine.levels)
    for tensor in workload.tensors:
        if tensor.name not in _held(problem):
            found += _least_of_tensor(problem, tensor)
    return found


def least_loss(problem: MachineProblem) -> float:
    """What no mapping's loss is below, in the objective's unit."""
    seconds = least_cycles(problem) / float(problem.criteria.hertz)
    figures = {"energy": PJ * least_pj(problem), "latency": seconds}
    return objective_named(problem.objective).uncapped.total(figures)


def _held(problem: MachineProblem) -> set[str]:
    return {name for level in problem.accelerator.levels for name in level.holds}


def _least_of_tensor(problem: MachineProblem, tensor: Tensor) -> float:
    """An output is updated; of its words some need no reading. Others are read, and filled on the chip."""
    machine = problem.accelerator.even or problem.accelerator
    levels, used = machine.levels, _used(problem.space.workload, tensor)
    surely = [place for place, level in enumerate(levels) if tensor.name in level.keeps]
    if not surely:
        return 0.0
    found, innermost = 0.0, surely[-1]
    for place in surely:
        found += 0.0 if tensor.output or place == surely[0] else used * _pj(levels[place], tensor, "write")
        found += 0.0 if place == innermost else used * _out(levels[place], tensor)

    def handed(place: int) -> float:
        asked = problem.space.workload.macs / math.prod(level.fan_out for level in levels[place:])
        return max(asked, used) * _out(levels[place], tensor)

    inside = [
        used * _out(levels[innermost], tensor) + handed(place)
        for place in range(innermost + 1, len(levels))
        if _may_keep(levels[place], tensor)
    ]
    return found + min(handed(innermost), *inside, math.inf)


def _may_keep(level: Level, tensor: Tensor) -> bool:
    return level.may_keep is None or tensor.name in level.may_keep


def _out(level: Level, tensor: Tensor) -> float:
    """The least energy of a word that a level hands down, or takes in of an output."""
    return _pj(level, tensor, "update" if tensor.output else "read")


def _pj(level: Level, tensor: Tensor, kind: str) -> float:
    return pj_a_word(level, tensor.bits)[kind]


def _used(workload: Workload, tensor: Tensor) -> int:
    """Words of a tensor that MACs use, or fewer: along each axis one for each step of its longest dim."""
    return math.prod(
        max((workload.sizes[dim] for dim, factor in axis if factor), default=1) for axis in tensor.axes
    )
