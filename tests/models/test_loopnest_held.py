"""Operands that stay in L2 whole under `loopnest`: what is moved and needed, and what is proven of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pytest

from dse.core.layer import Layer
from dse.core.residence import Phase
from dse.domains.clustered.accelerator import PRESETS, Accelerator
from dse.domains.clustered.problem import Problem
from dse.domains.clustered.proof.solver import solve_problem
from dse.domains.clustered.residence import RESIDENCE
from dse.optimum import certify, verify
from dse.support.errors import InputError
from tests.models.loopnest_cases import (
    Case,
    against_the_reference,
    against_the_simulator,
    small_case,
)
from tests.optimum.any_cases import least_loss, random_problem
from tests.optimum.certify_cases import OF_WORK, brute_force
from tests.optimum.certify_cases import Case as SmallCase
from tests.optimum.certify_loopnest_cases import SMALL

HELD = (("I",), ("O",), ("I", "O"), ("W",), ("W", "I", "O"), ("W", "O"))


def test_what_stays_is_moved_and_needed_as_in_the_executed_nest() -> None:
    assert_what_stays_is_moved_as_executed(24)


def assert_what_stays_is_moved_as_executed(cases: int) -> None:
    rng = np.random.default_rng(9)
    for number in range(cases):
        case = small_case(rng, number * 17, dilated=number % 5 == 0)
        accelerator = replace(case.accelerator, holds=HELD[number % len(HELD)])
        stays = Case(case.layer, accelerator, case.mapping)
        assert against_the_simulator(stays) == {}, stays
        assert against_the_reference(stays) == {}, stays


@pytest.mark.parametrize(("place", "holds"), [(2, ("W", "O")), (3, ("I", "O"))])
def test_the_optimum_beside_what_stays_is_that_of_all_mappings(place: int, holds: tuple[str, ...]) -> None:
    """Of two layers; `prove_loopnest_optima.py` has more, and more random ones."""
    assert_optimum_beside_what_stays(place, holds)


def assert_optimum_beside_what_stays(place: int, holds: tuple[str, ...]) -> None:
    case: SmallCase = SMALL[place]
    stays = replace(case, machine=replace(case.machine, holds=holds, l2_size=case.machine.l2_size // 2))
    best = brute_force(stays)
    for objective in OF_WORK:
        problem = stays.problem(objective)
        found = certify(problem, cache=False)
        assert found.lower_bound == best[objective][0], objective
        assert all(check.passed for check in verify(problem, found)), objective


def test_so_is_that_over_tiles_of_any_size() -> None:
    assert_optima_over_tiles_of_any_size(range(3, 6))


def assert_optima_over_tiles_of_any_size(seeds: Iterable[int]) -> None:
    for seed in seeds:
        holds = HELD[seed % len(HELD)]
        plain = random_problem(np.random.default_rng(seed), OF_WORK[seed % len(OF_WORK)], 6_000)
        problem = plain.with_changes(accelerator=replace(plain.accelerator, holds=holds))
        assert solve_problem(problem, threads=1).lower_bound == least_loss(problem), problem


def test_a_phase_has_the_room_that_is_left_and_nothing_else_is_another_problem() -> None:
    layer = Layer("CONV", 12, 8, 14, 14, 3, 3, padding=(1, 1))
    plain = Problem(layer, PRESETS["edge"], "energy")
    assert RESIDENCE.problem(plain, Phase(layer)) == plain
    sizes = RESIDENCE.sizes(plain)
    assert sizes == {"W": 12 * 8 * 9, "I": 8 * 14 * 14, "O": 12 * 14 * 14}
    stays = RESIDENCE.problem(plain, Phase(layer, ("O", "I"), sizes["I"] + sizes["O"]))
    assert stays is not None
    assert stays.accelerator.holds == ("I", "O")
    assert stays.accelerator.l2_size == 131_072 - sizes["I"] - sizes["O"]
    assert stays.fingerprint != plain.fingerprint
    assert Accelerator.from_dict(stays.accelerator.to_dict()) == stays.accelerator
    assert ", beside I, O whole" in stays.nest(stays.template("nvdla"))
    assert RESIDENCE.problem(plain, Phase(layer, ("I",), 131_073)) is None


def test_what_cannot_stay_is_refused() -> None:
    layer = Layer.gemm(4, 4, 4)
    with pytest.raises(InputError, match=r"'maestro' has no tensors that stay in L2.*holds I; expected"):
        Problem(layer, replace(PRESETS["edge"], holds=("I",)), "energy", "maestro")
    with pytest.raises(InputError, match="holds must be a list of some of W, I and O, got"):
        replace(PRESETS["edge"], holds=("X",))
