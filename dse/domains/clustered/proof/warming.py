"""The first proof of a tiny problem: after it kernels are loaded, and once after an installation compiled.

Prices and spaces on one side, bounds on the other are compiled by two processes at the same time.
"""

from __future__ import annotations

import sys
from importlib import import_module
from math import inf

from dse.core.clock import Clock
from dse.core.layer import Layer
from dse.domains.clustered.accelerator import Accelerator
from dse.domains.clustered.problem import Problem
from dse.domains.clustered.proof.certifiers import certifier_of
from dse.domains.clustered.proof.descent import good_mapping
from dse.proof.proving import prove_optimum
from dse.support.compilations import compile_beside, compiled_before

WARM: set[tuple[str, str]] = set()
"""The cost models, with tiles, that have proven something in this process."""


def compile_proofs(model: str, tiles: str) -> None:
    """Prove a first optimum, once."""
    if (model, tiles) in WARM:
        return
    problem = tiny_problem(model, tiles)
    boxes = certifier_of(problem).make_boxes(problem)
    if not prices_are_compiled(problem):
        wait = compile_beside(__name__, model, tiles)
        boxes.bound(boxes.roots(), inf)
        wait()
    prove_optimum(problem, boxes, boxes.mapping_of, lambda: None, Clock(), threads=1)
    WARM.add((model, tiles))


def warm_early(problem: Problem) -> None:
    """Compile what proofs of such problems need, where no prices are compiled yet.

    Once they are, bounds have to be compiled alone.
    """
    if not prices_are_compiled(problem):
        compile_proofs(problem.model.name, problem.tiles)


def tiny_problem(model: str, tiles: str) -> Problem:
    """A problem whose proof takes no time."""
    return Problem(Layer.fc(2, 2), Accelerator(2, 32, 64, 2, 2), cost_model=model, tiles=tiles)


def prices_are_compiled(problem: Problem) -> bool:
    """Whether the cost model's price kernel is on disk, or there is none."""
    try:
        kernels = import_module(f"{type(problem.model).__module__}.kernel")
    except ImportError:
        return True
    return compiled_before(getattr(kernels, "price_rows", None))


if __name__ == "__main__":
    good_mapping(tiny_problem(*sys.argv[1:]))
