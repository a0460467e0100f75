"""A problem as the certifier's kernels read it, and which problems it refuses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

import numpy as np

from dse.core.chains import divisors
from dse.core.objective import objective_named
from dse.domains.clustered.problem import Problem
from dse.domains.clustered.proof.choices import (
    ORDER_TABLE,
    allowed_orders,
    cluster_sizes,
    counted,
    nestings,
    parallel_dims,
    refuse_too_many,
    tile_chains,
)
from dse.domains.clustered.space.genes import LEVELS, MAPPED_DIMS, ORDERS
from dse.models.maestro.proof import level
from dse.models.maestro.proof.inner import l1_need
from dse.support.arrays import FloatArray, IntArray
from dse.support.compiling import as_kernel
from dse.support.errors import InputError

COUNTER, ENOUGH_L2 = 2**31, 9_900_000
"""MAESTRO counts steps in 32 bits. An outer tile of 2^31 steps needs more L2 than this.

A tile of k * c * y * x steps has at least c*y*x, k*c and k*y*x elements of the tensors. Their product is the
square of the steps, so their sum is at least three times its cube root; L2 holds twice that.
"""
COLUMNS, BUFFER_COLUMNS = ("cycles", "energy_nj"), ("power", "area")
WORK, BUFFERS = {"latency", "energy"}, {"area_maestro", "power"}
"""Figures that depend on time and traffic alone, and those that depend on the needed buffers alone."""
LARGEST_COUNT, LARGEST_LANES = 2**62, 2**31 - 1

AFTER_TABLE = np.array(
    [[sum(1 << dim for dim in order[place + 1 :]) for place in range(4)] for order in ORDER_TABLE.tolist()],
    dtype=np.int64,
)
"""The sets of the dims inside each loop, one bit a dim: (24, 4)."""


@dataclass(frozen=True)
class Instance:
    """The arrays that the kernels take.

    `params` are the layer's and the machine's figures (see `level`), `terms` the objective's. By
    level, outer first: `parallels` (2, 4) says which dims may be parallel, `choices` (2, 16, 4, 25) how many
    orders differ and which, by moving loops and parallel dim. `fixed_inner` (4) are fixed inner tiles, 0
    where free. `outer_tiles` and `divisors` (4, n) hold how many outer tiles and divisors each dim has, then
    which. `clusters` are the cluster sizes.
    """

    params: IntArray
    hertz: float
    terms: FloatArray
    parallels: IntArray
    choices: IntArray
    fixed_inner: IntArray
    outer_tiles: IntArray
    divisors: IntArray
    clusters: IntArray

    @property
    def outer_level(self) -> tuple[Any, ...]:
        """What `group_loss` takes of it, in its order."""
        return (
            self.params,
            self.hertz,
            self.terms,
            self.parallels[0],
            self.choices[0],
            ORDER_TABLE,
            AFTER_TABLE,
        )

    @property
    def outer(self) -> tuple[Any, ...]:
        """What `bound_groups` takes of it, in its order."""
        inner = self.parallels[1], self.fixed_inner, self.outer_tiles, self.clusters
        return (
            self.params,
            self.hertz,
            self.terms,
            self.parallels[0],
            *inner,
            self.choices[0],
            ORDER_TABLE,
            AFTER_TABLE,
        )

    @property
    def inner(self) -> tuple[Any, ...]:
        """What `solve_inner` takes of it, in its order."""
        tiles = self.divisors, self.fixed_inner
        return self.params, self.parallels[1], *tiles, self.choices[1], ORDER_TABLE, AFTER_TABLE

    @property
    def groups(self) -> int:
        """How many choices of outer tiles and cluster size there are."""
        return len(self.clusters) * int(np.prod(self.outer_tiles[:, 0]))


def make_instance(problem: Problem) -> Instance:
    """The arrays of a problem that is not refused."""
    chains = tile_chains(problem)
    # Area and power are least with the smallest inner tiles, whatever the cycles.
    free = int(_of_buffers(problem))
    fixed_inner = np.array([chain.inner or free for chain in chains], dtype=np.int64)
    parallels = np.zeros((len(LEVELS), len(MAPPED_DIMS)), dtype=bool)
    for row, dims in zip(parallels, parallel_dims(problem), strict=True):
        row[dims] = True
    return Instance(
        params=params_of(problem, fixed_inner),
        hertz=problem.accelerator.hertz,
        terms=objective_named(problem.objective).rows(BUFFER_COLUMNS if free else COLUMNS),
        parallels=parallels,
        choices=np.array([distinct_orders(allowed) for allowed in allowed_orders(problem)]),
        fixed_inner=fixed_inner,
        outer_tiles=counted([chain.outer_choices for chain in chains]),
        divisors=counted([divisors(chain.size) for chain in chains]),
        clusters=cluster_sizes(problem),
    )


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
    if problem.tiles == "factors":
        refuse_too_many(problem)
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


def _of_buffers(problem: Problem) -> bool:
    """Whether the objective depends on the needed buffers alone."""
    return objective_named(problem.objective).figures.keys() <= BUFFERS


def distinct_orders(allowed: Sequence[int], *, best: bool = True) -> IntArray:
    """One order for each class of orders that cost the same or more: (16, 4, 25), by what moves.

    Entry [moves, parallel] holds how many there are and which (positions in ORDERS). A loop that does not
    move may stand anywhere, except the parallel one: data is reused best where it is innermost, and unless
    `best` is False it stands there. `allowed` are the positions to choose from.
    """
    table = np.zeros((16, 4, len(ORDERS) + 1), dtype=np.int64)
    for moves, parallel in product(range(16), range(4)):
        found = nestings(allowed, [dim for dim in range(4) if moves >> dim & 1 or dim == parallel])
        if best and not moves >> parallel & 1:
            found = {key: order for key, order in found.items() if key[-1] == parallel} or found
        table[moves, parallel, 0] = len(found)
        table[moves, parallel, 1 : 1 + len(found)] = sorted(found.values())
    return table


def params_of(problem: Problem, fixed_inner: IntArray) -> IntArray:
    """The layer's and the machine's figures (see `level`), with the need of the smallest inner tiles."""
    layer, machine = problem.space.layer, problem.accelerator
    params = np.zeros(level.PARAMS, dtype=np.int64)
    depthwise, bandwidth = layer.type == "DSCONV", machine.noc_bandwidth
    params[level.DEPTHWISE] = depthwise
    params[level.FILTER] = layer.R * layer.S
    params[level.HALO_Y], params[level.HALO_X] = layer.R - 1, layer.S - 1
    params[level.PES] = machine.num_pes
    params[level.BANDWIDTH] = bandwidth
    params[level.SHIFT] = bandwidth.bit_length() - 1 if bandwidth & (bandwidth - 1) == 0 else -1
    params[level.OFFCHIP] = machine.offchip_bandwidth
    params[level.LATENCY] = machine.noc_latency
    params[level.LANES] = machine.simd_lanes
    params[level.L1], params[level.L2] = problem.use.room
    params[level.MOST_STEPS] = problem.use.most_steps
    params[level.INPUTS] = layer.C * layer.Y * layer.X
    params[level.WEIGHTS] = layer.K * layer.C * layer.R * layer.S
    params[level.OF_BUFFERS], params[level.TIES_BY_CYCLES] = (
        _of_buffers(problem),
        objective_named(problem.objective).of_energy_alone,
    )
    params[level.SIZES : level.PARAMS] = [layer.loops[dim] for dim in MAPPED_DIMS]
    params[level.SMALLEST_L1] = as_kernel(l1_need)(np.maximum(fixed_inner, 1), params)
    return params
