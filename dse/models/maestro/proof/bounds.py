"""Proofs under MAESTRO: which problems can be proven, and the boxes that they are made of (`boxes`).

The rules of feasibility decide over tiles of any size: MAESTRO drops work at edges, and of what is below the
serial floor nothing counts. So the best mapping is often one whose dropped work just makes up for its
overhead, which is hard to come by: a search begins, and goes on beside the proof (`near`). With perfect
factors no work is dropped, and cycles are never below the floor.
"""

from __future__ import annotations

from math import prod

import numpy as np

from dse.core.objective import objective_named
from dse.domains.clustered.figures import environment_area
from dse.domains.clustered.problem import Problem
from dse.domains.clustered.space.genes import MAPPED_DIMS
from dse.domains.clustered.space.parts import SPACES
from dse.models.maestro.proof.boxes import MaestroBoxes
from dse.models.maestro.proof.records import BUFFERS
from dse.models.maestro.proof.spaces import WORK, SpaceBoxes, takes_parts
from dse.support.errors import InputError
from dse.support.jit import load_kernels

takes_space = takes_parts
GROUP = MaestroBoxes.kind
COUNTER, ENOUGH_L2 = 2**31, 9_900_000
"""MAESTRO counts steps in 32 bits. An outer tile of 2^31 steps needs more L2 than this.

A tile of k * c * y * x steps has at least c*y*x, k*c and k*y*x elements of the tensors. Their product is the
square of the steps, so their sum is at least three times its cube root; L2 holds twice that.
"""
LARGEST_COUNT, LARGEST_LANES = 2**62, 2**31 - 1


def refuse(problem: Problem) -> None:
    """InputError unless the optimum of the problem can be proven."""
    figures = objective_named(problem.objective).figures.keys()
    if not (figures <= WORK or figures <= BUFFERS):
        raise InputError(
            f"under cost model 'maestro' objective {problem.objective!r} cannot be certified; latency, "
            "energy and products of their powers such as 'edp' can, and area_maestro and power"
        )
    if problem.tiles == "any" and not figures <= WORK:
        raise InputError(
            f"of tiles 'any' objective {problem.objective!r} cannot be certified under cost model 'maestro': "
            "choose tiles 'factors'"
        )
    layer, machine = problem.space.layer, problem.accelerator
    steps = prod(layer.loops[dim] for dim in MAPPED_DIMS)
    # Without halos MAESTRO reports exact MACs, and a mapping with a count that wraps lacks some.
    if steps >= COUNTER and (layer.R * layer.S > 1 or machine.l2_size > ENOUGH_L2):
        raise InputError(
            f"layer {layer} has {steps:,} steps (K * C * Y * X in outputs), which MAESTRO counts in 32 bits; "
            f"from 2^31 on only 1x1 filters with an L2 of at most {ENOUGH_L2:,} elements can be certified"
        )
    if machine.simd_lanes > LARGEST_LANES:
        raise InputError(f"simd_lanes must be at most {LARGEST_LANES}, got {machine.simd_lanes}")
    elements = layer.K * layer.C * layer.Y * layer.X
    if (1 + machine.noc_latency) * 9**4 * (layer.R * layer.S) ** 2 * elements > LARGEST_COUNT:
        raise InputError(f"layer {layer} is too large to certify: its counts could leave 64 bits")


def make_boxes(problem: Problem) -> MaestroBoxes:
    """The problem's boxes, if it is not refused."""
    # None of the kernels is to be older than what it is made of.
    load_kernels("dse.models.maestro.proof.box", "dse.models.maestro")
    return MaestroBoxes(problem) if problem.parts == SPACES["default"] else SpaceBoxes(problem)


def least_area(problem: Problem) -> float:
    """The area of the fewest PEs with buffers for tiles of one output, which every mapping needs."""
    layer, machine = problem.layer, problem.accelerator
    # MAESTRO charges the halo to the output too. One of the filter's dims may be in pieces of one.
    pieces = [size for dim, size in (("R", layer.R), ("S", layer.S)) if dim in problem.parts.dims]
    need = 3 * 2 * layer.R * layer.S // max(pieces, default=1)
    pes, l1, l2 = np.array([[min(problem.parts.values_of("num_pes", machine))], [need], [1]])
    return float(environment_area(pes, l1, l2)[0])
