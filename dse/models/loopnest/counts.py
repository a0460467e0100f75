"""The counts of one mapping, from which all its figures follow."""

from __future__ import annotations

from dataclasses import dataclass, fields

from dse.core.layer import TENSORS


@dataclass(frozen=True)
class Counts:
    """Exact counts: words moved, by boundary and tensor, cycles, and the elements that buffers must hold.

    `dram_*` are moved between DRAM and L2, `l2_*` are read from or written to L2 on the array's side, `pe_*`
    are delivered to or sent by PEs: one word read from L2 may reach many PEs, and the sums of many PEs may
    make one word written to L2. `*_up` goes away from the PEs, `*_down` towards them.

    `cycles` = `filling` + `compute` + waiting for the NoC + `dram_wait` + `drain`, where `compute` is what
    the busiest PE takes, step by step.
    """

    cycles: int
    compute: int
    filling: int
    drain: int
    dram_wait: int
    dram_input: int
    dram_weight: int
    dram_output_up: int
    dram_output_down: int
    l2_input: int
    l2_weight: int
    l2_output_up: int
    l2_output_down: int
    pe_input: int
    pe_weight: int
    pe_output_up: int
    l1_need: int
    l2_need: int


COUNTS = tuple(item.name for item in fields(Counts))
"""The counts in their order, in which the kernel writes them."""

MOVED = tuple(name for name in COUNTS if any(tensor in name for tensor in TENSORS))
"""Those that count words."""
