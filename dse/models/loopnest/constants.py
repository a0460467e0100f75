"""What an access, a MAC and a square millimetre cost: defaults for 16-bit elements in 45 nm, all replaceable.

Sourced. Horowitz, "Computing's energy problem (and what we can do about it)", ISSCC 2014: in 45 nm a 16-bit
floating-point addition takes 0.4 pJ and a multiplication 1.1 pJ. Chen et al., "Eyeriss: A Spatial
Architecture for Energy-Efficient Dataflow for Convolutional Neural Networks", ISCA 2016, Table IV, for a
commercial 65 nm process: a register file of 0.5 kB takes as much as a MAC, PE to PE 2, a buffer above 100
kB 6, DRAM 200 times as much. Mistry et al., "A 45nm Logic Technology ...", IEDM 2007: an SRAM cell has
0.346 um2. Jouppi et al., "In-Datacenter Performance Analysis of a Tensor Processing Unit", ISCA 2017, Table
2: 28 W idle, a die of at most 331 mm2, in 28 nm. At second hand: 1,360 um2 and 1,640 um2 for the floating-
point units are printed beside Horowitz's energies in later slides and overviews, as synthesised in 45 nm; his
paper has no areas.

Assumed. A MAC is one multiplication and one addition. Eyeriss's ratios hold in 45 nm and for floating
point, for reads and writes alike, for buffers of every size (an L1 is priced as the register file) and for
every distance that a word travels on the NoC. (For DRAM this makes 300 pJ; Horowitz's 1.3 to 2.6 nJ for 64
bits would be 325 to 650 pJ.) What surrounds SRAM cells takes as much area as they do, 16 bits 11.1 um2;
wires and control take none. Leakage is the TPU's idle power by its area, 85 mW a mm2: an order of
magnitude, for idling includes a clock and inputs and outputs, the area is an upper bound, and the process
is another.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dse.core.model_settings import ModelConstants


@dataclass(frozen=True)
class Constants(ModelConstants):
    """Energies in pJ of a MAC and of an element's read or write, areas in um2, leakage in mW a mm2."""

    mac_pj: float = 1.5
    l1_pj: float = 1.5
    noc_pj: float = 3.0
    l2_pj: float = 9.0
    dram_pj: float = 300.0
    mac_um2: float = 3000.0
    element_um2: float = 11.1
    leakage_mw_per_mm2: float = 85.0

    def area_of(self, num_pes: Any, simd_lanes: Any, l1_size: Any, l2_size: Any) -> Any:
        """The area in mm2 of that many PEs with buffers of these sizes, in elements: numbers or arrays."""
        pe = simd_lanes * self.mac_um2 + l1_size * self.element_um2
        return (num_pes * pe + l2_size * self.element_um2) * 1e-6
