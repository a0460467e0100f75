"""Words of mixed widths on twice as many random machines of levels; run by `make prove`."""

from __future__ import annotations

from tests.domains.levels.test_widths import count_proven


def test_the_optimum_of_words_of_mixed_widths_is_that_of_all_mappings() -> None:
    assert count_proven(18) > 4
