"""The complete walk: one mapping priced case by case, whatever its values (step 5 of `reference`).

It serves what `grouped` cannot: strides, filters spread over PEs, tiles above the dim, steps that do no
work and step counts that wrap.
"""

from __future__ import annotations

from dse.core.reasons import Reason
from dse.models.maestro.levels import (
    ACTUAL,
    CHANGING,
    COUNT,
    CURRENT,
    EDGE,
    INPUT,
    IS_EDGE,
    NO,
    OFFSET,
    OUTPUT,
    PARALLEL,
    SIZE,
    SPATIAL_EDGE,
    SPATIAL_PARTIAL,
    STATES,
    STATIC,
    UNITS,
    WEIGHT,
    WHOLE,
    YES,
    K,
    fill_directives,
    fill_extents,
    fill_states,
    set_case,
    truncated_quotient,
)
from dse.models.maestro.volumes import (
    COUPLED_CONV,
    COUPLED_DSCONV,
    count_ingress,
    critical_psums,
    produce_all,
    tile_elements,
)
from dse.support.compiling import inlined, subroutine, subroutine_with_arrays

FEASIBLE = int(Reason.FEASIBLE)
NO_WORK = int(Reason.NO_WORK)
ZERO_FETCH = int(Reason.ZERO_FETCH)
TOO_MANY_STEPS = int(Reason.TOO_MANY_STEPS)
ZERO_RUNTIME = int(Reason.ZERO_RUNTIME)
OUT_OF_RANGE = int(Reason.OUT_OF_RANGE)
LARGEST_COUNT = 2.0**62


@inlined
def noc_delay(elements, bandwidth, latency):
    """Cycles that the NoC takes to move `elements` (step 5.1 of `reference`)."""
    return latency + truncated_quotient(elements, bandwidth) + int(elements % bandwidth != 0) - 1


@subroutine
def wraps(table, params, order, cases):
    """Whether some case's occurrence count wraps to zero or below."""
    most = 1.0
    for dim in range(6):
        largest = 1
        for index in range(table[STATES, dim]):
            largest = max(largest, table[COUNT + index, dim])
        most *= largest
    # The most that a case can occur: below this no count can wrap, and cases need not be looked at.
    if most < 2.0**31:
        return False
    for number in range(cases):  # noqa: SIM110 - numba compiles no generators
        if set_case(table, params, order, number) <= 0:
            return True
    return False


@subroutine
def run_inner(table, params, order, masks, hardware, figures):
    """Runs the inner level over its ACTUAL sizes: cycles and size calls into `figures`; returns a reason."""
    _, bandwidth, _, latency, lanes = hardware
    cases = fill_states(table, params)
    if wraps(table, params, order, cases):
        return TOO_MANY_STEPS
    cycles = calls = 0
    accepted = False
    for number in range(cases):
        count = set_case(table, params, order, number)
        # MAESTRO sizes the buffers until a case has work, and again in each: the needs add up.
        calls += int(not accepted)
        psums = critical_psums(table, params, masks)
        if psums <= 0:
            continue
        accepted = True
        egress = produce_all(table, params, masks, NO)
        inputs = count_ingress(table, params, order, masks, INPUT)
        weights = count_ingress(table, params, order, masks, WEIGHT)
        if inputs < 0 or weights < 0:
            return ZERO_FETCH
        # Rounded up.
        compute = (psums - 1) // lanes + 1
        into = noc_delay(inputs + weights, bandwidth, latency)
        out = noc_delay(egress, bandwidth, latency)
        # In the first case nothing was loaded ahead, so loading and computing do not overlap.
        cycles += count * (compute + into if params[CHANGING] < 0 else max(compute, into, out))
    figures[0] = cycles
    figures[1] = calls
    return FEASIBLE


@subroutine
def inner_cycles(tables, params, orders, masks, hardware, partial, figures, runs):
    """Cycles of the sub-clusters in the outer level's present case, and the first one's size calls.

    They depend on which dims are at an edge alone: `runs` (64, 3) keeps the reason (-1: not known yet) and
    the figures by that.
    """
    outer, inner = tables[0], tables[1]
    state_edge, state_partial, units = params[0, SPATIAL_EDGE], params[0, SPATIAL_PARTIAL], params[0, UNITS]
    edges = 0
    for dim in range(6):
        edge = outer[IS_EDGE + outer[CURRENT, dim], dim] == 1
        if dim == params[0, PARALLEL]:
            # Along the spread dim only a sub-cluster with a rest has an edge: the last, or the one alone.
            edge = state_edge == 1 and (units == 1 or (partial and state_partial == 1))
        inner[ACTUAL, dim] = outer[EDGE, dim] if edge else outer[WHOLE, dim]
        if inner[ACTUAL, dim] != outer[WHOLE, dim]:
            edges |= 1 << dim
    # Many outer cases ask for the same sizes: each is run once.
    if runs[edges, 0] < 0:
        runs[edges, 0] = run_inner(inner, params[1], orders[1], masks, hardware, figures)
        runs[edges, 1], runs[edges, 2] = figures[0], figures[1]
    figures[0], figures[1] = runs[edges, 1], runs[edges, 2]
    return runs[edges, 0]


@subroutine_with_arrays
def fill_levels(layer, hardware, row, tables, params, orders):
    """Write both levels of a mapping into `tables`, `params` and `orders`: how many cases the outer one has,
    or -1 where a count would not fit into 64 bits.
    """
    depthwise, cluster = layer[0] == 1, row[13]
    outer, inner = tables[0], tables[1]
    for dim in range(6):
        # A depthwise layer has no K of its own: each channel has one filter.
        outer[STATIC, dim] = outer[ACTUAL, dim] = 1 if depthwise and dim == K else layer[1 + dim]
        orders[0, dim] = row[1 + dim]
        orders[1, dim] = row[15 + dim]
    pes = hardware[0]
    fill_directives(outer, params[0], row[7:13], row[0], pes // cluster, layer, depthwise, YES)
    fill_directives(inner, params[1], row[21:27], row[14], cluster, layer, depthwise, NO)
    if largest_count(outer, inner, layer, hardware[3]) > LARGEST_COUNT:
        return -1
    for dim in range(6):
        inner[STATIC, dim] = min(outer[SIZE, dim], outer[STATIC, dim])
    fill_extents(outer, params[0])
    fill_extents(inner, params[1])
    return fill_states(outer, params[0])


@subroutine
def slowest_cycles(tables, params, orders, masks, hardware, run, runs):
    """Leaves in `run` the cycles of the slowest unit, of those at the edge too, and the first one's calls."""
    reason = inner_cycles(tables, params, orders, masks, hardware, YES, run, runs)
    if reason != FEASIBLE:
        return reason
    compute, calls = run[0], run[1]
    if params[0, SPATIAL_EDGE] == 1 and params[0, SPATIAL_PARTIAL] == 1 and params[0, UNITS] > 1:
        reason = inner_cycles(tables, params, orders, masks, hardware, NO, run, runs)
        if reason != FEASIBLE:
            return reason
        compute = max(compute, run[0])
    run[0], run[1] = compute, calls
    return FEASIBLE if compute > 0 else NO_WORK


@subroutine_with_arrays
def price_any(layer, hardware, row, tables, params, orders, runs, figures):
    """Prices one mapping case by case (step 5.3 of `reference`); returns a reason. `figures` as in
    `price_regular`."""
    masks = COUPLED_DSCONV if layer[0] == 1 else COUPLED_CONV
    _, bandwidth, offchip, latency, _ = hardware
    outer, inner = tables[0], tables[1]
    cases = fill_levels(layer, hardware, row, tables, params, orders)
    if cases < 0:
        return OUT_OF_RANGE
    if wraps(outer, params[0], orders[0], cases):
        return TOO_MANY_STEPS
    runs[:, 0] = -1
    need_inputs = need_outputs = calls = 0
    cycles = macs = read_i = read_w = write_o = 0
    accepted = False
    run = figures[8:]
    for number in range(cases):
        count = set_case(outer, params[0], orders[0], number)
        inputs = count_ingress(outer, params[0], orders[0], masks, INPUT)
        weights = count_ingress(outer, params[0], orders[0], masks, WEIGHT)
        egress = produce_all(outer, params[0], masks, NO)
        psums = critical_psums(outer, params[0], masks)
        # Without work, and once buffers are sized, MAESTRO does not come to fetch, and so does not end there.
        if (not accepted or psums > 0) and (inputs < 0 or weights < 0):
            return ZERO_FETCH
        if not accepted:
            need_inputs += 2 * (inputs + weights)
            need_outputs = 2 * egress
        write_o += count * egress
        if psums <= 0:
            continue
        work = produce_all(outer, params[0], masks, YES)
        reason = slowest_cycles(tables, params, orders, masks, hardware, run, runs)
        if reason != FEASIBLE:
            return reason
        compute = run[0]
        calls, accepted = calls if accepted else run[1], True
        into = noc_delay(inputs + weights, bandwidth, latency)
        out = noc_delay(egress, bandwidth, latency)
        # The first case waits for its data; the others load ahead.
        step = compute + into if params[0, CHANGING] < 0 else max(compute, into, out)
        step = max(
            step,
            truncated_quotient(truncated_quotient(need_inputs, offchip), 2),
            truncated_quotient(truncated_quotient(need_outputs, offchip), 2),
        )
        cycles += count * step
        macs += count * work
        read_i += count * inputs
        read_w += count * weights
    if cycles == 0:
        return ZERO_RUNTIME
    figures[0] = cycles
    figures[1] = macs
    # Twice, as buffers are double.
    tiles_in = tile_elements(inner, masks, INPUT) + tile_elements(inner, masks, WEIGHT)
    figures[2] = 2 * calls * tiles_in + 2 * tile_elements(inner, masks, OUTPUT)
    figures[3] = need_inputs + need_outputs
    figures[4] = read_i
    figures[5] = read_w
    figures[6] = write_o
    return FEASIBLE


@inlined
def wrap_int32(value):
    """The value as a signed 32-bit integer holds it."""
    return (value + 2**31) % 2**32 - 2**31


@subroutine
def largest_count(outer, inner, layer, latency):
    """A generous bound on every count of a mapping, as a float; above 2^62 nothing is priced."""
    bound = 1.0 + latency
    for dim in range(6):
        total, size, inner_size = float(outer[STATIC, dim]), outer[SIZE, dim], inner[SIZE, dim]
        if total == size and size == inner_size:
            bound *= total
        else:
            bound *= (total / outer[OFFSET, dim] + 2.0) * (size + 2.0 * inner_size)
    return bound
