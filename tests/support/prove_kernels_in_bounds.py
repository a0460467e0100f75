"""Every kernel of cost models, spaces, proofs and the team runs once with bounds checks, by `make prove`.

Compiled without them (as always else) a read past an array's end is nobody's error, until it is a crash.
"""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

import pytest
from numba.core.caching import NullCache
from numba.core.dispatcher import Dispatcher

from tests import ROOT

PACKAGES = ("dse.domains", "dse.support.numerics", "searchers.team")
TESTS = (
    "tests/domains",
    "tests/optimum",
    "tests/support/test_numerics.py",
    "tests/searchers/test_team.py",
    "tests/searchers/test_team_play.py",
)
LARGE = """
name = "large"
[[layers]]
name = "ffn"
type = "GEMM"
M = 2048
N = 14336
K = 4096
[[layers]]
name = "odd"
type = "CONV"
K = 97
C = 90
Y = 55
X = 35
R = 5
S = 3
stride = [2, 1]
padding = [2, 0]
[[layers]]
name = "depthwise"
type = "DSCONV"
C = 1152
Y = 28
X = 28
R = 5
S = 5
padding = 2
"""
MACHINES = (
    ("timeloop", "simba_like"),
    ("timeloop", "eyeriss_like"),
    ("timeloop", "gemmini"),
    ("timeloop", str(ROOT / "examples/chip.toml")),
    ("loopnest", "cloud"),
    ("loopnest", "eyeriss-small"),
    ("maestro", "eyeriss-small"),
)
CANARY = """
import numpy as np
from dse.support.compiling import inlined, kernel, subroutine, subroutine_with_arrays
for way in (subroutine, inlined, subroutine_with_arrays):
    inner = way(lambda array, place: array[place])
    outer = kernel(lambda array, place: inner(array, place))
    try:
        outer(np.arange(3), 3)
    except IndexError:
        print("seen")
"""


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where checked kernels are kept: those that were compiled without checks have none."""
    return tmp_path_factory.mktemp("kernels")


def checked(kernels: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """What Python does with these arguments if every kernel checks its bounds."""
    environment = {**os.environ, "NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(kernels)}
    return subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, cwd=ROOT, env=environment, check=False
    )


def kept_kernels() -> list[str]:
    """Patterns of the files of the kernels that are kept on disk once they have run; others are in those."""
    names = set()
    for package in map(import_module, PACKAGES):
        for module in walk_packages(package.__path__, package.__name__ + "."):
            for item in vars(import_module(module.name)).values():
                if not isinstance(item, Dispatcher) or isinstance(item._cache, NullCache):
                    continue
                if item.targetoptions.get("inline") != "always":
                    source = Path(item.py_func.__code__.co_filename)
                    names.add(f"{source.parent.name}_*/{source.stem}.{item.py_func.__qualname__}-*.nbi")
    return sorted(names)


def test_a_read_past_the_end_is_seen(kernels: Path, tmp_path: Path) -> None:
    # In a file, beside which numba keeps kernels.
    program = tmp_path / "canary.py"
    program.write_text(CANARY)
    assert checked(kernels, str(program)).stdout == "seen\n" * 3


def test_the_tests_of_every_kernel_pass_with_bounds_checks(kernels: Path) -> None:
    run = checked(kernels, "-m", "pytest", "-q", "-p", "no:xdist", *TESTS)
    assert run.returncode == 0, run.stdout[-3000:]
    names = kept_kernels()
    assert len(names) > 50
    assert [name for name in names if not list(kernels.glob(name))] == []


@pytest.mark.parametrize("layer", ["ffn", "odd", "depthwise"])
@pytest.mark.parametrize(("model", "machine"), MACHINES)
def test_proofs_of_large_layers_stay_in_bounds(
    model: str, machine: str, layer: str, kernels: Path, tmp_path: Path
) -> None:
    (tmp_path / "large.toml").write_text(LARGE)
    problem = ("--layer", f"{tmp_path / 'large.toml'}:{layer}", "--accelerator", machine)
    options = ("--cost-model", model, "--objective", "edp", "--time-limit", "5", "--fresh")
    run = checked(kernels, "-m", "dse", "certify", *problem, *options)
    assert run.returncode == 0, run.stderr
    assert "proof over" in run.stdout
