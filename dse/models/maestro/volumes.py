"""What one case of a level moves and computes, as compiled code (step 4 of `reference`).

`masks` holds, for each tensor, one bit for every dim that it depends on.
"""

from __future__ import annotations

from dse.models.maestro.levels import (
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
    YES,
)
from dse.support.compiling import inlined, subroutine

COUPLED_CONV = 0b001110, 0b110011, 0b001101
COUPLED_DSCONV = 0b001110, 0b110010, 0b001110


@inlined
def coupled(masks, tensor, dim):
    """Whether the tensor depends on the dim."""
    return masks[tensor] >> dim & 1 == 1


@subroutine
def count_fetched(table, params, order, masks, tensor, first, part):
    """New elements of an input tensor for one sub-cluster (steps 4.1 and 4.2 of `reference`); -1 where
    MAESTRO exits."""
    changing, parallel = params[CHANGING], params[PARALLEL]
    # The loop that has moved leaves the tensor in place.
    if changing >= 0 and not coupled(masks, tensor, order[changing]):
        return 0
    restarted = False
    # A loop further in that goes through more than one tile has begun anew: nothing of the last tile is left.
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
        # The very first case: all is new; at an edge sub-clusters beside the first have a rest or none.
        if changing < 0 and dim == parallel:
            if not edge:
                volume *= table[WHOLE, dim]
            elif params[UNITS] == 1:
                volume *= table[EDGE, dim] if first or part else 1
            else:
                volume *= table[EDGE, dim] if part else table[WHOLE, dim]
        elif dim == parallel:
            # Neighbours share the overlap of their tiles: beside the first only what is new to it is fetched.
            reused = loop > changing if table[POSITION + index, dim] == FIRST else moves
            if reused and not first:
                volume *= table[EDGE_NEW, dim] if part else table[NEW, dim]
            else:
                volume *= table[EDGE, dim] if part else table[WHOLE, dim]
        elif table[POSITION + index, dim] == FIRST:
            volume *= table[EDGE, dim] if edge else table[WHOLE, dim]
        elif moves:
            # A step that brings nothing new: MAESTRO ends with an error there.
            if table[NEW, dim] == 0:
                return -1
            volume *= table[NEW, dim]
        else:
            volume *= table[WHOLE, dim]
    return volume


@subroutine
def count_produced(table, params, masks, psums, first, part, reuse):
    """Outputs, or partial sums, of one sub-cluster (step 4.3 of `reference`)."""
    volume = 1
    for dim in range(6):
        in_output = coupled(masks, OUTPUT, dim)
        # Outputs do not depend on this dim; multiply-accumulates are of every dim.
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
        if dim != params[PARALLEL]:
            volume *= edge if is_edge else whole
        elif position == FIRST and is_edge and part:
            volume *= edge_new if in_output and params[UNITS] > 1 and reuse else edge
        # One sub-cluster is left with the rest; the others have nothing, which counts as 1 in the product.
        elif position == LAST and params[UNITS] == 1:
            volume *= table[EDGE, dim] if first or part else 1
        elif position == LAST and part:
            volume *= edge_new
        elif first:
            volume *= whole
        else:
            volume *= new if new != 0 else 1
    return volume


@inlined
def beside_the_first(params):
    """How many sub-clusters beside the first work on a whole share, and how many on a part of one."""
    if params[SPATIAL_EDGE] == 0:
        return params[FANOUT] - 1, 0
    # Of those at work at the edge the first is counted by itself, and a partial one is not a whole one.
    if params[UNITS] > 1:
        return max(params[UNITS] - params[SPATIAL_PARTIAL] - 1, 0), params[SPATIAL_PARTIAL]
    return 0, 0


@inlined
def alone_and_partial(params):
    """Whether the first sub-cluster is the only one, with a part of a share."""
    return params[SPATIAL_EDGE] == 1 and params[UNITS] == 1 and params[SPATIAL_PARTIAL] == 1


@subroutine
def count_ingress(table, params, order, masks, tensor):
    """Elements of an input tensor that enter the array (step 4.4 of `reference`); -1 where MAESTRO exits."""
    spread = coupled(masks, tensor, params[PARALLEL])
    whole, partial = beside_the_first(params)
    volume = 0
    # In turn the first sub-cluster, whole ones, partial ones: one call is compiled once.
    for kind in range(3 if spread else 1):
        times = 1 if kind == 0 else whole if kind == 1 else partial
        if times == 0:
            continue
        part = kind == 2 or (kind == 0 and spread and alone_and_partial(params))
        one = count_fetched(table, params, order, masks, tensor, kind == 0, part)
        if one < 0:
            return -1
        volume += times * one
    return volume


@subroutine
def produce_all(table, params, masks, psums):
    """Outputs that leave the array (`psums` False) or its multiply-accumulates (True) (step 4.4 of
    `reference`)."""
    # Where the spread dim is not of the outputs, sub-clusters add up to one output: it leaves once.
    spread = psums or coupled(masks, OUTPUT, params[PARALLEL])
    whole, partial = beside_the_first(params)
    volume = 0
    for kind in range(3 if spread else 1):
        times = 1 if kind == 0 else whole if kind == 1 else partial
        if times == 0:
            continue
        first = kind == 0 or (kind == 1 and psums)
        part = kind == 2 or (kind == 0 and spread and alone_and_partial(params))
        volume += times * count_produced(table, params, masks, psums, first, part, kind < 2 or not psums)
    return volume


@subroutine
def critical_psums(table, params, masks):
    """Partial sums of the sub-cluster that works longest."""
    part = coupled(masks, OUTPUT, params[PARALLEL]) and alone_and_partial(params)
    return count_produced(table, params, masks, YES, YES, part, YES)


@subroutine
def tile_elements(table, masks, tensor):
    """Elements of a tensor's whole tile, with the input-side extent of Y and X."""
    volume = 1
    for dim in range(6):
        if coupled(masks, tensor, dim):
            volume *= table[WHOLE, dim]
    return volume
