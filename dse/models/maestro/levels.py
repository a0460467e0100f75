"""A level of the complete walk as compiled code: its loops, static tables and iteration states.

Step numbers are those of `reference`; `table` rows are named below, its columns are dims.
"""

from __future__ import annotations

import numpy as np

from dse.support.compiling import inlined, subroutine

K, C, Y, X, R, S = range(6)
FIRST, STEADY, LAST = range(3)

# Of numpy: to numba a literal True or 1 has a type of its own, for each of which what uses it is compiled.
INPUT, WEIGHT, OUTPUT = np.int64(0), np.int64(1), np.int64(2)
NO, YES = np.bool_(False), np.bool_(True)

# Rows of a level's table; the columns are dims.
SIZE, OFFSET, STATIC, WHOLE, NEW, EDGE, EDGE_NEW = range(7)
O_WHOLE, O_NEW, O_EDGE, O_EDGE_NEW = range(7, 11)
ACTUAL, STATES, CURRENT = 11, 12, 13
# Three rows each: the position, count and flags of a dim's states.
POSITION, COUNT, UNROLLED, IS_EDGE = 14, 17, 20, 23
# One bit for every state.
PARTIAL = 26
TABLE_ROWS = 27

# Params of a level: its parallel dim, fan-out, sub-clusters in an edge iteration, state of the spatial loop.
PARALLEL, FANOUT, UNITS, CHANGING, SPATIAL_EDGE, SPATIAL_PARTIAL = range(6)


@inlined
def truncated_quotient(a, b):
    """C's integer division: truncated toward zero."""
    return a // b if (a >= 0) == (b > 0) else -(-a // b)


@subroutine
def fill_directives(table, params, tiles, parallel, fanout, layer, depthwise, outer):
    """Loop sizes and offsets of a level (step 1 of `reference`)."""
    params[PARALLEL] = C if depthwise and parallel == K else parallel
    params[FANOUT] = fanout
    for dim in range(6):
        size = offset = tiles[dim]
        if dim == K and depthwise:
            size = offset = 1
        elif dim in (Y, X):
            partner = dim + 2
            size += tiles[partner] - 1
            stride, window = layer[5 + dim], layer[1 + partner]
            # In whole strides: the inputs that so many outputs read, and by how many inputs a step moves.
            if stride != 1 and size >= window:
                steps = truncated_quotient(size + stride - window, stride)
                size = steps * min(stride, window) + max(window - stride, 0)
                offset = steps * (window if not outer and window < stride else stride)
        table[SIZE, dim] = size
        table[OFFSET, dim] = offset


@subroutine
def fill_extents(table, params):
    """Static tables of a level (step 2 of `reference`), from its SIZE, OFFSET and STATIC rows."""
    parallel, fanout = params[PARALLEL], params[FANOUT]
    for dim in range(6):
        size, offset, total = table[SIZE, dim], table[OFFSET, dim], table[STATIC, dim]
        steps = max(0, truncated_quotient(total - size, offset))
        # What whole steps leave over, or a tile beyond the dim, is an edge.
        has_edge = steps * offset + size < total or size > total
        rest = total - (steps + 1) * offset
        if rest < 0:
            rest = total
        table[WHOLE, dim] = size
        # A loop of one step brings nothing new.
        table[NEW, dim] = 0 if dim != parallel and total <= size else min(size, offset)
        table[EDGE, dim] = rest if has_edge else size
        table[EDGE_NEW, dim] = max(offset - (size - rest), 0)
    for dim in range(6):
        for row in range(4):
            table[O_WHOLE + row, dim] = table[WHOLE + row, dim]
        if dim in (Y, X):
            window = dim + 2
            edge = table[EDGE, dim] - table[EDGE, window] + 1
            table[O_WHOLE, dim] = table[WHOLE, dim] - table[WHOLE, window] + 1
            table[O_NEW, dim] = min(table[OFFSET, dim], table[SIZE, dim])
            table[O_EDGE, dim] = edge
            table[O_EDGE_NEW, dim] = min(table[OFFSET, dim], edge)
    size, offset, total = table[SIZE, parallel], table[OFFSET, parallel], table[STATIC, parallel]
    # More than one round over the fan-out: of the last round, those that still have something.
    if total > offset * (fanout - 1) + size:
        rounds = truncated_quotient(truncated_quotient(total - size, offset) + 1, fanout) - 1
        rest = total - (rounds + 1) * offset * fanout
        params[UNITS] = 1 if rest < size else truncated_quotient(rest - size, offset) + 1
    elif total <= size:
        params[UNITS] = 1
    else:
        units = truncated_quotient(total - size, offset) + 1
        params[UNITS] = units + int(offset * (units - 1) + size < total)


@inlined
def add_state(table, dim, position, count, unrolled, edge, partial):
    """Appends a state to a dim's list."""
    index = table[STATES, dim]
    table[POSITION + index, dim] = position
    table[COUNT + index, dim] = count
    table[UNROLLED + index, dim] = unrolled
    table[IS_EDGE + index, dim] = edge
    table[PARTIAL, dim] |= int(partial) << index
    table[STATES, dim] = index + 1


@subroutine
def fill_states(table, params):
    """The states of every loop over the ACTUAL sizes (step 3.1 of `reference`); returns how many cases they
    make."""
    parallel, fanout = params[PARALLEL], params[FANOUT]
    cases = 1
    for dim in range(6):
        size, offset, actual = table[SIZE, dim], table[OFFSET, dim], table[ACTUAL, dim]
        table[STATES, dim] = 0
        table[PARTIAL, dim] = 0
        if dim != parallel:
            steps = truncated_quotient(actual - size, offset)
            add_state(table, dim, FIRST, 1, actual <= size, actual < size, False)
            if size < actual and steps > 0:
                add_state(table, dim, STEADY, steps, False, False, False)
            if actual >= size and steps * offset + size < actual:
                add_state(table, dim, LAST, 1, False, True, False)
        else:
            # What the whole fan-out covers at once, neighbours overlapping.
            span = size + offset * (fanout - 1)
            steps = truncated_quotient(truncated_quotient(actual - size, offset) + 1, fanout) - 1
            stride = offset * fanout
            add_state(table, dim, FIRST, 1, actual <= span, actual < span, actual < span)
            if span < actual and steps > 0:
                add_state(table, dim, STEADY, steps, False, False, False)
            if actual > span and (steps + 1) * stride + span > actual and steps * stride + span != actual:
                rest = actual - (steps + 1) * stride
                units = 1 if rest < size else truncated_quotient(rest - size, offset) + 1
                add_state(table, dim, LAST, 1, False, True, (units - 1) * offset + size < rest)
        cases *= table[STATES, dim]
    return cases


@subroutine
def set_case(table, params, order, number):
    """Puts the loops at the states of case `number` (step 3.2 of `reference`); returns its 32-bit occurrence
    count."""
    parallel = params[PARALLEL]
    inside = 1
    count = 1
    params[CHANGING] = -1
    # From the innermost loop out, as the digits of a number: the innermost changes with every case.
    for loop in range(5, -1, -1):
        dim = order[loop]
        states = table[STATES, dim]
        index = ((number + inside - 1) // inside) % states
        inside *= states
        table[CURRENT, dim] = index
        count *= table[COUNT + index, dim]
        if params[CHANGING] < 0 and table[POSITION + index, dim] != FIRST:
            params[CHANGING] = loop
        if dim == parallel:
            params[SPATIAL_EDGE] = table[IS_EDGE + index, dim]
            params[SPATIAL_PARTIAL] = table[PARTIAL, dim] >> index & 1
    # As a signed 32-bit integer holds it.
    return (count + 2**31) % 2**32 - 2**31
