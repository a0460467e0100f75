"""The best machine and mappings, for every kind of objective: what going through all of them finds."""

from __future__ import annotations

from pathlib import Path

from tests.domains.codesign.spaces import gemmini
from tests.optimum.codesign.test_codesign import KB, assert_the_best


def test_the_best_machine_is_that_of_going_through_all_machines_and_mappings(tmp_path: Path) -> None:
    objectives = ("latency", "energy", "edp", "energy*latency^2", "energy + 0.001 * latency")
    assert_the_best(gemmini([2, 4], KB, KB), objectives, tmp_path)
