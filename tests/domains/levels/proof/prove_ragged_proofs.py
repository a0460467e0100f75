"""Optima over tiles that do not divide, of more problems than `make test` has; run by `make prove`."""

from __future__ import annotations

import pytest

from dse.core.layer import Layer
from tests.domains.levels.proof.test_ragged_proofs import (
    LAYERS,
    PRODUCTS,
    assert_proven_optima_are_the_least,
)


@pytest.mark.parametrize("objective", ["edp", "latency", "energy"])
@pytest.mark.parametrize(("nests", "layers"), [("even", LAYERS), ("uneven", PRODUCTS)])
def test_proven_optima_of_any_tiles_are_the_least_of_all_mappings(
    nests: str, layers: list[Layer], objective: str
) -> None:
    assert assert_proven_optima_are_the_least(nests, layers, objective, 48) > 3
