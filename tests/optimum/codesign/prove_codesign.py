"""The best machine and mappings, for every kind of objective: what going through all of them finds."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.domains.codesign.spaces import chips, gemmini
from tests.optimum.codesign.enumerated import LAYERS
from tests.optimum.codesign.test_codesign import KB, assert_the_best, assert_what_is_proven_counts
from tests.optimum.codesign.test_fronts import BOTH, assert_the_convex_front, assert_the_exact_front


def test_the_best_machine_is_that_of_going_through_all_machines_and_mappings(tmp_path: Path) -> None:
    objectives = ("latency", "energy", "edp", "energy*latency^2", "energy + 0.001 * latency")
    assert_the_best(gemmini([2, 4], KB, KB), objectives, tmp_path)


@pytest.mark.parametrize("objectives", [BOTH, f"{BOTH}, area"])
def test_the_exact_front_is_that_of_the_fronts_of_all_machines(objectives: str, tmp_path: Path) -> None:
    space = chips(num_pes=[4, 8], l1_size=[8, 64], l2_size=[256, 1024])
    assert_the_exact_front(LAYERS, space, objectives, tmp_path)


@pytest.mark.parametrize("proofs_in_time", [1, 4, 11])
def test_a_time_limit_ends_between_two_proofs_and_what_is_proven_counts(
    proofs_in_time: int, tmp_path: Path
) -> None:
    assert_what_is_proven_counts(gemmini([2, 4], KB[:2], KB[:2]), proofs_in_time, tmp_path)


def test_the_convex_front_has_the_least_of_every_weight(tmp_path: Path) -> None:
    space = chips(num_pes=[4, 16], l1_size=[8, 64], l2_size=[1024])
    assert_the_convex_front(LAYERS, space, tmp_path)
