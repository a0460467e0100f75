"""Which priced mappings count: the rules that keep a search out of the buffers' limits and a model's holes.

A point is feasible if the cost model accepts it, the L1 and L2 that it needs fit, the model reports at least
the layer's MACs, and its cycles are neither below `ceil(MACs / (PEs * lanes))` nor below the mapping's own
serial floor, the steps of its longest-running PE. Anything else has loss `inf` and a `Reason`.

The serial floor is `ceil(product of serial(d) over K, C, Y, X, R, S / lanes)`, Y and X in outputs. With D the
size of a dim, a and b its outer and inner tile, P the cluster size, and w the number of clusters if d is the
outer parallel dim, else 1:

    serial(d) = (D // (a*w)) * h(a) + h(min(a, D % (a*w)))
    h(T) = (T // (b*P)) * b + min(b, T % (b*P)) if d is the inner parallel dim, else T

A filter dim that is not parallel contributes its whole size, whatever its tiles: R * S in every mapping of a
MappingSpace. A depthwise layer has K = 1, and a parallel K means C.
"""

from __future__ import annotations

import warnings

import numpy as np

from dse.core.figures import CostBatch, CostColumns
from dse.core.layer import DIMS, Layer
from dse.core.objective import parse_objectives
from dse.core.reasons import Reason
from dse.domains.clustered.accelerator import Accelerator, figure_column
from dse.support.arrays import CodeArray, FloatArray, IntArray, RecordArray
from dse.support.errors import FloorWarning
from dse.support.jit import load_kernels
from dse.support.validation import INT64_MAX

BELOW_FLOORS = (Reason.BELOW_COMPUTE_FLOOR, Reason.BELOW_SERIAL_FLOOR)


class FeasibilityRules:
    """The rules for one layer on one accelerator, with the loss under one objective.

    Of several objectives there is no loss: it is NaN where a mapping is feasible. Of a cost model that
    is `trusted`, by its name, cycles below a floor refuse nothing: the first are said in a FloorWarning.
    """

    def __init__(self, layer: Layer, accelerator: Accelerator, objective: str, trusted: str = "") -> None:
        self._kernel = load_kernels("dse.domains.clustered.feasibility_kernel")
        self._layer, self._accelerator, self._trusted, self._lenient = layer, accelerator, trusted, False
        self._limits = self._limits_of(np.array([accelerator.machine_row], dtype=np.int64))
        first, *others = parse_objectives(objective)
        self._terms, self._several = first.rows(self._kernel.COLUMNS), bool(others)

    def _limits_of(self, machines: IntArray) -> RecordArray:
        """What the kernel knows of the layer on each of some machines (n, figures)."""
        layer, limits = self._layer, np.empty(len(machines), self._kernel.LIMITS)
        pes, l1_size, l2_size, _, _, _, lanes, _ = machines.T
        limits["pes"], limits["lanes"], limits["l1_size"], limits["l2_size"] = pes, lanes, l1_size, l2_size
        limits["macs"], limits["compute_floor"] = layer.macs, -(-layer.macs // (pes * lanes))
        if self._lenient:
            limits["lanes"], limits["compute_floor"] = INT64_MAX, 0
        limits["depthwise"] = layer.type == "DSCONV"
        limits["sizes"] = [layer.loops[dim] for dim in DIMS]
        limits["hertz"] = figure_column(machines, "clock_ghz") * 1e9
        return limits

    def judge(
        self, rows: IntArray, costs: CostBatch, machines: IntArray | None = None
    ) -> tuple[FloatArray, CodeArray]:
        """The loss and the Reason code of each of n priced mappings; `rows` is a MappingBatch's (n, 27).

        `machines` (n, figures) are those that they are for, if each has its own.
        """
        count = len(rows)
        losses, reasons = np.empty(count), np.empty(count, np.uint8)
        limits = self._limits if machines is None else self._limits_of(machines)
        columns = CostColumns._make((*costs.values(), costs.valid, costs.reason))
        self._kernel.judge_rows(rows, columns, limits, self._terms, losses, reasons)
        if self._trusted and not self._lenient and (below := np.isin(reasons, BELOW_FLOORS)).any():
            first = int(below.argmax())
            self._say_below_floor(int(reasons[first]), rows[first], costs.take(slice(first, first + 1)))
            return self.judge(rows, costs, machines)
        if self._several:
            losses[reasons == 0] = np.nan
        return losses, reasons

    def _say_below_floor(self, reason: int, row: IntArray, costs: CostBatch) -> None:
        """Say once that a user's model is faster than the accelerator's file leaves room for."""
        why, machine = self._why(Reason(reason), row, costs), self._accelerator
        self._lenient = True
        self._limits = self._limits_of(np.array([machine.machine_row], dtype=np.int64))
        warnings.warn(
            f"cost model {self._trusted!r} says {why} (num_pes = {machine.num_pes}, simd_lanes = "
            f"{machine.simd_lanes}, the MACs of a PE in a cycle). Its cycles are used all the same",
            FloorWarning,
            stacklevel=2,
        )

    def serial_floors(self, rows: IntArray, machines: IntArray | None = None) -> IntArray:
        """The serial floor of each of n mappings, in cycles; `machines` are those that they are for."""
        floors = np.empty(len(rows), np.int64)
        limits = self._limits if machines is None else self._limits_of(machines)
        self._kernel.serial_floors(rows, limits, floors)
        return floors

    def explain(self, row: IntArray, costs: CostBatch) -> str:
        """Why a mapping is not feasible, with figures ("L1 needs 4096 of 512 elements"), or "feasible".

        `row` (27,) is the mapping, and its costs are the first.
        """
        _, reasons = self.judge(row[np.newaxis], costs.take(slice(1)))
        return self._why(Reason(int(reasons[0])), row, costs)

    def _why(self, reason: Reason, row: IntArray, costs: CostBatch) -> str:
        cycles = costs.cycles[0]
        if reason is Reason.L1_TOO_SMALL:
            return f"L1 needs {costs.l1_size[0]} of {self._accelerator.l1_size} {self._accelerator.unit}"
        if reason is Reason.L2_TOO_SMALL:
            return f"L2 needs {costs.l2_size[0]} of {self._accelerator.l2_size} {self._accelerator.unit}"
        if reason is Reason.WORK_DROPPED:
            return f"the cost model counts {costs.macs[0]} MACs, the layer has {self._layer.macs}"
        if reason is Reason.BELOW_COMPUTE_FLOOR:
            floor = self._limits["compute_floor"][0]
            return f"{cycles} cycles, but on all PEs the MACs take at least {floor}"
        if reason is Reason.BELOW_SERIAL_FLOOR:
            floor = self.serial_floors(row[np.newaxis])[0]
            return f"{cycles} cycles, but the busiest PE takes at least {floor}"
        return reason.text
