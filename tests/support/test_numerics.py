"""Arithmetic that is the same on every CPU is right, too."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from scipy import linalg, optimize, special

from dse.support import numerics
from dse.support.numerics import cpu
from dse.support.numerics.cpu import numerical_cpu, other_cpu

SCALES = np.repeat([1e-3, 0.1, 1, 10, 100], 2000)
NUMBERS = np.random.default_rng(1).normal(size=len(SCALES)) * SCALES
POSITIVE = np.concatenate([np.exp(NUMBERS), 1 + 1e-3 * NUMBERS[:4000], [5e-324, 1e-310, 1.7e308]])
FUNCTIONS = {
    "exp": (numerics.exp, np.exp, NUMBERS),
    "exp2": (numerics.exp2, np.exp2, NUMBERS),
    "log": (numerics.log, np.log, POSITIVE),
    "log2": (numerics.log2, np.log2, POSITIVE),
    "tanh": (numerics.tanh, np.tanh, NUMBERS),
    "ndtr": (numerics.ndtr, special.ndtr, NUMBERS[NUMBERS > -37]),
    "log_ndtr": (numerics.log_ndtr, special.log_ndtr, NUMBERS[NUMBERS < 5]),
}
PROGRAM = """
import numpy as np
from dse.support import numerics
x = np.random.Generator(np.random.PCG64(7)).random((60, 90)) * 4 - 2
k = numerics.matmul(x, x.T) + np.eye(60)
parts = [numerics.exp(x), numerics.log(x * x + 1e-9), numerics.tanh(x), numerics.log_ndtr(4 * x), k,
         numerics.cholesky(k), numerics.non_negative(x * x, x[:, 0] ** 2 + 1)]
print(*[part.tobytes().hex() for part in parts])
"""


@pytest.mark.parametrize("name", FUNCTIONS)
def test_elementary_functions_agree_with_the_libraries_ones(name: str) -> None:
    ours, theirs, values = FUNCTIONS[name]
    assert np.allclose(ours(values), theirs(values), rtol=1e-9, atol=1e-15)


def test_whole_powers_of_two_are_exact() -> None:
    whole = np.arange(-1022, 1024)
    assert np.array_equal(numerics.exp2(whole), np.ldexp(1.0, whole))
    assert np.array_equal(numerics.log2(np.ldexp(1.0, whole)), whole)


def test_the_ends_of_the_numbers_are_as_usual() -> None:
    assert numerics.exp([-np.inf, -800.0, 800.0]).tolist() == [0.0, 0.0, np.inf]
    assert numerics.log([0.0, 1.0, np.inf]).tolist() == [-np.inf, 0.0, np.inf]
    assert np.isnan(numerics.log2([-1.0, np.nan])).all()
    assert np.isnan([numerics.exp(np.nan), numerics.tanh(np.nan), numerics.ndtr(np.nan)]).all()


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_products_are_products(kind: type) -> None:
    rng = np.random.default_rng(2)
    ones, others = rng.normal(size=(3, 7, 10)).astype(kind), rng.normal(size=(10, 5)).astype(kind)
    stacks = rng.normal(size=(3, 10, 4)).astype(kind)
    close = {"rtol": 1e-4, "atol": 1e-5}
    assert np.allclose(numerics.matmul(ones, others), ones @ others, **close)
    assert np.allclose(numerics.matmul(ones[0], stacks), ones[0] @ stacks, **close)
    assert np.allclose(numerics.matmul(ones, others[:, 0]), ones @ others[:, 0], **close)
    assert numerics.matmul(ones[0, :, :0], others[:0]).tolist() == np.zeros((7, 5)).tolist()


def test_systems_are_solved() -> None:
    rng = np.random.default_rng(3)
    points = rng.normal(size=(37, 50))
    known, targets, shared = points @ points.T, rng.normal(size=(37, 3)), rng.normal(size=(11, 37))
    factor = numerics.cholesky(known)
    assert np.allclose(factor, linalg.cholesky(known))
    assert np.allclose(numerics.solve(factor, targets), np.linalg.solve(known, targets))
    expected = linalg.solve_triangular(factor.T, shared.T, lower=True)
    assert np.allclose(numerics.explained(factor, shared), expected)
    with pytest.raises(np.linalg.LinAlgError):
        numerics.cholesky(-known)


@pytest.mark.parametrize("seed", range(20))
def test_weights_that_are_not_negative_fit_as_well_as_scipys(seed: int) -> None:
    rng = np.random.default_rng(seed)
    columns = np.exp(rng.normal(size=(rng.integers(5, 60), rng.integers(1, 25))))
    targets = columns @ np.maximum(rng.normal(size=columns.shape[1]), 0) + 0.1 * rng.normal(size=len(columns))
    weights = numerics.non_negative(columns, targets)
    assert weights is not None
    assert (weights >= 0).all()
    _, least = optimize.nnls(columns, targets)
    assert np.linalg.norm(columns @ weights - targets) <= least * (1 + 1e-6) + 1e-6 * np.linalg.norm(targets)


def test_on_another_cpu_the_bits_are_the_same_and_the_cpu_has_another_name(
    capsys: pytest.CaptureFixture[str],
) -> None:
    said = PROGRAM + "from dse.support.numerics.cpu import numerical_cpu\nprint(numerical_cpu())"
    environment = os.environ | other_cpu()
    there = subprocess.run([sys.executable, "-c", said], env=environment, capture_output=True, text=True)
    assert there.returncode == 0, there.stderr
    exec(said, {})
    (bits, name), (other_bits, other) = capsys.readouterr().out.splitlines(), there.stdout.splitlines()
    assert bits == other_bits
    assert name != other or not other_cpu()["NPY_DISABLE_CPU_FEATURES"]


def test_cpus_that_torch_computes_differently_on_have_different_names(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    names = {numerical_cpu()}
    for variable in cpu.TORCH_VARIABLES:
        with monkeypatch.context() as patch:
            patch.setenv(variable, "AVX2" if os.environ.get(variable) != "AVX2" else "SSE41")
            names.add(numerical_cpu.__wrapped__())
    assert len(names) == 1 + len(cpu.TORCH_VARIABLES)
    monkeypatch.setattr(cpu, "_instructions", lambda: ["X86_V3", "X86_V4"])
    skylake, cascade_lake = (
        (monkeypatch.setattr(cpu, "_has_vnni", lambda has=has: has), numerical_cpu.__wrapped__())[1]
        for has in (False, True)
    )
    assert skylake.split()[3:] == cascade_lake.split()[4:]
    assert cascade_lake.split()[3] == "VNNI"
