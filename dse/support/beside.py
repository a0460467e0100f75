"""Kernels that another process compiles at the same time: numba compiles one at a time in each."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dse.support.compilations import compiled_elsewhere
from dse.support.jit import OPTIONS


def compiled_before(kernel: Any) -> bool:
    """Whether a kernel is on disk, or cannot be there."""
    cache = getattr(kernel, "_cache", None)
    name = getattr(getattr(cache, "_impl", None), "filename_base", None)
    if not OPTIONS["cache"] or name is None:
        return True
    return Path(cache.cache_path, f"{name}.nbi").is_file()  # type: ignore[union-attr]


def compile_beside(module: str, *arguments: str) -> Callable[[], None]:
    """Run a module in a process of its own; what is returned waits for its end, which counts as compiling.

    Whether it comes to anything does not matter: what it has not compiled is compiled here.
    """
    command = [sys.executable, "-m", module, *arguments]
    try:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
    except OSError:
        return lambda: None

    def wait() -> None:
        with compiled_elsewhere():
            process.wait()

    return wait
