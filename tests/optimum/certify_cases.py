"""Problems small enough to price every mapping of, and what that finds; real ones to draw mappings of."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np

from dse.core.evaluations import Evaluations
from dse.core.layer import Layer
from dse.core.objective import OBJECTIVES, objective_named
from dse.core.problem import AnyProblem
from dse.domains.clustered.accelerator import PRESETS, Accelerator
from dse.domains.clustered.problem import Problem
from dse.support.arrays import FloatArray
from workloads import load_layer

CHUNK = 1 << 18


@dataclass(frozen=True)
class Case:
    """A layer on a machine, some genes fixed."""

    name: str
    layer: Layer
    machine: Accelerator
    fixed: dict[str, Any] = field(default_factory=dict, hash=False)
    cost_model: str = "maestro"

    def problem(self, objective: str = "latency") -> Problem:
        """The problem under an objective."""
        return Problem(self.layer, self.machine, objective, self.cost_model, fixed=self.fixed)


SMALL = (
    # Odd bandwidths, buffers that bind, PEs that no size is a multiple of, and one that nothing fits on.
    # An order is fixed, which leaves a 24th of the mappings; `prove_certify.py` fixes none.
    Case(
        "convolution",
        Layer("CONV", 4, 1, 4, 4, 3, 3),
        Accelerator(3, 60, 150, 3, 1),
        {"outer.order": "KYCX"},
    ),
    Case(
        "pointwise",
        Layer("CONV", 6, 2, 1, 1, 1, 1),
        Accelerator(5, 12, 24, 2, 1, 1, 1),
        {"inner.order": "KCYX"},
    ),
    Case(
        "depthwise",
        Layer("DSCONV", 1, 4, 5, 3, 3, 2),
        Accelerator(3, 64, 120, 4, 2),
        {"outer.order": "CYXK"},
    ),
    Case("product", Layer.gemm(4, 2, 2), Accelerator(4, 12, 28, 3, 2, 0, 2), {"inner.order": "CKYX"}),
    Case(
        "slow-noc",
        Layer("CONV", 2, 3, 4, 3, 2, 1),
        Accelerator(2, 20, 60, 2, 1, 3, 1),
        {"outer.order": "YCKX"},
    ),
    Case(
        "two-lanes",
        Layer("CONV", 2, 1, 5, 4, 2, 2),
        Accelerator(3, 40, 60, 5, 2, 1, 2),
        {"inner.order": "XYKC"},
    ),
    Case(
        "more-tiles",
        Layer("CONV", 8, 4, 6, 5, 3, 2),
        Accelerator(12, 60, 300, 5, 2),
        {"inner.order": "KYXC", "outer.order": "YKCX", "outer.parallel": "X"},
    ),
    Case(
        "fixed-outer",
        Layer("DSCONV", 1, 12, 10, 5, 3, 3),
        Accelerator(9, 80, 400, 4, 1),
        {"outer.order": "XYCK", "outer.parallel": "K", "outer.tile.C": 4, "inner.tile.Y": 2},
    ),
    Case(
        "nothing-fits",
        Layer("CONV", 2, 2, 6, 5, 5, 5),
        Accelerator(2, 40, 4000, 4, 2),
        {"inner.order": "CYXK"},
    ),
)

LARGE = (
    Case("convolution", Layer("CONV", 4, 2, 4, 4, 3, 3), Accelerator(4, 64, 150, 3, 1)),
    Case("pointwise", Layer("CONV", 6, 4, 1, 4, 1, 1), Accelerator(5, 30, 40, 2, 1, 1, 1)),
    Case("depthwise", Layer("DSCONV", 1, 8, 6, 5, 3, 2), Accelerator(6, 64, 200, 4, 2)),
    Case("product", Layer.gemm(6, 4, 4), Accelerator(8, 20, 60, 3, 2, 0, 2)),
    Case("slow-noc", Layer("CONV", 2, 6, 4, 3, 2, 1), Accelerator(4, 40, 100, 2, 1, 3, 1)),
    Case("two-lanes", Layer("CONV", 3, 2, 7, 5, 2, 2), Accelerator(4, 64, 200, 5, 2, 1, 2)),
    Case(
        "more-tiles",
        Layer("CONV", 8, 4, 6, 5, 3, 2),
        Accelerator(12, 60, 300, 5, 2),
        {"inner.order": "KYXC", "inner.parallel": "C", "outer.parallel": "X"},
    ),
)

WHOLE = tuple(replace(case, fixed={}) for case in SMALL if case.name not in ("more-tiles", "fixed-outer"))

REAL = (
    ("vgg16:conv1_2", "eyeriss-small", "edp"),
    ("vgg16:conv4_2", "eyeriss", "latency"),
    ("vgg16:fc7", "edge", "energy"),
    ("resnet18:1", "tpu-like", "edp"),
    ("resnet18:5", "edge", "latency"),
    ("mobilenet_v2:1", "eyeriss-small", "latency"),
    ("mobilenet_v2:8", "edge", "edp"),
    ("mobilenet_v2:25", "eyeriss-small", "latency"),
    ("alexnet:conv3", "tpu-like", "latency"),
    ("gpt2_block:mlp.c_fc", "edge", "energy"),
)
FEW_REAL = REAL[::2]
"""`prove_certify.py` has them all."""


def real_problem(layer: str, accelerator: str, objective: str, cost_model: str = "maestro") -> Problem:
    """One of REAL."""
    return Problem(load_layer(layer), PRESETS[accelerator], objective, cost_model)


def odd_machine(accelerator: str) -> Accelerator:
    """A preset with a bandwidth that is no power of two, two lanes and a slow NoC."""
    return replace(PRESETS[accelerator], noc_bandwidth=13, simd_lanes=2, noc_latency=4)


def every_price(problem: AnyProblem) -> Iterator[Evaluations]:
    """The costs of every gene vector of the problem's space, in chunks."""
    space = problem.space
    for start in range(0, space.vectors, CHUNK):
        vectors = np.arange(start, min(start + CHUNK, space.vectors))
        yield problem.price(np.stack(np.unravel_index(vectors, space.sizes), axis=1))


PRODUCTS = ("energy * latency^2", "energy^0.3 * latency", "latency^0.5")
"""Products of powers that can be proven beside the objectives with a name."""
OF_WORK = ("latency", "energy", "edp", *PRODUCTS)
"""Objectives that can be proven under every model with proofs."""


def every_pair(problem: AnyProblem) -> tuple[FloatArray, FloatArray]:
    """The cycles and energies in nanojoule of every feasible mapping, each pair once."""
    return _every_pair(problem.with_changes(objective="edp"))


@cache
def _every_pair(problem: AnyProblem) -> tuple[FloatArray, FloatArray]:
    found = [
        np.stack([costs.cycles, costs.energy_nj])[:, costs.reason == 0] for costs in every_price(problem)
    ]
    cycles, energy = np.unique(np.concatenate(found, axis=1), axis=1)
    return cycles, energy


def brute_force(case: Case) -> dict[str, tuple[float, float]]:
    """By objective: the least loss of all mappings, and with it the least energy (for energy: cycles)."""
    objectives = (*OBJECTIVES, *PRODUCTS)
    best = dict.fromkeys(objectives, (math.inf, math.inf))
    for costs in every_price(case.problem()):
        feasible = costs.reason == 0
        if not feasible.any():
            continue
        for objective in objectives:
            losses = objective_named(objective).value(costs, case.machine.hertz)[feasible]
            beside = (costs.cycles if objective == "energy" else costs.energy_nj)[feasible]
            least = losses.min()
            best[objective] = min(best[objective], (float(least), float(beside[losses == least].min())))
    return best
