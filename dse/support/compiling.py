"""How kernels are declared: what Python calls is a `kernel`, what only kernels call is a subroutine."""

from __future__ import annotations

import gc
from collections.abc import Callable
from functools import cache
from typing import Any

from numba import njit

from dse.support.jit import OPTIONS
from dse.support.subroutines import KernelLowering, OneLowering, SubroutineCompiler


class KernelCompiler(OneLowering):
    """Numba's compiler; no garbage is collected meanwhile, which takes a fifth of the time for little."""

    lowering = KernelLowering

    def compile_extra(self, func: Any) -> Any:
        """Compile a function, with all that it calls."""
        collected = gc.isenabled()
        gc.disable()
        try:
            return super().compile_extra(func)
        finally:
            if collected:
                gc.enable()


SUBROUTINE = {**OPTIONS, "cache": False, "pipeline_class": SubroutineCompiler}
ARRAYLESS = {**SUBROUTINE, "_nrt": False}


def kernel(function: Callable[..., Any]) -> Any:
    """A function that Python calls: compiled with all its subroutines, and kept on disk."""
    return njit(**OPTIONS, pipeline_class=KernelCompiler)(function)


def subroutine(function: Callable[..., Any]) -> Any:
    """A function that kernels call, and that makes no arrays: numba then counts no references in it."""
    return njit(**ARRAYLESS)(function)


def inlined(function: Callable[..., Any]) -> Any:
    """A short subroutine that is called often: it is inlined wherever it is called."""
    return njit(**ARRAYLESS, forceinline=True)(function)


def subroutine_with_arrays(function: Callable[..., Any]) -> Any:
    """A function that kernels call, and that makes arrays."""
    return njit(**SUBROUTINE)(function)


@cache
def as_kernel(subroutine: Any) -> Any:
    """A subroutine for Python to call, compiled once more."""
    return kernel(subroutine.py_func)
