"""A budgeted arena for searchers of DNN-layer mappings onto spatial accelerators."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from dse.optimum import Certificate, certify
    from dse.problem.making import make_problem
    from dse.problem.problem import Problem
    from dse.report.comparing import Comparison, compare
    from dse.search.api import Result, search
    from dse.space.mapping_space import MappingSpace
    from dse.spec.accelerator import Accelerator, load_accelerator
    from dse.spec.layer import Layer
    from dse.spec.mapping import Mapping

_HOMES = {
    "Accelerator": "dse.spec.accelerator",
    "Certificate": "dse.optimum.certificate",
    "Comparison": "dse.report.comparing",
    "Layer": "dse.spec.layer",
    "Mapping": "dse.spec.mapping",
    "MappingSpace": "dse.space.mapping_space",
    "Problem": "dse.problem.problem",
    "Result": "dse.search.api",
    "certify": "dse.optimum",
    "compare": "dse.report.comparing",
    "load_accelerator": "dse.spec.accelerator",
    "make_problem": "dse.problem.making",
    "search": "dse.search.api",
}

__all__ = [
    "Accelerator",
    "Certificate",
    "Comparison",
    "Layer",
    "Mapping",
    "MappingSpace",
    "Problem",
    "Result",
    "certify",
    "compare",
    "load_accelerator",
    "make_problem",
    "search",
]


def __getattr__(name: str) -> Any:
    """The public names, each loaded from its module when it is first asked for."""
    if name not in _HOMES:
        raise AttributeError(f"module 'dse' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)
