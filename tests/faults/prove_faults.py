"""All faults that the short suite does not put in; run by `make prove`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.faults import FAULTS, Fault
from tests.faults.test_faults import FEW, assert_seen, assert_sound, copy

__all__ = ["copy"]
MORE = [fault for fault in FAULTS if fault not in FEW]


@pytest.mark.parametrize("fault", MORE, ids=lambda fault: fault.name)
def test_a_fault_is_seen(fault: Fault, copy: Path) -> None:
    assert_seen(fault, copy)


@pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "plain"])
def test_without_a_fault_the_same_tests_pass(compiled: bool, copy: Path) -> None:
    assert_sound(MORE, compiled, copy)
