"""The first proof of a tiny problem: after it kernels are loaded, and once after an installation compiled.

Prices and moves on one side, rows of vectors and bounds on the other are compiled by two processes at the
same time.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, cached_property
from importlib import import_module

import numpy as np

from dse.core.certificate import Incumbent
from dse.core.clock import Clock
from dse.core.figures import CostBatch
from dse.core.layer import Layer
from dse.domains.levels.cost_model import PriceRows
from dse.domains.levels.layout import RowArray
from dse.domains.levels.machine import TENSORS, Bandwidth, Level, Machine
from dse.domains.levels.problem import MachineProblem
from dse.models.timeloop.proof.boxes import LevelBoxes
from dse.proof.proving import prove_optimum
from dse.support.compilations import compile_beside, compiled_before

Begin = Callable[[MachineProblem, Clock], Incumbent | None]
OBJECTIVES = "edp", "latency", "energy where latency <= 1"
"""Each has kernels of its own."""


@cache
def warm(begin: Begin) -> None:
    """Prove a first optimum, which `begin` finds a mapping for: every proof after it finds its kernels."""
    if not is_compiled():
        wait, tiny = compile_beside(__name__), tiny_problem(MachineProblem, "edp")
        # A row that no vector had to be made into: the other process compiles that meanwhile.
        tiny.price_rows(np.ones((1, tiny.space.layout.columns), np.int32))
        begin(tiny, Clock())
        wait()
    for objective in OBJECTIVES:
        prove_tiny(tiny_problem(MachineProblem, objective), begin)


def is_compiled() -> bool:
    """Whether prices or bounds are on disk: if so, two processes are no faster than one."""
    prices = import_module("dse.models.timeloop.kernel").price_rows
    bounds = import_module("dse.models.timeloop.proof.relaxation").relax
    return compiled_before(prices) or compiled_before(bounds)


def tiny_problem(kind: type[MachineProblem], objective: str) -> MachineProblem:
    """A problem whose proof takes no time."""
    link = Bandwidth(shared=1)
    levels = (
        Level("DRAM", keeps=TENSORS, fan_out=2, bandwidth=link),
        Level("Store", capacity=8, keeps=("O",)),
    )
    return kind(Layer.fc(2, 2), Machine("warm", levels, 1.0), objective, "timeloop")


def prove_tiny(problem: MachineProblem, begin: Begin) -> None:
    """Prove it by bounds, though there are few mappings."""
    boxes = LevelBoxes(problem, may_be_small=False)
    prove_optimum(problem, boxes, boxes.mapping_of, lambda: begin(problem, Clock()), Clock())


class UnpricedProblem(MachineProblem):
    """A problem whose mappings all cost the same, and much: its proof compiles bounds, and no prices."""

    @cached_property
    def _price_machine(self) -> PriceRows:
        def price(rows: RowArray, threads: int = 1) -> CostBatch:
            costs = CostBatch.zeros(len(rows))
            costs.cycles[:], costs.energy_nj[:], costs.macs[:] = 10**6, 1e6, self.layer.macs
            costs.valid[:] = True
            return costs

        return price


if __name__ == "__main__":
    tiny = tiny_problem(UnpricedProblem, OBJECTIVES[0])
    tiny.price(np.zeros((1, len(tiny.space.sizes)), np.int64))
    for objective in OBJECTIVES:
        prove_tiny(tiny_problem(UnpricedProblem, objective), lambda problem, clock: None)
