"""What the tests of chains share."""

from __future__ import annotations

import pytest

from tests.optimum.small_proofs import begin_with_few_points


@pytest.fixture(autouse=True)
def few_points(monkeypatch: pytest.MonkeyPatch) -> None:
    begin_with_few_points(monkeypatch)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fewer mappings are drawn by the check of each layer's proof, which has tests of its own."""
    monkeypatch.setattr("dse.optimum.verification.RANDOM_MAPPINGS", 100)
    monkeypatch.setattr("dse.models.timeloop.check.claims.NEIGHBOURS", 3)
