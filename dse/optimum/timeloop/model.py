"""A problem on a machine of levels as the bound reads it: chains of every dim, and figures of every level."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

import numpy as np

from dse.problem.machine_problem import MachineProblem
from dse.spec.hierarchy.workload import Workload
from dse.support.arrays import BoolArray, FloatArray, IntArray

UNLIMITED = 2**62
OBJECTIVES = ("latency", "energy", "edp")


class Model(NamedTuple):
    """What bounds need. `chains` (all chains, 3, levels + 1): of each, by level, the product of the temporal
    factors outside, of the spatial ones outside, and what is left; those of a dim are `first[dim]` on.

    `relevant` (tensors, dims) says what a loop moves; dims that leave the same tensors in place are one
    `group`, and `stays` (groups, tensors) says which. `pj` (levels, kinds) is the energy of a word.
    """

    chains: IntArray
    first: IntArray
    size: IntArray
    moves: IntArray
    axes: IntArray
    relevant: BoolArray
    group: IntArray
    stays: BoolArray
    output: int
    keep: BoolArray
    capacity: IntArray
    fan_out: IntArray
    least_wide: IntArray
    instances: FloatArray
    bandwidth: FloatArray
    pj: FloatArray
    leak: FloatArray
    mac_pj: float
    elided: bool
    least_steps: FloatArray
    most_wide: FloatArray
    least_cycles: float
    objective: int


def chain_factors(problem: MachineProblem) -> list[IntArray]:
    """Of every dim its chains: (chains, levels, 2), the temporal and the spatial factor of each level."""
    levels, found = len(problem.accelerator.levels), []
    for chain in problem.space.chains:
        rows: list[list[tuple[int, int, int]]] = [[]]
        ends = [chain.size]
        for slot, step in zip(chain.slots, chain.choices, strict=True):
            kind = 0 if slot.kind == "temporal" else 1
            grown = [
                ([*row, (slot.level, kind, above // below)], below)
                for row, above in zip(rows, ends, strict=True)
                for below in step.get(above, ())
            ]
            rows, ends = [row for row, _ in grown], [below for _, below in grown]
        factors = np.ones((len(rows), levels, 2), dtype=np.int64)
        for place, row in enumerate(rows):
            for level, kind, factor in row:
                factors[place, level, kind] = factor
        found.append(factors)
    return found


def bypasses(problem: MachineProblem) -> Iterator[BoolArray]:
    """What levels keep: (levels, tensors), once for every choice that is open."""
    names = problem.space.workload.tensor_names
    levels = problem.space.levels
    open_ = [(level.place, names.index(tensor)) for level in levels for tensor in level.open]
    for choice in product((False, True), repeat=len(open_)):
        keep = np.array([[name in level.keeps for name in names] for level in levels])
        for (place, tensor), kept in zip(open_, choice, strict=True):
            keep[place, tensor] = kept
        yield keep


def make_model(problem: MachineProblem, factors: list[IntArray], keep: BoolArray) -> Model:
    """The model of a problem under one choice of what is kept."""
    machine, shapes, moves = problem.accelerator, problem.space.shapes, _moves(problem.space.workload)
    levels = machine.levels
    outside = [
        np.cumprod(np.pad(dim, ((0, 0), (1, 0), (0, 0)), constant_values=1), axis=1) for dim in factors
    ]
    sizes = shapes.sizes
    chains = [
        np.stack([dim[..., 0], dim[..., 1], size // (dim[..., 0] * dim[..., 1])], axis=1)
        for dim, size in zip(outside, sizes, strict=True)
    ]
    unlimited = np.inf
    moved = np.logical_or.reduce(moves != 0, axis=2)
    left, group = np.unique(~moved.T, axis=0, return_inverse=True)
    bandwidths = [
        [unlimited if words is None else words for words in vars(level.bandwidth).values()]
        for level in levels
    ]
    energies = [[pj / level.block / level.cluster for pj in vars(level.energy).values()] for level in levels]
    return Model(
        chains=np.ascontiguousarray(np.concatenate(chains)),
        first=np.cumsum([0, *map(len, chains)]).astype(np.int64),
        size=sizes,
        moves=moves,
        axes=np.array([len(tensor.axes) for tensor in problem.space.workload.tensors], dtype=np.int64),
        relevant=moved,
        group=group.ravel().astype(np.int64),
        stays=np.ascontiguousarray(left),
        output=shapes.output,
        keep=np.ascontiguousarray(keep),
        capacity=np.array([UNLIMITED if level.capacity is None else level.capacity for level in levels]),
        fan_out=np.array([level.fan_out for level in levels]),
        least_wide=problem.space.least_spread,
        instances=np.array(machine.instances, dtype=np.float64),
        bandwidth=np.array(bandwidths, dtype=np.float64),
        pj=np.array(energies, dtype=np.float64),
        leak=np.array([level.leak_pj for level in levels], dtype=np.float64),
        mac_pj=problem.space.workload.macs * machine.mac_pj,
        elided=machine.first_fill == "elided",
        least_steps=np.array([dim[:, -1, 0].min() for dim in outside], dtype=np.float64),
        most_wide=np.array([dim[:, :, 1].max(axis=0) for dim in outside], dtype=np.float64),
        least_cycles=problem.space.workload.macs / machine.macs,
        objective=OBJECTIVES.index(problem.objective),
    )


def _moves(workload: Workload) -> IntArray:
    """Words of a step of each tensor along each dim: (tensors, dims, axes), 0 beyond the tensor's axes."""
    most = max(1, *(len(tensor.axes) for tensor in workload.tensors))
    moves = np.zeros((len(workload.tensors), len(workload.dims), most), dtype=np.int64)
    for place, tensor in enumerate(workload.tensors):
        for dim, name in enumerate(workload.names):
            coefficients = tensor.coefficients(name)
            moves[place, dim, : len(coefficients)] = coefficients
    return moves
