"""Searchers whose libraries are optional are tried where these are installed."""

from __future__ import annotations

from importlib.metadata import distributions

import pytest

from dse.search.abilities import abilities_of
from dse.search.searcher import Searcher


def skip_without_libraries_of(searcher: Searcher) -> None:
    """Skip the test where one that the searcher declares is missing."""
    for needed in abilities_of(searcher).libraries:
        if not list(distributions(name=needed)):
            pytest.skip(f"{needed} is not installed")
