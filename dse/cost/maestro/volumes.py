"""What one case of a level moves and computes, as compiled code (SPEC 7).

`masks` holds, for each tensor, one bit for every dim that it depends on.
"""

from __future__ import annotations

from numba import njit

from dse.cost.maestro.levels import (
    CHANGING,
    CURRENT,
    EDGE,
    EDGE_NEW,
    FANOUT,
    FIRST,
    IS_EDGE,
    LAST,
    NEW,
    O_WHOLE,
    OUTPUT,
    PARALLEL,
    POSITION,
    SPATIAL_EDGE,
    SPATIAL_PARTIAL,
    UNITS,
    UNROLLED,
    WHOLE,
)
from dse.support.jit import OPTIONS

COUPLED_CONV = 0b001110, 0b110011, 0b001101
COUPLED_DSCONV = 0b001110, 0b110010, 0b001110


@njit(inline="always", **OPTIONS)
def coupled(masks, tensor, dim):
    """Whether the tensor depends on the dim."""
    return masks[tensor] >> dim & 1 == 1


@njit(**OPTIONS)
def fetch(table, facts, order, masks, tensor, first, part):
    """New elements of an input tensor for one sub-cluster (SPEC 7.1, 7.2); -1 where MAESTRO exits."""
    changing, parallel = facts[CHANGING], facts[PARALLEL]
    if changing >= 0 and not coupled(masks, tensor, order[changing]):
        return 0
    restarted = False
    for loop in range(changing + 1, 6):
        dim = order[loop]
        if coupled(masks, tensor, dim) and table[UNROLLED + table[CURRENT, dim], dim] == 0:
            restarted = True
    volume = 1
    for loop in range(6):
        dim = order[loop]
        if not coupled(masks, tensor, dim):
            continue
        index = table[CURRENT, dim]
        edge = table[IS_EDGE + index, dim] == 1
        moves = loop == changing and not restarted
        if changing < 0 and dim == parallel:
            if not edge:
                volume *= table[WHOLE, dim]
            elif facts[UNITS] == 1:
                volume *= table[EDGE, dim] if first or part else 1
            else:
                volume *= table[EDGE, dim] if part else table[WHOLE, dim]
        elif dim == parallel:
            reused = loop > changing if table[POSITION + index, dim] == FIRST else moves
            if reused and not first:
                volume *= table[EDGE_NEW, dim] if part else table[NEW, dim]
            else:
                volume *= table[EDGE, dim] if part else table[WHOLE, dim]
        elif table[POSITION + index, dim] == FIRST:
            volume *= table[EDGE, dim] if edge else table[WHOLE, dim]
        elif moves:
            if table[NEW, dim] == 0:
                return -1
            volume *= table[NEW, dim]
        else:
            volume *= table[WHOLE, dim]
    return volume


@njit(**OPTIONS)
def produce(table, facts, masks, psums, first, part, reuse):
    """Outputs, or partial sums, of one sub-cluster (SPEC 7.3)."""
    volume = 1
    for dim in range(6):
        in_output = coupled(masks, OUTPUT, dim)
        if not in_output and not psums:
            continue
        base = O_WHOLE if in_output else WHOLE
        whole, new, edge, edge_new = (
            table[base, dim],
            table[base + 1, dim],
            table[base + 2, dim],
            table[base + 3, dim],
        )
        index = table[CURRENT, dim]
        is_edge = table[IS_EDGE + index, dim] == 1
        position = table[POSITION + index, dim]
        if dim != facts[PARALLEL]:
            volume *= edge if is_edge else whole
        elif position == FIRST and is_edge and part:
            volume *= edge_new if in_output and facts[UNITS] > 1 and reuse else edge
        elif position == LAST and facts[UNITS] == 1:
            volume *= table[EDGE, dim] if first or part else 1
        elif position == LAST and part:
            volume *= edge_new
        elif first:
            volume *= whole
        else:
            volume *= new if new != 0 else 1
    return volume


@njit(**OPTIONS)
def ingress(table, facts, order, masks, tensor):
    """Elements of an input tensor that enter the array (SPEC 7.4); -1 where MAESTRO exits."""
    if not coupled(masks, tensor, facts[PARALLEL]):
        return fetch(table, facts, order, masks, tensor, True, False)
    if facts[SPATIAL_EDGE] == 0:
        one = fetch(table, facts, order, masks, tensor, True, False)
        if one < 0:
            return -1
        return one + (facts[FANOUT] - 1) * fetch(table, facts, order, masks, tensor, False, False)
    partial, units = facts[SPATIAL_PARTIAL], facts[UNITS]
    volume = fetch(table, facts, order, masks, tensor, True, units == 1 and partial == 1)
    if volume < 0:
        return -1
    if units > 1:
        volume += max(units - partial - 1, 0) * fetch(table, facts, order, masks, tensor, False, False)
        volume += partial * fetch(table, facts, order, masks, tensor, False, True)
    return volume


@njit(**OPTIONS)
def produce_all(table, facts, masks, psums):
    """Outputs that leave the array (`psums` False) or its multiply-accumulates (True) (SPEC 7.4)."""
    if not psums and not coupled(masks, OUTPUT, facts[PARALLEL]):
        return produce(table, facts, masks, psums, True, False, True)
    if facts[SPATIAL_EDGE] == 0:
        one = produce(table, facts, masks, psums, True, False, True)
        rest = one if psums else produce(table, facts, masks, psums, False, False, True)
        return one + (facts[FANOUT] - 1) * rest
    partial, units = facts[SPATIAL_PARTIAL], facts[UNITS]
    volume = produce(table, facts, masks, psums, True, units == 1 and partial == 1, True)
    if units > 1:
        further = max(units - partial - 1, 0)
        volume += further * produce(table, facts, masks, psums, psums, False, True)
        volume += partial * produce(table, facts, masks, psums, False, True, not psums)
    return volume


@njit(**OPTIONS)
def critical_psums(table, facts, masks):
    """Partial sums of the sub-cluster that works longest."""
    part = (
        coupled(masks, OUTPUT, facts[PARALLEL])
        and facts[SPATIAL_EDGE] == 1
        and facts[UNITS] == 1
        and facts[SPATIAL_PARTIAL] == 1
    )
    return produce(table, facts, masks, True, True, part, True)


@njit(**OPTIONS)
def tile_elements(table, masks, tensor):
    """Elements of a tensor's whole tile, with the input-side extent of Y and X."""
    volume = 1
    for dim in range(6):
        if coupled(masks, tensor, dim):
            volume *= table[WHOLE, dim]
    return volume
