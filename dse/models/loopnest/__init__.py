"""The sound cost model: a mapping's loop nest on DRAM, L2, L1s and PEs, every word and cycle counted.

Each transition of the nest moves what the next step needs and is not there. A step takes as long as its
busiest PE or its transfers over the NoC, an outer step as long as its steps or its transfers from and to
DRAM, whichever is longer. Energy is what the MACs and all accesses take. `docs/loopnest.md` states the model
as equations; `reference` computes it in plain Python, `kernel` over batches.
"""

from __future__ import annotations

from collections.abc import Mapping as Table
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from dse.core.cost_model import Detail
from dse.core.figures import CostBatch, CostColumns
from dse.core.layer import DIMS, Layer
from dse.core.roofline import Roofline, make_roofline
from dse.domains.clustered.accelerator import MACHINE_FIGURES, Accelerator
from dse.domains.clustered.cost_model import CaseExtras, CostModel, PriceRows, cost_columns, price_by_kernel
from dse.domains.clustered.mapping import (
    CLUSTER,
    INNER_PARALLEL,
    INNER_TILE,
    OUTER_PARALLEL,
    OUTER_TILE,
    Mapping,
    MappingBatch,
)
from dse.models.loopnest.constants import Constants
from dse.models.loopnest.counts import MOVED, Counts
from dse.models.loopnest.params import machine_params, on_machines
from dse.models.loopnest.records import COUNTED
from dse.models.loopnest.units import in_units, l1_a_mac
from dse.support.arrays import BoolArray, FloatArray, IntArray, RecordArray
from dse.support.jit import load_kernels

__all__ = ["Constants", "Counts", "LoopNest"]

KERNEL = "dse.models.loopnest.kernel"
NO_DETAILS = np.empty(0, COUNTED)


@dataclass(frozen=True)
class LoopNest(CostModel):
    """Our own model: every MAC is done and every word counted; strides, paddings, dilations as they are.

    `constants` may be replaced.
    """

    constants: Constants = field(default_factory=Constants)

    name = "loopnest"
    version = "1"
    units: ClassVar[Table[str, str]] = {"area": "mm2", "power": "mW"}
    prices_strides = True
    prices_cases = True
    explains = True
    rates = ("noc_bandwidth", "offchip_bandwidth")
    prices_widths = True
    proof_module = "dse.models.loopnest.bound.certifier"
    check_module = "dse.models.loopnest.check.claims"
    bench_module = "dse.models.loopnest.others"
    residence_module = "dse.domains.clustered.residence"
    settings_type = Constants

    @property
    def settings(self) -> Constants:  # type: ignore[override]
        """What a user may set are the constants."""
        return self.constants

    def evaluate(
        self, layer: Layer, accelerator: Accelerator, mappings: MappingBatch, *, threads: int = 1
    ) -> CostBatch:
        """The costs of `mappings` of `layer`: energy in nJ, power in mW, area in mm2."""
        return self.prepared(layer, accelerator)(mappings.rows, threads=threads)

    def prepared(self, layer: Layer, accelerator: Accelerator) -> PriceRows:
        """See CostModel; rows that bring a machine each are priced together."""
        accelerator = accelerator.of_widths(layer.bits)
        known = machine_params(layer, accelerator, self.constants)
        per = in_units(self.constants, accelerator)

        def price(rows: IntArray, machines: IntArray | None = None, threads: int = 1) -> CostBatch:
            there = known if machines is None else on_machines(*known, layer, machines, per)
            return _price(*there, rows, threads)

        return price

    def roofline(self, layer: Layer, hardware: Accelerator) -> Roofline | None:
        """See CostModel. A MAC reads three operands of L1 and writes one; a word of DRAM goes through L2, the
        NoC and an L1 at least once (docs, section 6). None where operands stay in L2."""
        if hardware.holds:
            return None
        hardware = hardware.of_widths(layer.bits)
        per = in_units(self.constants, hardware)
        return make_roofline(
            layer,
            peak=hardware.num_pes * hardware.simd_lanes,
            bandwidth=hardware.offchip_bandwidth,
            mac_pj=per.mac_pj + l1_a_mac(hardware) * per.l1_pj,
            word_pj=per.dram_pj + 2 * per.l2_pj + per.noc_pj + per.l1_pj,
            bits=hardware.tensor_bits,
        )

    def needed_area(self, layer: Layer, machines: IntArray, rows: IntArray, costs: CostBatch) -> FloatArray:
        """The area in mm2 of the PEs that ever work, with L1s and an L2 as large as the mapping needs."""
        lanes = machines[:, MACHINE_FIGURES.index("simd_lanes")]
        working = _working_pes(layer, machines, rows)
        area = self.constants.area_of(working, lanes, costs.l1_size, costs.l2_size)
        return np.where(costs.valid, area, 0.0)

    def price_cases(
        self,
        layers: IntArray,
        hardware: IntArray,
        rows: IntArray,
        extras: CaseExtras | None = None,
        *,
        threads: int = 1,
    ) -> CostBatch:
        """Prices rows as written, each with its own layer and hardware, as `CostModel.price_cases` has them.

        `extras` says how much of the input is padding, which L1 and L2 there are and how fast the clock is.
        A layer or a machine that cannot be is a row that is not valid.
        """
        from dse.models.loopnest.cases import cost_cases

        return cost_cases(self, layers, hardware, rows, extras)

    def count(self, layer: Layer, accelerator: Accelerator, mapping: Mapping) -> Counts | None:
        """What the figures of one mapping are made of; None if it is not valid.

        Words are counted, or bits where they have widths.
        """
        details, valid = self._counted(layer, accelerator, MappingBatch.of([mapping]).rows)
        return Counts(*details[0].tolist()) if valid[0] else None

    def counts(self, layer: Layer, accelerator: Accelerator, mappings: MappingBatch) -> dict[str, IntArray]:
        """See CostModel: all but the cycles themselves, and what buffers need."""
        details, valid = self._counted(layer, accelerator, mappings.rows)
        found = {name: details[name] for name in ("compute", "filling", "drain", "dram_wait", *MOVED)}
        return {name: np.where(valid, column, 0) for name, column in found.items()}

    def _counted(
        self, layer: Layer, accelerator: Accelerator, rows: IntArray
    ) -> tuple[RecordArray, BoolArray]:
        """The counts (COUNTED) of rows of mappings, and which of them are valid."""
        known = machine_params(layer, accelerator.of_widths(layer.bits), self.constants)
        details, costs = np.zeros(len(rows), COUNTED), cost_columns(len(rows))
        load_kernels(KERNEL).price_rows(*known, rows, (0, len(rows)), details, costs)
        return details, costs.valid

    def detail(self, layer: Layer, accelerator: Accelerator, mapping: Mapping) -> Detail | None:
        """Where the cycles, the energy and the words of one mapping go; None if it is not valid."""
        from dse.models.loopnest.breakdown import detail_of

        counts = self.count(layer, accelerator, mapping)
        if counts is None:
            return None
        return detail_of(layer, accelerator.of_widths(layer.bits), mapping, counts, self.constants)


def _working_pes(layer: Layer, machines: IntArray, rows: IntArray) -> IntArray:
    """The most PEs at work at a time (n,): in each cluster at work, those that have an inner tile."""
    # A depthwise layer has one filter for each channel: spreading its filters spreads its channels.
    spread = np.arange(len(DIMS))
    spread[DIMS.index("K")] = DIMS.index("C" if layer.type == "DSCONV" else "K")
    sizes, each = np.array([layer.loops[dim] for dim in DIMS]), np.arange(len(rows))
    outer_dim, inner_dim = spread[rows[:, OUTER_PARALLEL]], spread[rows[:, INNER_PARALLEL]]
    outer = np.minimum(np.maximum(rows[:, OUTER_TILE:CLUSTER], 1), sizes)
    inner = np.minimum(np.maximum(rows[:, INNER_TILE:], 1), outer)
    clusters = np.maximum(machines[:, MACHINE_FIGURES.index("num_pes")] // np.maximum(rows[:, CLUSTER], 1), 1)
    busy_clusters = np.minimum(-(-sizes[outer_dim] // outer[each, outer_dim]), clusters)
    busy_pes = np.minimum(-(-outer[each, inner_dim] // inner[each, inner_dim]), rows[:, CLUSTER])
    working: IntArray = busy_clusters * busy_pes
    return working


def _price(problems: RecordArray, energies: RecordArray, rows: IntArray, threads: int) -> CostBatch:
    """The costs of rows on one machine, or each on its own."""
    kernel = load_kernels(KERNEL)

    def price_share(share: tuple[int, int], costs: CostColumns) -> None:
        kernel.price_rows(problems, energies, rows, share, NO_DETAILS, costs)

    return price_by_kernel(price_share, len(rows), threads)
