"""The cost model as the registry knows it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import inf
from typing import Any

import numpy as np

from dse.core.cost_model import Detail
from dse.core.figures import CostBatch
from dse.core.layer import Layer
from dse.core.reasons import Reason
from dse.core.roofline import Roofline, compulsory_words, make_roofline
from dse.domains.levels.cost_model import LevelsCostModel, PriceRows
from dse.domains.levels.layout import RowArray
from dse.domains.levels.machine import Machine
from dse.domains.levels.mapping import HierarchyMapping
from dse.domains.levels.workload import workload_of
from dse.models.timeloop import prepared_prices as prepare
from dse.models.timeloop.cases import CaseReader, price_cases
from dse.models.timeloop.faults import Fault
from dse.models.timeloop.presets import MACHINES, load_machine

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


class Timeloop(LevelsCostModel):
    """Timeloop's figures of mappings onto machines of any number of levels."""

    name = "timeloop"
    version = "1"
    prices_strides = True
    prices_widths = True
    prices_cases = True
    explains = True
    proof_module = "dse.models.timeloop.proof.search"
    residence_module = "dse.models.timeloop.residence"
    check_module = "dse.models.timeloop.check.claims"
    bench_module = "dse.models.timeloop.others"

    @classmethod
    def machines(cls) -> Mapping[str, str]:
        """See `dse.models.timeloop.presets.MACHINES`."""
        return MACHINES

    def load_machine(self, name: str) -> Machine:
        """See `dse.models.timeloop.presets.load_machine`."""
        return load_machine(name)

    def prepared(self, layer: Layer, machine: Machine) -> PriceRows:
        """See CostModel. Energy is in nJ; power and area are not known, and 0."""
        machine = machine.of_widths(layer.bits)
        workload = workload_of(layer, machine.bits)
        price_rows = prepare(workload, machine)

        def price(rows: RowArray, threads: int = 1) -> CostBatch:
            priced = price_rows(rows, threads)
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

    def energy_sources(self, layer: Layer, hardware: Machine) -> tuple[str, ...]:
        """See CostModel: what the machine's file took from a table."""
        return hardware.of_widths(layer.bits).sources

    def roofline(self, layer: Layer, hardware: Machine) -> Roofline | None:
        """See CostModel. The outermost level reads inputs and weights, and is written outputs. None where
        tensors are held."""
        if any(level.holds for level in hardware.levels):
            return None
        hardware = hardware.of_widths(layer.bits)
        link, words = hardware.levels[0], compulsory_words(layer).wide(hardware.bits)
        read, written = words.weights + words.inputs, words.outputs
        limits = zip((read, written, words.total), link.bandwidth.each, strict=True)
        cycles = max((count / limit for count, limit in limits if limit is not None), default=0.0)
        energy = (read * link.energy.read_pj + written * link.energy.update_pj) / link.block
        return make_roofline(
            layer,
            peak=hardware.macs,
            bandwidth=words.total / cycles if cycles else inf,
            mac_pj=hardware.mac_pj,
            word_pj=energy / words.total,
            bits=hardware.bits,
        )

    def detail(self, layer: Layer, machine: Machine, mapping: HierarchyMapping) -> Detail | None:
        """See CostModel."""
        from dse.models.timeloop.breakdown import break_down

        machine = machine.of_widths(layer.bits)
        return break_down(workload_of(layer, machine.bits), machine, mapping)

    def price_lines(self, lines: Iterable[tuple[str, str]], *, detail: bool = False) -> list[dict[str, Any]]:
        """See CostModel; with `detail`, the accesses by level and tensor and the energy by level."""
        reader = CaseReader()
        return price_cases([reader.read(text, where) for where, text in lines], detail=detail)
