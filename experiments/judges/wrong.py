"""An adviser that is wrong on purpose: what it says of a mapping has nothing to do with it."""

from __future__ import annotations

import hashlib

from dse.core.layer import Layer
from dse.domains.clustered.accelerator import Accelerator
from dse.domains.clustered.mapping import MappingBatch


def price(layer: Layer, accelerator: Accelerator, mappings: MappingBatch) -> list[dict[str, float]]:
    """Cycles that are drawn by the mapping's own digest."""
    said = [int(hashlib.sha256(row.tobytes()).hexdigest()[:6], 16) + 1 for row in mappings.rows]
    return [{"cycles": number, "energy_nj": 1.0} for number in said]
