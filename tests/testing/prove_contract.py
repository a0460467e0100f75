"""The whole contract suite on every searcher, with all its samples and processes, run by `make prove`."""

from __future__ import annotations

import pytest

from dse.search.searcher import searchers
from dse.testing import broken, check_searcher


@pytest.mark.parametrize("name", searchers())
def test_every_installed_searcher_keeps_the_whole_contract(name: str) -> None:
    assert not broken(check_searcher(name))
