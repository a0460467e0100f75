"""A budgeted arena for searchers of DNN-layer mappings onto spatial accelerators."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from dse.accelerator import Accelerator, load_accelerator
    from dse.api import Result, search
    from dse.certify import Certificate, certify
    from dse.layer import Layer
    from dse.mapping import Mapping
    from dse.problem import Problem
    from dse.space import MappingSpace

_HOMES = {
    "Accelerator": "dse.accelerator",
    "Certificate": "dse.certify.certificate",
    "Layer": "dse.layer",
    "Mapping": "dse.mapping",
    "MappingSpace": "dse.space",
    "Problem": "dse.problem",
    "Result": "dse.api",
    "certify": "dse.certify",
    "load_accelerator": "dse.accelerator",
    "search": "dse.api",
}

__all__ = [
    "Accelerator",
    "Certificate",
    "Layer",
    "Mapping",
    "MappingSpace",
    "Problem",
    "Result",
    "certify",
    "load_accelerator",
    "search",
]


def __getattr__(name: str) -> Any:
    """The public names, each loaded from its module when it is first asked for."""
    if name not in _HOMES:
        raise AttributeError(f"module 'dse' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)
