"""Kernels as plain Python: of those that are only compiled into others, a few calls cost less so."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from types import FunctionType
from typing import Any


@cache
def plain(kernel: Any) -> Callable[..., Any]:
    """A kernel that is not compiled, nor is any that it calls."""
    function = kernel.py_func
    known = dict(function.__globals__)
    for name in function.__code__.co_names:
        if hasattr(known.get(name), "py_func"):
            known[name] = plain(known[name])
    return FunctionType(function.__code__, known, function.__name__)
