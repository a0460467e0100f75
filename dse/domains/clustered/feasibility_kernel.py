# mypy: disallow-untyped-calls=False, disallow-untyped-decorators=False, disallow-untyped-defs=False
"""The compiled feasibility rules: see `dse.domains.clustered.feasibility` for what they are."""

from __future__ import annotations

import numpy as np

from dse.core.layer import DIMS
from dse.core.reasons import Reason
from dse.domains.clustered.mapping import CLUSTER, INNER_PARALLEL, INNER_TILE, OUTER_PARALLEL, OUTER_TILE
from dse.support.arrays import FLOAT, INT, integer_fields, record_type
from dse.support.compiling import inlined, kernel, subroutine
from dse.support.numerics.losses import loss_value

L1_TOO_SMALL = int(Reason.L1_TOO_SMALL)
L2_TOO_SMALL = int(Reason.L2_TOO_SMALL)
WORK_DROPPED = int(Reason.WORK_DROPPED)
BELOW_COMPUTE_FLOOR = int(Reason.BELOW_COMPUTE_FLOOR)
BELOW_SERIAL_FLOOR = int(Reason.BELOW_SERIAL_FLOOR)
OVER_CAP = int(Reason.OVER_CAP)

K_DIM, C_DIM = DIMS.index("K"), DIMS.index("C")
DIM_COUNT = len(DIMS)
# What the rules know of a layer on a machine; the dims' sizes in the order of DIMS.
LIMITS = record_type(
    *integer_fields("pes lanes l1_size l2_size macs compute_floor depthwise"),
    ("sizes", INT, (DIM_COUNT,)),
    ("hertz", FLOAT),
)

COLUMNS = ("cycles", "energy_nj", "power", "area", "l1_size", "l2_size", "macs")
"""What objectives are made of, in the order of their rows: run times are the cycles over the clock."""

value_of = inlined(loss_value)


@kernel
def judge_rows(rows, costs, all_limits, terms, losses, reasons):
    """Write the loss and the reason of each of n priced mappings into `losses` and `reasons`.

    `costs` has the columns of a CostBatch. `all_limits` has a record for each of them, or one for all;
    `terms` are the objective's, for COLUMNS.
    """
    for i in range(len(rows)):
        limits = all_limits[i if len(all_limits) > 1 else 0]
        losses[i] = np.inf
        if not costs.valid[i]:
            reasons[i] = costs.reason[i]
        elif costs.l1_size[i] > limits.l1_size:
            reasons[i] = L1_TOO_SMALL
        elif costs.l2_size[i] > limits.l2_size:
            reasons[i] = L2_TOO_SMALL
        elif costs.macs[i] < limits.macs:
            reasons[i] = WORK_DROPPED
        elif costs.cycles[i] < limits.compute_floor:
            reasons[i] = BELOW_COMPUTE_FLOOR
        elif costs.cycles[i] < serial_floor(rows[i], limits):
            reasons[i] = BELOW_SERIAL_FLOOR
        else:
            reasons[i] = 0
            losses[i] = value_of(terms, figures_of(costs, i, limits.hertz))
            # Above a cap the loss is inf, which is all that says so.
            if losses[i] == np.inf:
                reasons[i] = OVER_CAP


@inlined
def figures_of(costs, i, hertz):
    """The figures of row i in the order of COLUMNS."""
    l1_size, l2_size, macs = float(costs.l1_size[i]), float(costs.l2_size[i]), float(costs.macs[i])
    seconds = costs.cycles[i] / hertz
    return seconds, costs.energy_nj[i], costs.power[i], costs.area[i], l1_size, l2_size, macs


@kernel
def serial_floors(rows, all_limits, floors):
    """Write the serial floor of each of n mappings into `floors`."""
    for i in range(len(rows)):
        floors[i] = serial_floor(rows[i], all_limits[i if len(all_limits) > 1 else 0])


@subroutine
def serial_floor(row, limits):
    """Cycles that the busiest PE of one mapping needs for its steps: the product of serial(d)."""
    # What no model accepts (a tile of 0, a cluster of more than all PEs) must not divide by zero either.
    cluster = min(max(row[CLUSTER], 1), limits.pes)
    outer_parallel, inner_parallel = row[OUTER_PARALLEL], row[INNER_PARALLEL]
    if limits.depthwise:
        outer_parallel = C_DIM if outer_parallel == K_DIM else outer_parallel
        inner_parallel = C_DIM if inner_parallel == K_DIM else inner_parallel
    steps = 1
    for dim in range(DIM_COUNT):
        size = limits.sizes[dim]
        # Tiles of a dim that is not spread add up to all of it, on every PE: serial(d) = D.
        if dim != outer_parallel and dim != inner_parallel:
            steps *= size
            continue
        # Tiles beyond the size change nothing here; cut to it, they cannot overflow.
        outer = min(max(row[OUTER_TILE + dim], 1), size)
        inner = min(max(row[INNER_TILE + dim], 1), size)
        spread = outer * (limits.pes // cluster if dim == outer_parallel else 1)
        lanes = cluster if dim == inner_parallel else 0
        # Whole rounds over the clusters, and a last one, of whose tiles the first is the largest.
        steps *= (size // spread) * busiest_steps(outer, inner, lanes) + busiest_steps(
            min(outer, size % spread), inner, lanes
        )
    # A PE's lanes share its steps, at best evenly.
    return -(-steps // limits.lanes)


@subroutine
def busiest_steps(extent, tile, pes):
    """h(T): steps of the busiest of `pes` PEs over `extent` in tiles; no PEs: the dim is not spread."""
    if pes == 0:
        return extent
    # In the last round the first PE has a whole tile, or all that is left.
    return extent // (tile * pes) * tile + min(tile, extent % (tile * pes))
