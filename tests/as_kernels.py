"""Subroutines of kernels, called from Python: each is compiled once more, as a kernel."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from dse.support.compiling import as_kernel


class AsKernels:
    """A module of subroutines, called as if they were kernels."""

    def __init__(self, module: ModuleType) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._module, name)
        return as_kernel(found) if hasattr(found, "py_func") else found
