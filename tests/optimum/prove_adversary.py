"""Searches over tiles of any size on random layers of real sizes, beside the proofs; run by `make prove`."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
import pytest

import dse
from dse.core.certificate import INFEASIBLE, OPTIMAL, priced_mapping
from dse.core.layer import Layer
from dse.domains.clustered.accelerator import Accelerator
from dse.domains.clustered.problem import Problem
from dse.optimum import certify

OBJECTIVES = {
    "loopnest": ("latency", "energy", "edp", "energy * latency^2", "energy + 0.25 * latency"),
    "maestro": ("latency", "energy", "edp"),
}
SECONDS = 20.0
SEARCHES = {"local": 6000, "genetic": 6000, "team": 800}


def random_layer(rng: np.random.Generator) -> Layer:
    """Odd, prime and padded sizes among those of networks."""

    def one_of(*sizes: int) -> int:
        return int(rng.choice(sizes))

    kind = rng.random()
    if kind < 0.25:
        return Layer.gemm(
            one_of(1, 7, 49, 197, 128, 100), one_of(10, 64, 1000, 768, 513), one_of(37, 64, 768, 1280)
        )
    width = one_of(1, 1, 3, 3, 5, 7)
    size = max(width, one_of(5, 7, 13, 14, 17, 28, 56, 112))
    stride, padding = one_of(1, 1, 2), one_of(0, width // 2)
    if kind < 0.5:
        columns, channels = size + one_of(0, 0, 1, 3), one_of(16, 32, 96, 144, 67)
        moves: dict[str, Any] = {"stride": (stride, stride), "padding": (padding, padding)}
        return Layer("DSCONV", 1, channels, size, columns, width, width, **moves)
    moves = {"stride": (stride, one_of(1, stride)), "padding": (padding, 0)}
    filters, channels = one_of(16, 32, 64, 96, 128, 255), one_of(3, 16, 24, 64, 100)
    columns = max(width, size - one_of(0, 0, 2))
    return Layer("CONV", filters, channels, size, columns, width, one_of(1, width), **moves)


def random_machine(rng: np.random.Generator) -> Accelerator:
    """From 12 to 256 PEs, with buffers that few or all tiles fit in."""
    choices = (
        (12, 16, 64, 100, 168, 192, 256),
        (32, 64, 128, 256, 512),
        (2048, 8192, 32768, 65536, 100000),
        (1, 4, 16, 32),
        (1, 2, 4, 8, 16),
        (0, 1, 2, 5),
        (1, 1, 2, 4),
    )
    return Accelerator(*(int(rng.choice(one)) for one in choices))


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("model", [*OBJECTIVES])
def test_no_searcher_is_below_the_bound_nor_better_than_the_optimum(model: str, seed: int) -> None:
    rng = np.random.default_rng([11, seed])
    objective = OBJECTIVES[model][seed % len(OBJECTIVES[model])]
    problem = Problem(random_layer(rng), random_machine(rng), objective, model, tiles="any")
    proof = certify(problem, SECONDS, cache=False, now=time.process_time)
    best = proof.best.loss if proof.best else math.inf
    for name, budget in SEARCHES.items():
        found = dse.search(problem, name, budget=budget, seed=seed).best
        if found is None:
            continue
        assert proof.status != INFEASIBLE
        assert found.loss >= proof.lower_bound
        assert proof.status != OPTIMAL or found.loss >= best
    if proof.status == OPTIMAL and proof.best:
        assert best == proof.lower_bound == priced_mapping(problem, proof.best.mapping).loss
