"""The whole contract suite on every searcher, with all its samples and processes, run by `make prove`."""

from __future__ import annotations

import pytest

from dse.search.searcher import make_searcher, searchers
from dse.testing import broken, check_searcher
from dse.testing.candidate import REFERENCE
from tests.libraries import skip_without_libraries_of

SAMPLES = {"optuna-gp": 100, "botorch": 100, "calibrated": 300, "smac": 200, "nevergrad": 300, "tpe": 600}
"""Of those whose time grows with more than their samples."""


# That one's default is on GitHub: tests/searchers/test_optunahub.py has a sampler in a folder.
@pytest.mark.parametrize("name", sorted({*searchers()} - {"optunahub"}))
def test_every_installed_searcher_keeps_the_whole_contract(name: str) -> None:
    searcher = make_searcher(name)
    skip_without_libraries_of(searcher)
    assert not broken(check_searcher(searcher, samples=SAMPLES.get(name, REFERENCE)))
