"""The cost model that equals the public MAESTRO program (Kwon et al., MICRO 2019), figure by figure.

Energy is MAESTRO's for a layer in a file of its own: L2 accesses only. Power and area use MAESTRO's units
and the buffers that the mapping needs. `reference` says in plain Python what is computed; `kernel` computes
it over batches.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from dse.core.cost_model import Detail
from dse.core.figures import CostBatch, CostColumns
from dse.core.layer import DIMS, TENSORS, TYPES, Layer
from dse.domains.clustered.accelerator import MACHINE_FIGURES, Accelerator
from dse.domains.clustered.cost_model import CaseExtras, CostModel, PriceRows, price_by_kernel
from dse.domains.clustered.figures import environment_area
from dse.domains.clustered.mapping import Mapping as DataflowMapping
from dse.domains.clustered.mapping import MappingBatch
from dse.models.maestro.buffers import needed_buffers
from dse.support.arrays import FloatArray, IntArray
from dse.support.jit import load_kernels

_HARDWARE = [
    MACHINE_FIGURES.index(name)
    for name in ("num_pes", "noc_bandwidth", "offchip_bandwidth", "noc_latency", "simd_lanes")
]
"""The figures of a machine that MAESTRO is given, in the order of the kernel's columns."""


class Maestro(CostModel):
    """MAESTRO's figures for CONV and DSCONV layers and two-level mappings."""

    name = "maestro"
    version = "0.1.0"
    units: ClassVar[Mapping[str, str]] = {"area": "um2"}
    output_halo = True
    prices_cases = True
    proof_module = "dse.models.maestro.proof.bounds"
    check_module = "dse.models.maestro.check.claims"
    bench_module = "dse.models.maestro.others"

    def evaluate(
        self, layer: Layer, accelerator: Accelerator, mappings: MappingBatch, *, threads: int = 1
    ) -> CostBatch:
        """The costs of `mappings` of `layer.lowered()`: MAESTRO knows no padding and mis-models strides."""
        return self.prepared(layer, accelerator)(mappings.rows, threads=threads)

    def prepared(self, layer: Layer, accelerator: Accelerator) -> PriceRows:
        """See CostModel; rows that bring a machine each are priced together."""
        layers, hardware = layer_row(layer.lowered()), hardware_row(accelerator)

        def price(rows: IntArray, machines: IntArray | None = None, threads: int = 1) -> CostBatch:
            # In rows, as all hardware is: for columns the kernels would be compiled anew.
            there = hardware if machines is None else np.ascontiguousarray(machines[:, _HARDWARE])
            return price_cases(layers, there, rows, wrap=False, threads=threads)

        return price

    def needed_area(self, layer: Layer, machines: IntArray, rows: IntArray, costs: CostBatch) -> FloatArray:
        """The area as the public environment around MAESTRO has it: see `area`."""
        pes = machines[:, MACHINE_FIGURES.index("num_pes")]
        return np.where(costs.valid, environment_area(pes, costs.l1_size, costs.l2_size), 0.0)

    def detail(self, layer: Layer, accelerator: Accelerator, mapping: DataflowMapping) -> Detail:
        """What the first step holds, tensor by tensor: see `dse.models.maestro.buffers`."""
        needed = needed_buffers(layer, accelerator.num_pes, MappingBatch.of([mapping]))
        stores = {"L1": needed.l1[0].tolist(), "L2": needed.l2[0].tolist()}
        return Detail(
            buffers={name: dict(zip(TENSORS, sizes, strict=True)) for name, sizes in stores.items()}
        )

    def price_cases(
        self,
        layers: IntArray,
        hardware: IntArray,
        rows: IntArray,
        extras: CaseExtras | None = None,
        *,
        threads: int = 1,
    ) -> CostBatch:
        """Prices rows as written, each with its own layer and hardware, strides included.

        `layers` (n, 9): type (0 CONV, 1 DSCONV), K, C, Y, X, R, S, row stride, column stride. `hardware`
        (n, 5): PEs, NoC bandwidth, off-chip bandwidth, NoC latency, SIMD lanes. `rows` (n, 27): as in a
        MappingBatch. Any 64-bit values are taken. Buffer needs wrap at 32 bits, as MAESTRO prints them
        (`evaluate` does not let them: a need that wraps would seem to fit). `extras` change nothing: padding
        is input like any other, and no figure depends on capacities or the clock.
        """
        return price_cases(layers, hardware, rows, wrap=True, threads=threads)


def layer_row(layer: Layer) -> IntArray:
    """A layer as `price_cases` takes it, shape (1, 9)."""
    sizes = [getattr(layer, dim) for dim in DIMS]
    return np.array([[TYPES.index(layer.type), *sizes, *layer.stride]], dtype=np.int64)


def hardware_row(accelerator: Accelerator) -> IntArray:
    """An accelerator as `price_cases` takes it, shape (1, 5)."""
    return np.array([accelerator.machine_row], dtype=np.int64)[:, _HARDWARE]


def price_cases(
    layers: IntArray, hardware: IntArray, rows: IntArray, *, wrap: bool, threads: int
) -> CostBatch:
    """See `Maestro.price_cases`; one row of `layers` or `hardware` serves all mappings."""
    kernel = load_kernels("dse.models.maestro.kernel")

    def price_share(share: tuple[int, int], costs: CostColumns) -> None:
        if kernel.price_rows(layers, hardware, rows, wrap, share, costs):
            kernel.price_left(layers, hardware, rows, wrap, share, costs)

    return price_by_kernel(price_share, len(rows), threads)
