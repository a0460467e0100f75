"""What the kernel knows of a workload on a machine, and the records that it works with."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dse.domains.levels.checks import SINGLE
from dse.domains.levels.machine import FIRST_FILLS, RETURNED, Machine
from dse.domains.levels.workload import Workload
from dse.models.timeloop.faults import required_tensors
from dse.support.arrays import (
    BoolArray,
    FloatArray,
    IntArray,
    RecordArray,
    float_fields,
    integer_fields,
    record_type,
)
from dse.support.errors import InputError, unknown_name

# Of a level: what it holds, children of an instance, words of a block (2 ** shift, or -1), the dims that it
# may spread, the tensors that it must and may keep and that are there whole (masks), and whose room and rates
# it shares (a place, its own where it is no part of another), whether all else waits for its transfers; words
# a cycle; pJ; rows.
LEVEL = record_type(
    *integer_fields(
        "capacity fan_out block shift spread required allowed multicast reduction held storage single"
    ),
    *float_fields("read_bandwidth write_bandwidth shared_bandwidth read_pj write_pj update_pj leak_pj rows"),
)
# A loop around a box of `step` indices of its dim.
LOOP = record_type(*integer_fields("dim factor step"))
# A level in a nest: instances at work, parts that the output is in, the first loop that is outside the
# level's tiles, the tensors kept (a mask).
USE = record_type(*integer_fields("instances parts first kept"))
# What the parts of a level keep together (a mask) and have to hold; what it reads and writes while nothing
# waits for that, and reads and writes a cycle.
STORAGE = record_type(*integer_fields("kept needed sends takes"), *float_fields("read write"))
# A tensor's tile at a level: its words (0: not kept), and how many different data the fan-outs down to the
# next level that keeps the tensor ask for.
TILE = record_type(*integer_fields("words through"))

UNLIMITED = 2**62
MAX_DIMS = 62
MAX_COUNTED = 2**20
"""Children of one instance up to which data that several loops of one axis move can be told apart."""


class Known(NamedTuple):
    """A layer on a machine; `levels` from the outermost in, of LEVEL.

    `moves` (tensors, dims, reach, 2) says which axes a dim moves and by how many words a step. Axes are
    numbered through all tensors, those of a tensor from its `first_axis` on; entries that move nothing are of
    an axis of their own, the last. `bits` (tensors) is what a word takes of what levels count. `output` is a
    tensor, `output_dims` the mask of its dims. `slots` is the size of a table of children. `waits` and
    `fill_and_drain` are of a Machine.
    """

    sizes: IntArray
    moves: IntArray
    first_axis: IntArray
    bits: IntArray
    levels: RecordArray
    output: int
    output_dims: int
    first_fill: int
    slots: int
    waits: bool
    fill_and_drain: bool
    macs_pj: float


class Priced(NamedTuple):
    """The costs of n mappings, as the kernel fills them: arrays of length n.

    `energy_pj` in pJ. Where `fault` is not 0 the figures are 0, and `where` and `need` say what is wrong, in
    the sense of `Fault`. `counts` (n, levels, tensors, 3), if asked for, are reads, fills and updates of one
    instance.
    """

    cycles: IntArray
    energy_pj: FloatArray
    fault: IntArray
    where: IntArray
    need: IntArray
    counts: IntArray

    @property
    def valid(self) -> BoolArray:
        """Whether a mapping has a price."""
        return np.equal(self.fault, 0)


def known_of(workload: Workload, machine: Machine) -> Known:
    """What is known of `workload` on `machine`; InputError where one does not suit the other."""
    if max(len(workload.dims), len(workload.tensors)) > MAX_DIMS:
        raise InputError(f"layer: more than {MAX_DIMS} dims or tensors")
    starts = np.cumsum([0, *(len(tensor.axes) for tensor in workload.tensors)])
    moves = _moves(workload, starts.tolist())
    output = next(place for place, tensor in enumerate(workload.tensors) if tensor.output)
    levels = np.zeros(len(machine.levels), LEVEL)
    for place in range(len(levels)):
        levels[place] = (*_counted(workload, machine, place), *_rates(machine, place))
    return Known(
        np.array(list(workload.sizes.values()), dtype=np.int64),
        moves,
        starts.astype(np.int64),
        np.array([tensor.bits for tensor in workload.tensors], dtype=np.int64),
        levels,
        output,
        _mask(np.flatnonzero(moves[output, :, :, 1].any(axis=1)).tolist()),
        (*FIRST_FILLS, RETURNED).index(machine.first_fill),
        _slots(workload, machine, moves),
        machine.waits,
        machine.fill_and_drain,
        float(workload.macs * machine.mac_pj),
    )


def axes_of(workload: Workload) -> IntArray:
    """Of every axis, the dims that move it (axes, 2, 2), -1 for none, and by how many words a step.

    InputError where tiles of the workload have to divide.
    """
    axes = [axis for tensor in workload.tensors for axis in tensor.axes]
    several = any(
        sum(map(bool, one.coefficients(dim))) > 1 for one in workload.tensors for dim in workload.names
    )
    if several or any(len(axis) > 2 for axis in axes):
        raise InputError(
            "layer: a dim moves several axes of one tensor, or an axis is moved by more than two dims: "
            "its tiles have to divide"
        )
    found = np.full((len(axes) + 1, 2, 2), -1, dtype=np.int64)
    for number, axis in enumerate(axes):
        for place, (dim, factor) in enumerate(axis):
            found[number, place] = workload.names.index(dim), factor
    return found


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


def _slots(workload: Workload, machine: Machine, moves: IntArray) -> int:
    """The size of the table in which children are told apart, where they have to be."""
    crowded = any(len(axis) > 2 for tensor in workload.tensors for axis in tensor.axes)
    if not crowded and moves.shape[2] == 1:
        return 0
    most = min(max(level.fan_out for level in machine.levels), workload.macs)
    if most > MAX_COUNTED:
        raise InputError(
            f"layer: axes of three dims or more need fan-outs of at most {MAX_COUNTED}, got {most}"
        )
    return 1 << (2 * most).bit_length()


def _counted(workload: Workload, machine: Machine, place: int) -> list[int]:
    level = machine.levels[place]
    tensors, dims = workload.tensor_names, workload.names
    for name in (*level.keeps, *(level.may_keep or ()), *level.holds):
        if name not in tensors:
            raise unknown_name("tensor", name, tensors, f"level {level.name}, for this layer")
    must, may = required_tensors(workload, machine, place), machine.may_keep(place, tensors)
    spread = dims if level.spread is None else level.spread
    power_of_two = level.block & (level.block - 1) == 0
    return [
        UNLIMITED if level.room is None else level.room,
        level.fan_out,
        level.block,
        level.block.bit_length() - 1 if power_of_two else -1,
        _mask([place for place, dim in enumerate(dims) if dim in spread]),
        _mask([place for place, name in enumerate(tensors) if name in must]),
        _mask([place for place, name in enumerate(tensors) if name in may]),
        int(level.multicast),
        int(level.reduction),
        _mask([place for place, name in enumerate(tensors) if name in level.holds]),
        machine.storages[place],
        int(level.buffering == SINGLE),
    ]


def _rates(machine: Machine, place: int) -> list[float]:
    level = machine.levels[place]
    return [
        *(np.inf if words is None else words for words in vars(level.bandwidth).values()),
        *vars(level.energy).values(),
        level.leak_pj,
        machine.instances[place] / level.cluster,
    ]


def _mask(places: list[int]) -> int:
    return sum(1 << place for place in places)
