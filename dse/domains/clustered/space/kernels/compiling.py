"""How the functions of a space are compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from numba import njit

from dse.support.jit import LEAN, OPTIONS

F = TypeVar("F", bound=Callable[..., Any])


def compiled(function: F) -> F:
    """A kernel, compiled when first called; to its callers it has the types that it is written with."""
    kernel: F = njit(**OPTIONS)(function)
    return kernel


def compiled_into(function: F) -> F:
    """A part of kernels that makes no arrays, compiled into those that call it."""
    part: F = njit(**LEAN)(function)
    return part
