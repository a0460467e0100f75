# mypy: disallow-untyped-calls=False, disallow-untyped-decorators=False, disallow-untyped-defs=False
"""The compiled feasibility rules: see `dse.domains.clustered.feasibility` for what they are."""

from __future__ import annotations

import numpy as np

from dse.core.layer import DIMS
from dse.core.reasons import Reason
from dse.domains.clustered.mapping import CLUSTER, INNER_PARALLEL, INNER_TILE, OUTER_PARALLEL, OUTER_TILE
from dse.support.compiling import inlined, kernel, subroutine_with_arrays
from dse.support.numerics.losses import loss_value

L1_TOO_SMALL = int(Reason.L1_TOO_SMALL)
L2_TOO_SMALL = int(Reason.L2_TOO_SMALL)
WORK_DROPPED = int(Reason.WORK_DROPPED)
BELOW_COMPUTE_FLOOR = int(Reason.BELOW_COMPUTE_FLOOR)
BELOW_SERIAL_FLOOR = int(Reason.BELOW_SERIAL_FLOOR)
OVER_CAP = int(Reason.OVER_CAP)

# Columns of the params about a layer and an accelerator; SIZES is the first of six, in the order of DIMS.
NUM_PES, LANES, L1, L2, MACS, COMPUTE_FLOOR, DEPTHWISE, SIZES = range(8)
K_DIM, C_DIM = DIMS.index("K"), DIMS.index("C")
DIM_COUNT = len(DIMS)

COLUMNS = ("cycles", "energy_nj", "power", "area", "l1_size", "l2_size", "macs")
"""What objectives are made of, in the order of their rows: run times are the cycles over the clock."""

value_of = inlined(loss_value)


@kernel
def judge_rows(
    rows, cycles, energy_nj, power, area, l1_size, l2_size, macs, valid, model_reason,
    all_params, terms, hertz, losses, reasons,
):  # fmt: skip
    """Write the loss and the reason of each of n priced mappings into `losses` and `reasons`.

    `all_params` and `hertz` have a row for each of them, or one for all; `terms` are the objective's, for
    COLUMNS.
    """
    for i in range(len(rows)):
        params = all_params[i if len(all_params) > 1 else 0]
        losses[i] = np.inf
        if not valid[i]:
            reasons[i] = model_reason[i]
        elif l1_size[i] > params[L1]:
            reasons[i] = L1_TOO_SMALL
        elif l2_size[i] > params[L2]:
            reasons[i] = L2_TOO_SMALL
        elif macs[i] < params[MACS]:
            reasons[i] = WORK_DROPPED
        elif cycles[i] < params[COMPUTE_FLOOR]:
            reasons[i] = BELOW_COMPUTE_FLOOR
        elif cycles[i] < serial_floor(rows[i], params):
            reasons[i] = BELOW_SERIAL_FLOOR
        else:
            reasons[i] = 0
            seconds = cycles[i] / hertz[i if len(hertz) > 1 else 0]
            buffers = float(l1_size[i]), float(l2_size[i])
            figures = seconds, energy_nj[i], power[i], area[i], buffers[0], buffers[1], float(macs[i])
            losses[i] = value_of(terms, figures)
            if losses[i] == np.inf:
                reasons[i] = OVER_CAP


@kernel
def serial_floors(rows, all_params, floors):
    """Write the serial floor of each of n mappings into `floors`."""
    for i in range(len(rows)):
        floors[i] = serial_floor(rows[i], all_params[i if len(all_params) > 1 else 0])


@subroutine_with_arrays
def serial_floor(row, params):
    """Cycles that the busiest PE of one mapping needs for its steps."""
    # What no model accepts (a tile of 0, a cluster of more than all PEs) must not divide by zero either.
    cluster = min(max(row[CLUSTER], 1), params[NUM_PES])
    outer_parallel, inner_parallel = row[OUTER_PARALLEL], row[INNER_PARALLEL]
    if params[DEPTHWISE]:
        outer_parallel = C_DIM if outer_parallel == K_DIM else outer_parallel
        inner_parallel = C_DIM if inner_parallel == K_DIM else inner_parallel
    steps = 1
    for dim in range(DIM_COUNT):
        size = params[SIZES + dim]
        if dim != outer_parallel and dim != inner_parallel:
            steps *= size
            continue
        # Tiles beyond the size change nothing here; cut to it, they cannot overflow.
        outer = min(max(row[OUTER_TILE + dim], 1), size)
        inner = min(max(row[INNER_TILE + dim], 1), size)
        spread = outer * (params[NUM_PES] // cluster if dim == outer_parallel else 1)
        lanes = cluster if dim == inner_parallel else 0
        steps *= (size // spread) * busiest(outer, inner, lanes) + busiest(
            min(outer, size % spread), inner, lanes
        )
    return -(-steps // params[LANES])


@subroutine_with_arrays
def busiest(extent, tile, pes):
    """Steps of the busiest of `pes` PEs over `extent` in tiles; no PEs: the dim is not spread."""
    if pes == 0:
        return extent
    return extent // (tile * pes) * tile + min(tile, extent % (tile * pes))
