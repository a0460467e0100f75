"""How our kernels are compiled by numba, and how their on-disk cache is kept true."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

OPTIONS = {"cache": True, "nogil": True, "error_model": "numpy"}
"""Options of every kernel: cached on disk, free of the interpreter lock, no zero-division checks."""


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
