"""The MAESTRO kernel for the mappings that a space draws, in which every step does work.

It equals the complete walk of `walk` where `kernel.is_regular` holds: stride 1, inner tile <= outer tile <=
output size in K, C, Y and X, and all the pieces of a filter spread at once. Then no case is ever
skipped, and cases that cost the same can be counted together instead of one by one:

* A loop outside the innermost changing loop costs the same at its first and at its steady iterations, so
  only "whole" and "edge" remain of its three states.
* Fetches do not depend on which of the temporal loops outside are at an edge (MAESTRO fetches whole tiles
  there), outputs and work do.
* The spatial loop's share of every volume is a factor that depends on its own state alone.
* A level that spreads a filter dim has one of its pieces for a window: Y or X then has as many positions as
  the piece has, and the pieces are the spatial loop, which brings weights alone and never moves on.

So a level is walked once, from the outermost loop to the innermost: `groups` holds the distinct states of
the loops outside, and each loop in turn is the innermost one that changes. All sizes are in positions of the
window; `window - 1` more input elements belong to a tile of Y or X.
"""

from __future__ import annotations

from dse.models.maestro.loop_table import (
    ACTUAL,
    DIM,
    EDGE,
    EDGE_OUT,
    FILTER,
    FULL,
    HALO,
    HAS_EDGE,
    HELD,
    IN_I,
    IN_O,
    IN_W,
    LAST,
    MOVES,
    REST,
    SHORT,
    SIZE,
    TABLE_ROWS,
    TILE,
    WHOLE_COUNT,
    count_steps,
    fill_level,
    held_inside,
    one_fetch,
    set_states,
    spatial_factors,
)
from dse.support.compiling import inlined, subroutine

# Rows of a group: how often it occurs, work and outputs of its temporal loops, edge mask, spatial state.
OCCURS, WORK, OUTPUTS, MASK, SPATIAL_STATE = range(5)
GROUP_ROWS = 5
MAX_GROUPS = 32
# A level's totals.
CYCLES, MACS, READ_I, READ_W, WRITE_O, FIRST_INGRESS, FIRST_EGRESS = range(7)
TOTALS = 7


@inlined
def begin_groups(groups, start, whole_weight):
    """One group: everything at its first iteration."""
    groups[OCCURS, 0] = groups[OUTPUTS, 0] = 1
    groups[WORK, 0], groups[MASK, 0], groups[SPATIAL_STATE, 0] = whole_weight, 0, start


@inlined
def count_advances(table, p, kind, spatial):
    """How often loop p goes on to whole steps (kind 0) or an edge (1), their size, and the bit of an edge.

    Loop -1 stands for the very first step of all, where nothing overlaps.
    """
    if p < 0:
        return 1 - kind, 1, 0
    if kind == 0:
        times, size, bit = table[WHOLE_COUNT, p] - 1, table[TILE, p], 0
    elif table[HAS_EDGE, p]:
        times, size, bit = 1, table[EDGE_OUT, p], 1 << table[DIM, p] if table[REST, p] > 0 else 0
    else:
        return 0, 1, 0
    # The spatial loop's share is a factor of its own, by its state.
    return (times, 1, 0) if p == spatial else (times, size, bit)


@inlined
def longest_inside(inner_cycles, mask, spatial_bit, state, last):
    """Cycles of the sub-cluster that takes longest: they are whole, or one of them has an edge.

    `last` are the sub-clusters in the spatial loop's last state, and whether one of them has a part.
    """
    units, last_partial = last
    if state == FULL:
        return inner_cycles[mask]
    if state == SHORT or last_partial:
        compute = inner_cycles[mask | spatial_bit]
        return max(compute, inner_cycles[mask]) if units > 1 else compute
    # A lone one has what is left, without a rest a whole tile; several have whole ones.
    return inner_cycles[mask | spatial_bit if units == 1 else mask]


@inlined
def ceil_by(amount, by):
    """The quotient rounded up."""
    return amount if by == 1 else (amount + by - 1) // by


@inlined
def noc_delay(words, hardware):
    """Cycles that the NoC takes to move some words (step 5.1 of `reference`)."""
    _, bandwidth, _, latency, _ = hardware
    return latency - 1 + (words + bandwidth - 1) // bandwidth


@subroutine
def walk_level(table, loops, fanout, hardware, inner_cycles, groups, totals):
    """Adds up one level over its cases; the table's ACTUAL row says over which sizes (step 5 of `reference`).

    `loops` is what `fill_level` returned. `inner_cycles` holds the inner level's cycles by edge mask where
    this is the outer level, and is empty at the inner level, whose steps take psums / lanes cycles. Fills
    `totals`.
    """
    outer = len(inner_cycles) > 0
    offchip, lanes = hardware[2], hardware[4]
    spatial, outside, whole_weight = loops
    set_states(table, spatial, fanout)
    factors, last = spatial_factors(table, spatial, fanout)
    fetch_full, fetch_new, critical, work, written, start = factors
    spatial_bit = 1 << table[DIM, spatial] if table[REST, spatial] > 0 else 0
    begin_groups(groups, start, whole_weight)
    count, limit = 1, 0
    cycles = macs = read_i = read_w = write_o = 0
    for p in range(-1, 4):
        # A loop that does not move on is never the one that changes.
        if p >= 0 and not table[MOVES, p]:
            _extend(table, spatial, groups, count, p)
            continue
        fetch_i, fetch_w, reuse_i, reuse_w = one_fetch(table, spatial, outside, p, whole_weight)
        inside_work, inside_outputs = held_inside(table, spatial, p)
        for kind in range(2):
            times, size, bit = count_advances(table, p, kind, spatial)
            if times == 0:
                continue
            outputs_p = size * inside_outputs if p < 0 or table[IN_O, p] else inside_outputs
            for g in range(count):
                state = groups[SPATIAL_STATE, g] if p != spatial else (LAST if kind == 1 else FULL)
                occurs, done = groups[OCCURS, g] * times, groups[WORK, g] * (size * inside_work)
                ingress_i, ingress_w, egress = fetch_i, fetch_w, groups[OUTPUTS, g] * outputs_p
                if table[IN_I, spatial]:
                    ingress_i *= fetch_new[state] if reuse_i else fetch_full[state]
                if table[IN_W, spatial]:
                    ingress_w *= fetch_new[state] if reuse_w else fetch_full[state]
                if table[IN_O, spatial] == 1:
                    egress *= written[state]
                ingress = ingress_i + ingress_w
                if outer:
                    compute = longest_inside(inner_cycles, groups[MASK, g] | bit, spatial_bit, state, last)
                else:
                    compute = ceil_by(done * critical[state], lanes)
                into, out = noc_delay(ingress, hardware), noc_delay(egress, hardware)
                step = compute + into if p < 0 else max(compute, into, out)
                if outer:
                    if p < 0:
                        totals[FIRST_INGRESS], totals[FIRST_EGRESS] = ingress, egress
                        # Every step waits until DRAM has moved as many words as the first one has.
                        limit = max(2 * ingress // offchip, 2 * egress // offchip) // 2
                    step = max(step, limit)
                    macs += occurs * done * work[state]
                    read_i += occurs * ingress_i
                    read_w += occurs * ingress_w
                    write_o += occurs * egress
                cycles += occurs * step
        if 0 <= p < 3:
            count = _extend(table, spatial, groups, count, p)
    totals[CYCLES], totals[MACS] = cycles, macs
    totals[READ_I], totals[READ_W], totals[WRITE_O] = read_i, read_w, write_o


@inlined
def _extend(table, spatial, groups, count, p):
    """Splits the groups of the loops outside by the states of loop p; returns their new number."""
    whole = table[WHOLE_COUNT, p]
    in_o = table[IN_O, p] == 1
    # Groups with the loop at its edge are copies behind those with whole iterations; the spatial loop's sizes
    # are factors by its state.
    if table[HAS_EDGE, p]:
        bit = 1 << table[DIM, p] if table[REST, p] > 0 else 0
        edge = 1 if p == spatial else table[EDGE_OUT, p]
        for g in range(count):
            copy = count + g
            groups[OCCURS, copy] = groups[OCCURS, g]
            groups[WORK, copy] = groups[WORK, g] * edge
            groups[OUTPUTS, copy] = groups[OUTPUTS, g] * (edge if in_o else 1)
            groups[MASK, copy] = groups[MASK, g] if p == spatial else groups[MASK, g] | bit
            groups[SPATIAL_STATE, copy] = LAST if p == spatial else groups[SPATIAL_STATE, g]
    held = 1 if p == spatial else table[HELD, p]
    for g in range(count):
        groups[OCCURS, g] *= whole
        groups[WORK, g] *= held
        if in_o:
            groups[OUTPUTS, g] *= held
    return 2 * count if table[HAS_EDGE, p] else count


@subroutine
def price_regular(layer, hardware, row, work, figures):
    """Prices one regular mapping into `figures`: cycles, MACs, L1, L2, reads I and W, writes O.

    Returns False, with nothing written, where a step count could wrap: that is for the complete walk.
    """
    outer, inner = work[0:TABLE_ROWS], work[TABLE_ROWS : 2 * TABLE_ROWS]
    groups = work[2 * TABLE_ROWS : 2 * TABLE_ROWS + GROUP_ROWS]
    sizes, edge_sizes = work[2 * TABLE_ROWS + GROUP_ROWS], work[2 * TABLE_ROWS + GROUP_ROWS + 1]
    inner_cycles, totals = work[2 * TABLE_ROWS + GROUP_ROWS + 2], work[2 * TABLE_ROWS + GROUP_ROWS + 3]
    depthwise = layer[0] == 1
    cluster = row[13]
    clusters = hardware[0] // cluster
    for dim in range(6):
        sizes[dim] = layer[1 + dim]
    if depthwise:
        sizes[0] = 1
    loops_outer = fill_level(outer, row[1:7], row[7:13], sizes, row[0], depthwise)
    edges = 0
    for i in range(4 + int(loops_outer[0] == FILTER)):
        dim, halo = outer[DIM, i], outer[HALO, i]
        outer[ACTUAL, i] = outer[SIZE, i]
        # The inner level cuts a whole outer tile or one at the edge.
        sizes[dim], edge_sizes[dim] = outer[TILE, i] + halo, outer[EDGE, i] + halo
        if outer[REST, i] > 0:
            edges |= 1 << dim
    sizes[4], sizes[5] = row[11], row[12]
    loops_inner = fill_level(inner, row[15:21], row[21:27], sizes, row[14], depthwise)
    if count_steps(outer, loops_outer[0], clusters) >= 2.0**31:
        return False
    if count_steps(inner, loops_inner[0], cluster) >= 2.0**31:
        return False
    mask = 0
    while True:
        for i in range(4 + int(loops_inner[0] == FILTER)):
            edge = mask >> inner[DIM, i] & 1
            inner[ACTUAL, i] = edge_sizes[inner[DIM, i]] - inner[HALO, i] if edge else inner[SIZE, i]
        walk_level(inner, loops_inner, cluster, hardware, inner_cycles[:0], groups, totals)
        inner_cycles[mask] = totals[CYCLES]
        if mask == edges:
            break
        mask = (mask - edges) & edges  # the next choice of the dims that have an edge
    walk_level(outer, loops_outer, clusters, hardware, inner_cycles, groups, totals)
    input_l1, weight_l1, output_l1 = 1, row[25] * row[26], 1
    for i in range(4):
        held = inner[TILE, i] + inner[HALO, i]
        input_l1 *= held if inner[IN_I, i] else 1
        weight_l1 *= held if inner[IN_W, i] else 1
        output_l1 *= held if inner[IN_O, i] else 1
    figures[0] = totals[CYCLES]
    figures[1] = totals[MACS]
    figures[2] = 2 * (input_l1 + weight_l1 + output_l1)
    figures[3] = 2 * (totals[FIRST_INGRESS] + totals[FIRST_EGRESS])
    figures[4] = totals[READ_I]
    figures[5] = totals[READ_W]
    figures[6] = totals[WRITE_O]
    return True


WORK_ROWS = 2 * TABLE_ROWS + GROUP_ROWS + 4
