"""What the kernel knows of a workload on a machine: four arrays, and the names of their columns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dse.domains.levels.machine import FIRST_FILLS, RETURNED, Machine
from dse.domains.levels.workload import Workload
from dse.support.arrays import FloatArray, IntArray
from dse.support.errors import InputError, unknown

# Of the layer as a whole; the dims' sizes follow.
AXES, OUTPUT, OUTPUT_DIMS, FIRST_FILL, TABLE, SIZES = range(6)
# Of a level.
CAPACITY, FAN_OUT, BLOCK, SHIFT, SPREAD, REQUIRED, ALLOWED, MULTICAST, REDUCTION, HELD, LEVEL_COLUMNS = range(
    11
)
# Of a level, in floats.
READ_BANDWIDTH, WRITE_BANDWIDTH, SHARED_BANDWIDTH = 0, 1, 2
READ_PJ, WRITE_PJ, UPDATE_PJ, LEAK_PJ, ROWS, RATE_COLUMNS = range(3, 9)

UNLIMITED = 2**62
MAX_DIMS = 62
MAX_COUNTED = 2**20
"""Children of one instance up to which data that several loops of one axis move can be told apart."""


@dataclass(frozen=True)
class Tables:
    """`layer` (6 + dims), `moves` (tensors, dims, reach, 2), `levels` and `rates` (levels, columns).

    `moves` says which axes a dim moves and by how many words a step; axes are numbered through all tensors,
    and entries that move nothing are of an axis of their own, the last. `bits` (tensors) is what a word takes
    of what levels count. The last row of `rates` holds the energy of all MACs. Sets of dims or tensors are
    masks.
    """

    layer: IntArray
    moves: IntArray
    axes: IntArray
    bits: IntArray
    levels: IntArray
    rates: FloatArray


def tables(workload: Workload, machine: Machine) -> Tables:
    """The tables of `workload` on `machine`; InputError where one does not suit the other."""
    if max(len(workload.dims), len(workload.tensors)) > MAX_DIMS:
        raise InputError(f"layer: more than {MAX_DIMS} dims or tensors")
    starts = np.cumsum([0, *(len(tensor.axes) for tensor in workload.tensors)])
    moves = _moves(workload, starts.tolist())
    return Tables(
        _layer(workload, machine, moves),
        moves,
        starts.astype(np.int64),
        np.array([tensor.bits for tensor in workload.tensors], dtype=np.int64),
        np.array([_level(workload, machine, place) for place in range(len(machine.levels))], dtype=np.int64),
        _rates(workload, machine),
    )


def _moves(workload: Workload, starts: list[int]) -> IntArray:
    """`Tables.moves`; `starts` are the numbers of each tensor's first axis, and how many axes there are."""
    found = {
        (t, d): [(starts[t] + a, factor) for a, factor in enumerate(tensor.coefficients(dim)) if factor]
        for t, tensor in enumerate(workload.tensors)
        for d, dim in enumerate(workload.names)
    }
    reach = max(1, *map(len, found.values()))
    moves = np.zeros((len(workload.tensors), len(workload.dims), reach, 2), dtype=np.int64)
    moves[..., 0] = starts[-1]
    for (t, d), axes in found.items():
        for place, pair in enumerate(axes):
            moves[t, d, place] = pair
    return moves


def _layer(workload: Workload, machine: Machine, moves: IntArray) -> IntArray:
    output = next(place for place, tensor in enumerate(workload.tensors) if tensor.output)
    output_dims = _mask(np.flatnonzero(moves[output, :, :, 1].any(axis=1)).tolist())
    crowded = any(len(axis) > 2 for tensor in workload.tensors for axis in tensor.axes)
    places = 0
    if crowded or moves.shape[2] > 1:
        most = min(max(level.fan_out for level in machine.levels), workload.macs)
        if most > MAX_COUNTED:
            raise InputError(
                f"layer: axes of three dims or more need fan-outs of at most {MAX_COUNTED}, got {most}"
            )
        places = 1 << (2 * most).bit_length()
    sizes = workload.sizes.values()
    axes = sum(len(tensor.axes) for tensor in workload.tensors)
    first = (*FIRST_FILLS, RETURNED).index(machine.first_fill)
    return np.array([axes, output, output_dims, first, places, *sizes], dtype=np.int64)


def _level(workload: Workload, machine: Machine, place: int) -> list[int]:
    level = machine.levels[place]
    tensors, dims = workload.tensor_names, workload.names
    for name in (*level.keeps, *(level.may_keep or ()), *level.holds):
        if name not in tensors:
            raise unknown("tensor", name, tensors, f"level {level.name}, for this layer")
    must, may = machine.must_keep(place, tensors), machine.may_keep(place, tensors)
    spread = dims if level.spread is None else level.spread
    power_of_two = level.block & (level.block - 1) == 0
    return [
        UNLIMITED if level.capacity is None else level.capacity,
        level.fan_out,
        level.block,
        level.block.bit_length() - 1 if power_of_two else -1,
        _mask([place for place, dim in enumerate(dims) if dim in spread]),
        _mask([place for place, name in enumerate(tensors) if name in must]),
        _mask([place for place, name in enumerate(tensors) if name in may]),
        int(level.multicast),
        int(level.reduction),
        _mask([place for place, name in enumerate(tensors) if name in level.holds]),
    ]


def _rates(workload: Workload, machine: Machine) -> FloatArray:
    rates = np.zeros((len(machine.levels) + 1, RATE_COLUMNS))
    for place, (level, instances) in enumerate(zip(machine.levels, machine.instances, strict=True)):
        rates[place] = (
            *(np.inf if words is None else words for words in vars(level.bandwidth).values()),
            *vars(level.energy).values(),
            level.leak_pj,
            instances / level.cluster,
        )
    rates[-1, 0] = workload.macs * machine.mac_pj
    return rates


def _mask(places: list[int]) -> int:
    return sum(1 << place for place in places)
