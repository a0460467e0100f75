"""Latency with waits where tiles do not divide, of more mappings and problems; run by `make prove`."""

from __future__ import annotations

import pytest

from dse.core.layer import Layer
from tests.domains.levels.proof.test_ragged_proofs import LAYERS, PRODUCTS
from tests.domains.levels.timeloop.test_ragged_latency import (
    assert_proven_optima_are_the_least,
    assert_the_closed_form_is_a_walk,
)


@pytest.mark.parametrize("nests", ["even", "uneven"])
def test_the_closed_form_is_a_walk_of_all_steps_and_the_kernel_has_it_too(nests: str) -> None:
    assert assert_the_closed_form_is_a_walk(nests, 72 if nests == "even" else 720) > 4


@pytest.mark.parametrize("objective", ["edp", "latency"])
@pytest.mark.parametrize(("nests", "layers"), [("even", LAYERS), ("uneven", PRODUCTS)])
def test_proven_optima_of_any_tiles_are_the_least_of_all_where_all_else_waits(
    nests: str, layers: list[Layer], objective: str
) -> None:
    assert assert_proven_optima_are_the_least(nests, layers, objective, 30) > 2
