"""Optima of `loopnest` with words of mixed widths and beside what stays in L2; run by `make prove`."""

from __future__ import annotations

import pytest

from dse.domains.clustered.accelerator import TENSORS
from tests.models import test_loopnest_held as held
from tests.models import test_loopnest_widths as widths
from tests.optimum.certify_loopnest_cases import SMALL


@pytest.mark.parametrize("place", [0, 2, 3, 5])
def test_the_optimum_of_words_of_mixed_widths_is_that_of_all_mappings(place: int) -> None:
    widths.assert_optimum_of_mixed_widths(SMALL[place])


@pytest.mark.parametrize(
    ("place", "holds"), [(0, ("I",)), (2, ("W", "O")), (3, ("I", "O")), (5, ("O",)), (4, TENSORS)]
)
def test_the_optimum_beside_what_stays_is_that_of_all_mappings(place: int, holds: tuple[str, ...]) -> None:
    held.assert_optimum_beside_what_stays(place, holds)


def test_so_are_those_over_tiles_of_any_size() -> None:
    widths.assert_optima_over_tiles_of_any_size(range(24))
    held.assert_optima_over_tiles_of_any_size(range(24))


def test_bits_and_what_stays_are_counted_as_the_executed_nest_moves_them() -> None:
    widths.assert_bits_are_those_of_the_executed_nest(800)
    held.assert_what_stays_is_moved_as_executed(600)
