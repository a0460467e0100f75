"""The problems that searchers are checked on: real layers, small spaces, and made-up landscapes."""

from __future__ import annotations

from dataclasses import replace
from math import prod

import numpy as np

from dse.core.figures import CostBatch
from dse.core.layer import DIMS, Layer
from dse.core.reasons import Reason
from dse.domains.clustered.accelerator import PRESETS, Accelerator
from dse.domains.clustered.cost_model import CostModel
from dse.domains.clustered.mapping import (
    CLUSTER,
    INNER_PARALLEL,
    INNER_TILE,
    OUTER_PARALLEL,
    OUTER_TILE,
    MappingBatch,
)
from dse.domains.clustered.problem import Problem
from dse.support.arrays import CodeArray, FloatArray, IntArray
from dse.testing.toy_problem import ToyProblem

RESNET = Layer("CONV", 128, 128, 28, 28, 3, 3, padding=(1, 1))
"""The 3x3 convolutions of the second stage of ResNet-18 (He et al., CVPR 2016)."""
DEPTHWISE = Layer("DSCONV", 1, 96, 28, 28, 3, 3, padding=(1, 1))
MODEL = "maestro"
"""Under which every objective differs from mapping to mapping, area and power too."""
CLASSIFIER = Layer.fc(1000, 512)
"""The classifier of ResNet-18: one row and one column, so that its tiles of Y and X have one choice."""


def convolution() -> Problem:
    """A real layer on a tight accelerator: what most rules are checked on."""
    return Problem(RESNET, PRESETS["eyeriss-small"], "edp", MODEL)


def any_tiles() -> Problem:
    """The same layer with tiles of any size, whose genes have more choices."""
    return Problem(RESNET, PRESETS["edge"], "latency", MODEL, tiles="any")


def depthwise() -> Problem:
    """A depthwise layer: it has no filters to tile, so that two genes have one choice."""
    return Problem(DEPTHWISE, PRESETS["edge"], "area", MODEL)


def one_choice() -> Problem:
    """A large space in which eight genes have one choice."""
    fixed = {"outer.parallel": "K", "inner.order": "KCYX", "inner.tile.C": 1, "cluster": 8}
    return Problem(CLASSIFIER, PRESETS["edge"], "energy", MODEL, fixed=fixed)


def small() -> Problem:
    """A space of 16 points."""
    return Problem(
        RESNET, PRESETS["edge"], "latency", MODEL, fixed=_all_but("outer.parallel", "inner.parallel")
    )


def single() -> Problem:
    """A space of one point."""
    return Problem(RESNET, PRESETS["edge"], "latency", MODEL, fixed=_all_but())


def infeasible() -> Problem:
    """A real layer whose every mapping needs more L1 than there is."""
    return Problem(RESNET, replace(PRESETS["edge"], l1_size=1, l2_size=1), "edp", MODEL)


def refused() -> Problem:
    """A real layer whose every mapping the cost model refuses: no figure differs from another."""
    return Problem(RESNET, PRESETS["edge"], "latency", cost_model=Refusing())


def crates() -> ToyProblem:
    """A space that has nothing to do with mappings."""
    return ToyProblem()


def planted() -> Problem:
    """A landscape that falls from everywhere, gene by gene, to the mapping in the middle of the space."""
    plain = Problem(RESNET, PRESETS["edge"], "latency", MODEL)
    best = plain.space.decode((plain.space.sizes // 2)[np.newaxis]).rows[0]
    return Problem(RESNET, PRESETS["edge"], "latency", cost_model=Planted(best))


class Refusing(CostModel):
    """A cost model that accepts no mapping."""

    name = "refusing"

    def evaluate(
        self, layer: Layer, accelerator: Accelerator, mappings: MappingBatch, *, threads: int = 1
    ) -> CostBatch:
        """No costs, and a reason."""
        nothing = np.zeros(len(mappings), np.int64)
        reasons = np.full(len(mappings), int(Reason.NO_WORK), np.uint8)
        return _costs(nothing, nothing, reasons)


class Planted(CostModel):
    """A cost model whose cycles grow with the distance from the mapping `best`, a row of a MappingBatch."""

    name = "planted"

    def __init__(self, best: IntArray) -> None:
        self.best = best

    def evaluate(
        self, layer: Layer, accelerator: Accelerator, mappings: MappingBatch, *, threads: int = 1
    ) -> CostBatch:
        """Cycles of one PE, times one plus the distance: nothing is infeasible."""
        work = prod(layer.loops[dim] for dim in DIMS)
        cycles = (work * (1 + self.distances(mappings.rows))).astype(np.int64)
        return _costs(cycles, np.full(len(mappings), work), np.zeros(len(mappings), np.uint8))

    def distances(self, rows: IntArray) -> FloatArray:
        """Doublings of tiles and of the cluster, other parallel dims, and half the loops out of place."""
        best = self.best
        sizes = [CLUSTER, *range(OUTER_TILE, OUTER_TILE + 6), *range(INNER_TILE, INNER_TILE + 6)]
        doublings = np.abs(np.log2(rows[:, sizes] / best[sizes])).sum(axis=1)
        parallels = rows[:, [OUTER_PARALLEL, INNER_PARALLEL]] != best[[OUTER_PARALLEL, INNER_PARALLEL]]
        loops = [*range(OUTER_PARALLEL + 1, OUTER_TILE), *range(INNER_PARALLEL + 1, INNER_TILE)]
        moved = rows[:, loops] != best[loops]
        distances: FloatArray = doublings + parallels.sum(axis=1) + moved.sum(axis=1) / 2
        return distances


MODELS = (Refusing, Planted, ToyProblem)
"""What prices points here beside the cost models: rows that reach them are counted too."""


def _costs(cycles: IntArray, macs: IntArray, reasons: CodeArray) -> CostBatch:
    """Costs that say the same by every figure; buffers of one element do."""
    figures = cycles.astype(np.float64)
    ones = np.minimum(cycles, 1)
    return CostBatch(cycles, figures, figures, figures, ones, ones, macs, reasons == 0, reasons)


def _all_but(*free: str) -> dict[str, int | str]:
    """Values for every gene but those in `free`, for RESNET on `edge`."""
    values: dict[str, int | str] = {"outer.order": "KCYX", "outer.parallel": "K"}
    values |= {f"outer.tile.{dim}": size for dim, size in (("K", 16), ("C", 8), ("Y", 4), ("X", 4))}
    values |= {"inner.order": "KCYX", "inner.parallel": "C", "cluster": 16}
    values |= {f"inner.tile.{dim}": 1 for dim in "KCYX"}
    return {name: values[name] for name in values if name not in free}
