"""The tests see what goes wrong: each fault that is put in makes one of them fail."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.faults.faults import FAULTS, Fault
from tests.faults.injection import copy_code, inject, run_tests

FEW = FAULTS[::4]
"""`prove_faults.py` has the others too: each run imports our code anew."""


@pytest.fixture(scope="session")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the code, for one fault at a time."""
    folder = tmp_path_factory.mktemp("faulty")
    copy_code(folder)
    return folder


@pytest.mark.parametrize("fault", FEW, ids=lambda fault: fault.name)
def test_a_fault_is_seen(fault: Fault, copy: Path) -> None:
    assert_seen(fault, copy)


def assert_seen(fault: Fault, copy: Path) -> None:
    """The fault's tests fail by it."""
    ran = inject(fault, copy)
    # 1: tests ran and some failed; another code would mean that they could not be run.
    assert ran.code == 1, ran.output
    assert "error" not in ran.output.splitlines()[-1], ran.output


@pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "plain"])
def test_without_a_fault_the_same_tests_pass(compiled: bool, copy: Path) -> None:
    assert_sound(FEW, compiled, copy)


def assert_sound(faults: Sequence[Fault], compiled: bool, copy: Path) -> None:
    """The tests of these faults pass where there is none."""
    tests = [test for fault in faults if fault.compiled is compiled for test in fault.tests]
    ran = run_tests(tests, copy, compiled=compiled)
    assert ran.code == 0, ran.output
