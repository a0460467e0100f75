"""The area that the public environment around MAESTRO minimises, which is not MAESTRO's own column.

That environment (ArchGym's) computes it anew from the PEs and from the
buffers that the mapping needs: a PE, a bank of L2 for every 32,768 of what L2 must hold, and a bank of L1 in
each PE for every 64 of what it must hold. L1 and L2 are as MAESTRO prints them, double buffering included.
"""

from __future__ import annotations

from dse.support.arrays import FloatArray, IntArray

PE_UM2 = 4470.0
L2_BANK, L2_BANK_UM2 = 32_768, 4161.536
L1_BANK, L1_BANK_UM2 = 64, 4505.1889


def environment_area(num_pes: IntArray, l1_size: IntArray, l2_size: IntArray) -> FloatArray:
    """The area in um2 of that many PEs, with the banks that hold so much."""
    l1_banks, l2_banks = -(-l1_size // L1_BANK), -(-l2_size // L2_BANK)
    area: FloatArray = num_pes * PE_UM2 + l2_banks * L2_BANK_UM2 + l1_banks * L1_BANK_UM2 * num_pes
    return area
