"""How our kernels are compiled by numba, how their disk cache is kept true, and how rows are shared out."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType

OPTIONS = {"cache": True, "nogil": True, "error_model": "numpy"}
"""Options of every kernel: cached on disk, free of the interpreter lock, no zero-division checks."""

SMALLEST_SHARE = 256
"""Rows below which a further thread costs more than it saves."""


@cache
def load_kernels(name: str) -> ModuleType:
    """The module of kernels of this name, imported when it is first needed, none of them stale."""
    package = import_module(name.rpartition(".")[0])
    drop_stale(Path(package.__path__[0]))
    return import_module(name)


def drop_stale(package: Path) -> None:
    """Forgets the compiled kernels of a package that are older than any of its sources.

    Numba looks at the file of the compiled function only, not at the files of the functions that it calls.
    Processes may do so at the same time: what another one has removed meanwhile is gone, and that is well.
    """
    newest = max(source.stat().st_mtime for source in package.glob("*.py"))
    for index in package.glob("__pycache__/*.nbi"):
        with suppress(FileNotFoundError):
            if index.stat().st_mtime < newest:
                index.unlink()


def share_out(work: Callable[[int, int], None], n: int, threads: int) -> None:
    """Does rows 0 to n, a range of them at a time, on up to `threads` threads."""
    shares = min(threads, n // SMALLEST_SHARE)
    if shares <= 1:
        work(0, n)
        return
    bounds = [n * share // shares for share in range(shares + 1)]
    with ThreadPoolExecutor(shares) as pool:
        list(pool.map(work, bounds[:-1], bounds[1:]))
