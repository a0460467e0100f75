"""MAESTRO over batches: regular rows go to the grouped walk, others to the complete one."""

from __future__ import annotations

import numpy as np

from dse.core.reasons import Reason
from dse.models.maestro.grouped import MAX_GROUPS, WORK_ROWS, price_regular
from dse.models.maestro.levels import TABLE_ROWS
from dse.models.maestro.walk import LARGEST_COUNT, price_any, wrap_int32
from dse.support.compiling import inlined, kernel, subroutine

FEASIBLE = int(Reason.FEASIBLE)
ZERO_TILE = int(Reason.ZERO_TILE)
PARTIAL_FILTER = int(Reason.PARTIAL_FILTER)
CLUSTER_TOO_LARGE = int(Reason.CLUSTER_TOO_LARGE)
BAD_HARDWARE = int(Reason.BAD_HARDWARE)
BAD_LAYER = int(Reason.BAD_LAYER)
OUT_OF_RANGE = int(Reason.OUT_OF_RANGE)
LEFT = 255
LARGEST = 2**31 - 1
R, S = 4, 5


@inlined
def check_values(layer, hardware, row):
    """The reason that values alone give, before any pricing."""
    for index in range(5):
        # All but the NoC's latency, place 3, are at least 1; the lanes, place 4, have to fit into 31 bits.
        if hardware[index] < int(index != 3) or hardware[index] > (2**40 if index != 4 else LARGEST):
            return BAD_HARDWARE
    for index in range(1, 9):
        if layer[index] < 1:
            return BAD_LAYER
    # A depthwise layer has no K: its tiles of K are not looked at.
    first = 1 if layer[0] == 1 else 0
    too_large = False
    for index in range(first, 6):
        too_large |= layer[1 + index] > LARGEST or row[7 + index] > LARGEST or row[21 + index] > LARGEST
        if row[7 + index] <= 0 or row[21 + index] <= 0:
            return ZERO_TILE
    for dim in (R, S):
        if row[0] != dim and row[7 + dim] != layer[1 + dim]:
            return PARTIAL_FILTER
        if row[14] != dim and row[21 + dim] != layer[1 + dim]:
            return PARTIAL_FILTER
    # Said after the tiles and before what is too large: the order in which `reference` gives reasons.
    if row[13] < 1 or row[13] > hardware[0]:
        return CLUSTER_TOO_LARGE
    if too_large or layer[7] > LARGEST or layer[8] > LARGEST:
        return OUT_OF_RANGE
    return FEASIBLE


@inlined
def pieces(size, tile):
    """Into how many tiles a size is cut."""
    return (size + tile - 1) // tile


@subroutine
def is_regular(layer, pes, row):
    """Whether `price_regular` may price the row (of checked values)."""
    # Strides, and inputs smaller than the filter, have states that the grouped walk does not know.
    if layer[7] != 1 or layer[8] != 1 or layer[3] < layer[5] or layer[4] < layer[6]:
        return False
    for dim in (R, S):
        size, outer, inner = layer[1 + dim], row[7 + dim], row[21 + dim]
        if outer > size or inner > outer:
            return False
        # Of a filter that is spread all pieces have to work at once, one a PE or cluster.
        if inner < size and (pieces(outer, inner) > row[13] or pieces(size, outer) > pes // row[13]):
            return False
    for dim in range(int(layer[0] == 1), 4):
        # Of Y and X, dims 2 and 3, in outputs: less the filter that is two places behind, less 1.
        size = layer[1 + dim] - (layer[3 + dim] - 1 if dim > 1 else 0)
        if row[7 + dim] > size or row[21 + dim] > row[7 + dim]:
            return False
    return True


@inlined
def may_overflow(layer, latency):
    """Whether a regular mapping of the layer may have counts beyond 2^62, by a bound on all of them."""
    windows = float(layer[5]) * layer[6]
    elements = float(layer[1]) * layer[2] * layer[3] * layer[4]
    return (1.0 + latency) * 9.0**4 * windows * windows * elements > LARGEST_COUNT


@inlined
def power_and_area(pes, lanes, bandwidth, l1, l2):
    """Those of so many PEs and lanes, as floats, with such buffers (steps 6.2 and 6.3 of `reference`)."""
    bus, gates = 14.662 * pes + 28.895, 1.2886 * (pes * pes) + 5.5814 * pes - 23.711
    noc_power = 0.8 * bus / 1000 * bandwidth + max(0.34 * gates / 1000, 0.34)
    noc_area = 101.7938 * bus * bandwidth + max(395.473 * gates, 395.473)
    power = pes * (1.2223 * lanes + 0.00345 * l1) + 0.00345 * l2 + noc_power
    return power, pes * (283 * lanes + 0.104 * l1) + 0.104 * l2 + noc_area


@inlined
def write_figures(layer, machine, result, wrap, costs, i):
    """Writes the costs of row i from the counts of its mapping (step 6 of `reference`)."""
    if wrap:
        result[2], result[3] = wrap_int32(result[2]), wrap_int32(result[3])
    costs.valid[i], costs.reason[i] = True, FEASIBLE
    costs.cycles[i], costs.macs[i], costs.l1_size[i], costs.l2_size[i] = (
        result[0],
        result[1],
        result[2],
        result[3],
    )
    inputs = layer[2] * layer[3] * layer[4]
    weights = layer[2] * layer[5] * layer[6] * (1 if layer[0] == 1 else layer[1])
    # Added from left to right as MAESTRO does: another order would round otherwise.
    energy = result[4] * 18.61 + inputs * 18.61 + result[5] * 18.61 + weights * 18.61 + result[6] * 18.61
    costs.energy_nj[i] = 0.00023 * energy
    pes, lanes, bandwidth = float(machine[0]), float(machine[4]), float(machine[1])
    # A need that has wrapped to 0 counts as 1, as in MAESTRO.
    l1, l2 = result[2] if result[2] != 0 else 1, result[3] if result[3] != 0 else 1
    costs.power[i], costs.area[i] = power_and_area(pes, lanes, bandwidth, l1, l2)


@inlined
def refuse_row(costs, i, reason):
    """Row i is not priced, for a reason."""
    costs.valid[i], costs.reason[i] = False, reason
    costs.cycles[i] = costs.macs[i] = costs.l1_size[i] = costs.l2_size[i] = 0
    costs.energy_nj[i] = costs.power[i] = costs.area[i] = 0.0


@kernel
def price_rows(layers, hardware, rows, wrap, share, costs):
    """Prices the regular rows from the first of `share` to before its second; returns how many others it has
    marked LEFT.

    `layers` (n or 1, 9) and `hardware` (n or 1, 5) are as in `price_cases`. With `wrap`, buffer needs beyond
    31 bits wrap, as MAESTRO prints them.
    """
    work = np.empty((WORK_ROWS, MAX_GROUPS), dtype=np.int64)
    result = np.empty(7, dtype=np.int64)
    left = 0
    start, stop = share
    for i in range(start, stop):
        # One layer or machine is that of all rows.
        layer = layers[i if len(layers) > 1 else 0]
        machine = hardware[i if len(hardware) > 1 else 0]
        row = rows[i]
        reason = check_values(layer, machine, row)
        if reason == FEASIBLE:
            reason = LEFT
            if is_regular(layer, machine[0], row) and not may_overflow(layer, machine[3]):
                limits = machine[0], machine[1], machine[2], machine[3], machine[4]
                if price_regular(layer, limits, row, work, result):
                    reason = FEASIBLE
        if reason == FEASIBLE:
            write_figures(layer, machine, result, wrap, costs, i)
        else:
            refuse_row(costs, i, reason)
            left += int(reason == LEFT)
    return left


@kernel
def price_left(layers, hardware, rows, wrap, share, costs):
    """Prices the rows that `price_rows` has marked LEFT, by the complete walk.

    A kernel of its own, because few need it and it takes long to compile.
    """
    tables = np.empty((2, TABLE_ROWS, 6), dtype=np.int64)
    params = np.empty((2, 6), dtype=np.int64)
    orders = np.empty((2, 6), dtype=np.int64)
    runs = np.empty((64, 3), dtype=np.int64)
    result = np.empty(10, dtype=np.int64)
    start, stop = share
    for i in range(start, stop):
        if costs.reason[i] != LEFT:
            continue
        layer = layers[i if len(layers) > 1 else 0]
        machine = hardware[i if len(hardware) > 1 else 0]
        limits = machine[0], machine[1], machine[2], machine[3], machine[4]
        reason = price_any(layer, limits, rows[i], tables, params, orders, runs, result)
        if reason == FEASIBLE:
            write_figures(layer, machine, result, wrap, costs, i)
        else:
            refuse_row(costs, i, reason)
