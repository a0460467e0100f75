"""Small problems of every cost model, looked at and proven: with the kernels as they are, compiled or not."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from dse.core.layer import Layer
from dse.domains.clustered.accelerator import Accelerator
from dse.domains.clustered.problem import Problem
from dse.domains.clustered.proof import solver
from dse.domains.levels.machine import TENSORS, Bandwidth, Level, Machine
from dse.domains.levels.problem import MachineProblem
from dse.models.timeloop.proof import boxes, search

LAYERS = (
    Layer("CONV", 2, 2, 4, 4, 3, 3),
    Layer("CONV", 2, 3, 7, 5, 3, 1, stride=(2, 1), padding=(1, 0)),
    Layer("DSCONV", 1, 4, 4, 4, 3, 3, padding=(1, 1)),
    Layer.gemm(4, 6, 4),
)
ACCELERATOR = Accelerator(4, 64, 512, 4, 4)
OPEN = (
    Level("DRAM", keeps=TENSORS, fan_out=2),
    Level("Store", capacity=40, keeps=("W", "I"), may_keep=("O",), bandwidth=Bandwidth(shared=1.0)),
    Level("PE", keeps=("W",)),
)


def begin_with_few_points(patch: pytest.MonkeyPatch, points: int = 64, steps: int = 10) -> None:
    """Proofs under `timeloop` begin with so many points as small spaces need, which are bounded as large ones
    are: they come to the same.
    """
    patch.setattr(boxes, "MAX_WHOLE", 0)
    patch.setattr(search, "FIRST_POINTS", points)
    patch.setattr(search, "STEPS_DOWN", steps)


def results() -> Iterator[str]:
    """A line for every problem: what some mappings cost, and of perfect factors the optimum."""
    for layer, objective in zip(LAYERS, ("edp", "latency", "energy", "edp"), strict=True):
        for model in ("loopnest", "maestro"):
            yield seen(Problem(layer, ACCELERATOR, "edp", model, tiles="any"))
            problem = Problem(layer, ACCELERATOR, objective, model)
            found = solver.solve_problem(problem, threads=1)
            yield f"{seen(problem)}: {found.status} {float(found.lower_bound)!r}"
    for layer, levels in ((Layer.gemm(2, 4, 2), OPEN), (Layer("CONV", 2, 1, 4, 1, 2, 1), OPEN[:2])):
        machine = MachineProblem(layer, Machine("open", levels, 1.0), "edp", "timeloop")
        found = search.solve(machine)
        yield f"{seen(machine)}: {found.status} {float(found.lower_bound)!r}"


def seen(problem: Problem) -> str:
    """What the mappings around some points cost in all."""
    rng, space = np.random.default_rng(0), problem.space
    points = space.sample(rng, 20)
    near = [points, space.neighbour(rng, points), space.canonical(points)]
    near += [block.neighbours(points[0]) for block in space.blocks]
    every = np.concatenate(near)
    space.features(points)
    losses = problem.price(every).loss
    return f"{problem.space.layer} {problem.tiles} {losses[np.isfinite(losses)].sum()!r}"
