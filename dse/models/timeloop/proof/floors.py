"""What no mapping is below, without a look at any: before a proof goes through what levels store."""

from __future__ import annotations

import math

from dse.core.objective import objective_named
from dse.core.roofline import compulsory_words
from dse.domains.levels.machine import EVEN, Level
from dse.domains.levels.problem import MachineProblem
from dse.domains.levels.uneven import with_nests
from dse.domains.levels.workload import Tensor
from dse.models.timeloop.proof.terms import PJ, pj_a_word


def least_cycles(problem: MachineProblem) -> float:
    """Cycles that all MACs at work take, or the outermost level to move each word once that is of use."""
    machine, workload = problem.accelerator, problem.space.workload
    found = workload.macs / math.prod(level.fan_out for level in machine.levels)
    bandwidth, moving = machine.levels[0].bandwidth, _moving(problem)
    read, written = (
        sum(used * one.bits for one, used in moving if one.output == output) for output in (False, True)
    )
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
    return found + sum(_least_of_tensor(problem, tensor, used) for tensor, used in _moving(problem))


def least_loss(problem: MachineProblem) -> float:
    """What no mapping's loss is below, in the objective's unit."""
    seconds = least_cycles(problem) / float(problem.criteria.hertz)
    figures = {"energy": PJ * least_pj(problem), "latency": seconds}
    return objective_named(problem.objective).uncapped.total(figures)


def _moving(problem: MachineProblem) -> list[tuple[Tensor, int]]:
    """The tensors that no level holds, with the words of each that are of use."""
    held = {name for level in problem.accelerator.levels for name in level.holds}
    words = dict(zip("WIO", compulsory_words(problem.layer), strict=True))
    return [(one, words[one.name]) for one in problem.space.workload.tensors if one.name not in held]


def _least_of_tensor(problem: MachineProblem, tensor: Tensor, used: int) -> float:
    """An output is updated; of its words some need no reading. Others are read, and filled on the chip."""
    # Not of `accelerator.even`, whose blocks are in words also where tensors and levels are in bits.
    levels = with_nests(problem.accelerator, EVEN).levels
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
