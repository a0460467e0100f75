"""Puts a fault into a copy of the code and runs the tests that must see it."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests import ROOT
from tests.faults.faults import Fault

CODE = ("dse", "searchers", "learners", "workloads", "experiments", "tests", "pyproject.toml")

WITHOUT = ("-p", "no:cacheprovider", "-p", "no:xdist")

# Each run is a fork of a process that has imported the libraries once, and none of our code.
_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload(["tests.faults.libraries"])


@dataclass(frozen=True)
class Ran:
    """pytest's exit code, and what it printed."""

    code: int | None
    output: str


def copy_code(folder: Path) -> None:
    """What tests need, with its times, so that what is compiled stays good; data are linked."""
    for name in CODE:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("faults"))
        else:
            shutil.copy2(ROOT / name, folder / name)
    for name in ("results", "examples"):
        (folder / name).symlink_to(ROOT / name)


def run_tests(tests: Iterable[str], folder: Path, *, compiled: bool) -> Ran:
    """Run tests of the copy at `folder`, its kernels compiled or as plain Python."""
    said = folder / "said.txt"
    run = _FORKS.Process(target=_run, args=(folder, said, [f"tests/{test}" for test in tests], compiled))
    run.start()
    run.join(300)
    run.kill()
    return Ran(run.exitcode, said.read_text(encoding="utf-8"))


def _run(folder: Path, said: Path, tests: list[str], compiled: bool) -> None:
    """In the fork: be a pytest that has `folder` for its checkout."""
    with said.open("wb") as out:
        os.dup2(out.fileno(), 1)
        os.dup2(out.fileno(), 2)
    for name in [name for name in sys.modules if name.partition(".")[0] == "tests"]:
        del sys.modules[name]
    os.chdir(folder)
    sys.path.insert(0, str(folder))
    os.environ["PYTHONPATH"] = str(folder)
    # A faulty file's bytecode would be taken for that of another of its size, written in the same second.
    sys.dont_write_bytecode = True
    if not compiled:
        import numba

        numba.config.DISABLE_JIT, os.environ["NUMBA_DISABLE_JIT"] = True, "1"
    # What fails need not be explained: to compare long lists takes longer than the tests.
    sys.exit(pytest.main(["-x", "-q", "--assert=plain", "--tb=line", *WITHOUT, *tests]))


def inject(fault: Fault, folder: Path) -> Ran:
    """Run the fault's tests with the fault in the copy at `folder`, which is put right again after that."""
    path = folder / fault.file
    text, times = path.read_text(encoding="utf-8"), path.stat()
    assert text.count(fault.old) == 1, f"{fault.file} does not hold once: {fault.old!r}"
    path.write_text(text.replace(fault.old, fault.new), encoding="utf-8")
    try:
        return run_tests(fault.tests, folder, compiled=fault.compiled)
    finally:
        path.write_text(text, encoding="utf-8")
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
