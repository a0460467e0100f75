"""What no mapping is faster than, without a look at any: before a proof goes through what levels store."""

from __future__ import annotations

import math

from dse.domains.levels.problem import MachineProblem
from dse.domains.levels.workload import Tensor, Workload


def least_cycles(problem: MachineProblem) -> float:
    """Cycles that all MACs at work take, or the outermost level to move each word once that is of use."""
    machine, workload = problem.accelerator, problem.space.workload
    found = workload.macs / math.prod(level.fan_out for level in machine.levels)
    bandwidth = machine.levels[0].bandwidth
    held = {name for level in machine.levels for name in level.holds}
    moving = [one for one in workload.tensors if one.name not in held]
    read = sum(_used(workload, one) * one.bits for one in moving if not one.output)
    written = sum(_used(workload, one) * one.bits for one in moving if one.output)
    moved = ((bandwidth.read, read), (bandwidth.write, written), (bandwidth.shared, read + written))
    return max(found, *(words / rate for rate, words in moved if rate is not None), 0.0)


def _used(workload: Workload, tensor: Tensor) -> int:
    """Words of a tensor that MACs use, or fewer: along each axis one for each step of its longest dim."""
    return math.prod(
        max((workload.sizes[dim] for dim, factor in axis if factor), default=1) for axis in tensor.axes
    )
