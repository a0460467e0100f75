"""What all tests compare by."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize("size", [1.0, 1e-13, 1e-20])
def test_a_number_of_any_size_is_the_same_within_a_millionth_of_it(size: float) -> None:
    assert size == pytest.approx(size * (1 + 1e-7))
    assert size != pytest.approx(size * (1 + 1e-5))
    assert [size] == pytest.approx([size * (1 + 1e-7)])
    assert {"edp": size} != pytest.approx({"edp": size * (1 + 1e-5)})
