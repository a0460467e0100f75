"""How our kernels are compiled by numba, how their disk cache is kept true, and how rows are shared out."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from hashlib import sha1
from importlib import import_module
from multiprocessing import parent_process
from pathlib import Path
from types import ModuleType


def can_cache(package: Path = Path(__file__).parent) -> bool:
    """Whether numba has a place for compiled kernels: where it is told, beside the sources, or at home.

    Without one it would refuse to compile at all.
    """
    home = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "numba"
    told = os.environ.get("NUMBA_CACHE_DIR")
    return any(map(_writable, [Path(told)] if told else [package / "__pycache__", home]))


def _writable(folder: Path) -> bool:
    """Whether files can be made in a folder, which is made as numba would make it."""
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        return os.access(folder, os.W_OK | os.X_OK)
    return False


OPTIONS = {"cache": can_cache(), "nogil": True, "error_model": "numpy"}
"""Options of every kernel: cached on disk if it can be, without interpreter lock and zero-division checks."""

SMALLEST_SHARE = 256
"""Rows below which a further thread costs more than it saves."""


watchers: list[Callable[[bool], None]] = []
"""What is called when kernels are about to be loaded, with whether none of their package is on disk."""


@cache
def load_kernels(name: str, *uses: str) -> ModuleType:
    """The module of kernels of this name, imported when it is first needed, none of them stale.

    `uses` are other packages whose kernels are compiled into these.
    """
    folders = [Path(import_module(package).__path__[0]) for package in (name.rpartition(".")[0], *uses)]
    if OPTIONS["cache"]:
        drop_stale(*folders)
    else:
        _say_uncached()
    for watch in watchers:
        watch(not compiled_before(folders[0]))
    return import_module(name)


@cache
def _say_uncached() -> None:
    if parent_process() is None:
        print(
            "dse: compiled kernels cannot be kept: neither the installation nor the home can be written. "
            "Every process compiles anew; NUMBA_CACHE_DIR=FOLDER names a place for them",
            file=sys.stderr,
        )


def compiled_before(package: Path) -> bool:
    """Whether any kernel of a package is on disk, or may be where only numba looks: at home."""
    told = os.environ.get("NUMBA_CACHE_DIR")
    own = package / "__pycache__"
    if told:
        # Numba's name for the folder of these sources.
        own = Path(told) / f"{package.name}_{sha1(str(package).encode(), usedforsecurity=False).hexdigest()}"
    elif not _writable(own):
        return True
    return bool(OPTIONS["cache"]) and any(own.glob("*.nbi"))


def drop_stale(package: Path, *uses: Path) -> None:
    """Forgets the compiled kernels of a package that are older than any of its sources, or than the numerics.

    The sources of the packages that it uses count too.

    Numba looks at the file of the compiled function only, not at the files of the functions that it calls.
    Processes may do so at the same time: what another one has removed meanwhile is gone, and that is well.
    """
    sources = [source for folder in (package, *uses) for source in folder.glob("*.py")]
    sources += [*(Path(__file__).parent / "numerics").glob("*.py")]
    newest = max(source.stat().st_mtime for source in sources)
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
