"""Spaces of hardware for tests: DOSA's machines of a side and two memories; and accelerators."""

from __future__ import annotations

from typing import Any

from dse.domains.codesign.reading import space_from_dict
from dse.domains.codesign.space import HardwareSpace


def gemmini(pe: Any, scratchpad_kb: Any, accumulator_kb: Any, **more: Any) -> HardwareSpace:
    """Machines of the data set of DOSA: a side in PEs, a scratchpad and accumulators in KB."""
    return space_from_dict(
        {
            "base": "gemmini",
            "cost_model": "timeloop",
            "parameters": {"pe": pe, "scratchpad_kb": scratchpad_kb, "accumulator_kb": accumulator_kb},
            "hardware": {
                "levels": {
                    "Scratchpad": {
                        "size": "pe * ceil(scratchpad_kb * 1024 / pe)",
                        "fan_out": "pe",
                        "block": "pe",
                        "bandwidth": "2 * pe",
                        "access_pj": "by size",
                    },
                    "Accumulator": {
                        "size": "ceil(accumulator_kb * 1024 / (4 * pe))",
                        "fan_out": "pe",
                        "word_bits": 32,
                        "access_pj": "by size",
                    },
                }
            },
            **more,
        }
    )


def chips(**hardware: Any) -> HardwareSpace:
    """Accelerators under `loopnest`; the keys of `hardware` are figures, other keys those of the file."""
    rest = {key: hardware.pop(key) for key in ("constraints", "area_mm2", "leakage_mw") if key in hardware}
    return space_from_dict({"base": "edge", "cost_model": "loopnest", "hardware": hardware, **rest})
