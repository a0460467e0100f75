"""Compiles the kernels once for all test processes, before they start: `python -m tests.warm_up`.

Numba keeps what it compiles on disk. Test processes that start together would each compile the same kernels;
here two processes share them out, and a second run takes seconds.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np

from dse.optimum import certify
from dse.problem.problem import Problem
from dse.search.api import search
from dse.search.run import make_ready
from dse.spec.accelerator import Accelerator
from dse.spec.layer import Layer

LAYER, ACCELERATOR = Layer("CONV", 4, 4, 4, 4, 3, 3), Accelerator(4, 64, 512, 4, 4)


def price(model: str) -> None:
    """Price a batch and look at neighbours: the kernels of the model, of constraints and of the space."""
    for tiles in ("factors", "any"):
        problem = Problem(LAYER, ACCELERATOR, "edp", model, tiles=tiles)
        make_ready(problem)
        problem.price(problem.space.sample(np.random.default_rng(0), 2000))


def maestro() -> None:
    """What uses `maestro`; the searcher's own kernels too."""
    price("maestro")
    certify(Problem(LAYER, ACCELERATOR, "edp", "maestro"), cache=False)
    search(Problem(LAYER, ACCELERATOR, "edp", "maestro"), "team", budget=64)


def loopnest() -> None:
    """What uses `loopnest`: the proof first, while the other process compiles the space."""
    certify(Problem(LAYER, ACCELERATOR, "edp", "loopnest"), cache=False)
    price("loopnest")


SHARES: tuple[Callable[[], None], ...] = (maestro, loopnest)


def main() -> None:
    """Run the shares side by side; what fails in one is raised."""
    with ProcessPoolExecutor(len(SHARES), mp_context=get_context("spawn")) as pool:
        for ended in [pool.submit(share) for share in SHARES]:
            ended.result()


if __name__ == "__main__":
    main()
