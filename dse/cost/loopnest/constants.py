"""What an access, a MAC and a square millimetre cost: defaults with their sources, all of them replaceable.

Energy: Horowitz, "Computing's energy problem (and what we can do about it)", ISSCC 2014, gives 0.4 pJ for a
16-bit floating-point addition and 1.1 pJ for a multiplication in 45 nm: 1.5 pJ a MAC on 16-bit elements. The
other accesses follow by the ratios of Chen et al., "Eyeriss: A Spatial Architecture for Energy-Efficient
Dataflow for Convolutional Neural Networks", ISCA 2016, Table IV: register file 1, PE to PE 2, global buffer
6, DRAM 200 times a MAC.

Area: the MAC as synthesised in 45 nm for the areas beside Horowitz's energies (1,360 um2 for the addition,
1,640 um2 for the multiplication). A bit of SRAM takes a cell of 0.346 um2 (Mistry et al., "A 45nm Logic
Technology", IEDM 2007), and as much again for what surrounds the cells: 16 bits are 11.1 um2. The wires of
the NoC are not counted.

Leakage: 28 W idle on 331 mm2 (Jouppi et al., "In-Datacenter Performance Analysis of a Tensor Processing
Unit", ISCA 2017, Table 2), which includes an idle clock: 85 mW a mm2, an upper bound.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

from dse.accelerator import Accelerator
from dse.checks import positive_number


@dataclass(frozen=True)
class Constants:
    """Energies in pJ of a MAC and of an element's read or write, areas in um2, leakage in mW a mm2."""

    mac_pj: float = 1.5
    l1_pj: float = 1.5
    noc_pj: float = 3.0
    l2_pj: float = 9.0
    dram_pj: float = 300.0
    mac_um2: float = 3000.0
    element_um2: float = 11.1
    leakage_mw_per_mm2: float = 85.0

    def __post_init__(self) -> None:
        for item in fields(self):
            number = positive_number(getattr(self, item.name), f"constants: {item.name}")
            object.__setattr__(self, item.name, number)

    def area_mm2(self, accelerator: Accelerator) -> float:
        """The area of all MACs and buffers of an accelerator."""
        pe = accelerator.simd_lanes * self.mac_um2 + accelerator.l1_size * self.element_um2
        return (accelerator.num_pes * pe + accelerator.l2_size * self.element_um2) * 1e-6

    def leakage_mw(self, accelerator: Accelerator) -> float:
        """The power that an accelerator takes without doing anything."""
        return self.area_mm2(accelerator) * self.leakage_mw_per_mm2
