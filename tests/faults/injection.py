"""Puts a fault into a copy of the code and runs the tests that must see it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from tests import ROOT
from tests.faults.faults import Fault

CODE = ("dse", "searchers", "workloads", "experiments", "tests", "pyproject.toml")


def copy_code(folder: Path) -> None:
    """What tests need, with its times, so that compiled kernels stay good; data are linked."""
    for name in CODE:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("faults", "*.pyc"))
        else:
            shutil.copy2(ROOT / name, folder / name)
    for name in ("results", "examples"):
        (folder / name).symlink_to(ROOT / name)


def run_tests(tests: Iterable[str], folder: Path, *, compiled: bool) -> subprocess.CompletedProcess[str]:
    """Run tests of the copy at `folder`, its kernels compiled or as plain Python."""
    environment = {**os.environ, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    environment |= {} if compiled else {"NUMBA_DISABLE_JIT": "1"}
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
    return subprocess.run(
        [*command, *(f"tests/{test}" for test in tests)],
        cwd=folder, env=environment, capture_output=True, text=True, timeout=300,
    )  # fmt: skip


def inject(fault: Fault, folder: Path) -> subprocess.CompletedProcess[str]:
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
