"""The cost model as the registry knows it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from dse.cost.figures import CostBatch
from dse.cost.protocol import CostModel, LevelsDetail
from dse.cost.timeloop import prepared
from dse.cost.timeloop.cases import CaseReader, price_cases
from dse.cost.timeloop.faults import Fault
from dse.cost.timeloop.presets import MACHINES, load_machine
from dse.spec.hierarchy.layout import RowArray
from dse.spec.hierarchy.machine import Machine
from dse.spec.hierarchy.mapping import HierarchyMapping
from dse.spec.hierarchy.workload import workload_of
from dse.spec.layer import Layer
from dse.spec.reasons import Reason

_REASONS = np.zeros(len(Fault), dtype=np.uint8)
for _fault, _reason in {
    Fault.FACTORS: Reason.WRONG_FACTORS,
    Fault.ORDER: Reason.WRONG_ORDER,
    Fault.KEEP: Reason.WRONG_KEEP,
    Fault.SPREAD: Reason.WRONG_SPREAD,
    Fault.FAN_OUT: Reason.TOO_WIDE,
    Fault.CAPACITY: Reason.LEVEL_TOO_SMALL,
    Fault.CYCLES: Reason.OUT_OF_RANGE,
}.items():
    _REASONS[_fault] = _reason


class Timeloop(CostModel):
    """Timeloop's figures of mappings onto machines of any number of levels."""

    name = "timeloop"
    hierarchical = True
    prices_strides = True
    provable = True

    @classmethod
    def machines(cls) -> Mapping[str, str]:
        """See `dse.cost.timeloop.presets.MACHINES`."""
        return MACHINES

    def load_machine(self, name: str) -> Machine:
        """See `dse.cost.timeloop.presets.load_machine`."""
        return load_machine(name)

    def prepared_machine(self, layer: Layer, machine: Machine) -> Callable[[RowArray], CostBatch]:
        """See CostModel. Energy is in nJ; power and area are not known, and 0."""
        workload = workload_of(layer)
        price_rows = prepared(workload, machine)

        def price(rows: RowArray) -> CostBatch:
            priced = price_rows(rows)
            n, valid = len(rows), priced.valid
            return CostBatch(
                cycles=priced.cycles,
                energy_nj=priced.energy_pj * 1e-3,
                power=np.zeros(n),
                area=np.zeros(n),
                l1_size=np.zeros(n, dtype=np.int64),
                l2_size=np.zeros(n, dtype=np.int64),
                macs=np.where(valid, workload.macs, 0),
                valid=valid,
                reason=_REASONS[priced.fault],
            )

        return price

    def machine_detail(
        self, layer: Layer, machine: Machine, mapping: HierarchyMapping
    ) -> LevelsDetail | None:
        """See CostModel."""
        from dse.cost.timeloop.breakdown import break_down

        return break_down(workload_of(layer), machine, mapping)

    def price_lines(self, lines: Iterable[tuple[str, str]], *, detail: bool = False) -> list[dict[str, Any]]:
        """See CostModel; with `detail`, the accesses by level and tensor and the energy by level."""
        reader = CaseReader()
        return price_cases([reader.read(text, where) for where, text in lines], detail=detail)
