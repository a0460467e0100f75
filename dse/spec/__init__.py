"""What is mapped onto what: layers, accelerators, mappings, objectives and reasons.

Imports `support`.
"""

from dse.spec.accelerator import Accelerator, load_accelerator
from dse.spec.layer import DIMS, Layer
from dse.spec.mapping import Level, Mapping, MappingBatch
from dse.spec.objective import OBJECTIVES
from dse.spec.reasons import Reason

__all__ = [
    "DIMS",
    "OBJECTIVES",
    "Accelerator",
    "Layer",
    "Level",
    "Mapping",
    "MappingBatch",
    "Reason",
    "load_accelerator",
]
