"""What the intervals over twice as many problems cover; run by `make prove`."""

from __future__ import annotations

import pytest

from tests.analysis.test_coverage import Figure, covered, interquartile, mean_of_medians


@pytest.mark.parametrize("figure", [mean_of_medians, interquartile])
def test_intervals_over_24_problems_cover_what_they_say(figure: Figure) -> None:
    assert 0.915 < covered(figure, 24, seeds=5, spread=0.2) < 0.985
