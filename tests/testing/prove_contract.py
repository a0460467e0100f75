"""The whole contract suite on the searchers that the tests check with fewer samples, run by `make prove`."""

from __future__ import annotations

import pytest

from dse.testing import broken, check_searcher
from tests.testing.test_contract import SLOW


@pytest.mark.parametrize("name", SLOW)
def test_a_slow_searcher_keeps_the_whole_contract(name: str) -> None:
    assert not broken(check_searcher(name))
