"""What the tests of chains share."""

from __future__ import annotations

import pytest

from dse.core.certificate import Certificate
from dse.core.problem import AnyProblem
from dse.core.proofs import Check
from dse.optimum import verify
from tests.optimum.small_proofs import begin_with_few_points


@pytest.fixture(autouse=True)
def few_points(monkeypatch: pytest.MonkeyPatch) -> None:
    begin_with_few_points(monkeypatch)


VERIFIED: dict[tuple[str, str], tuple[Check, ...]] = {}
"""What the check of a layer's certificate says is known to all tests of chains, as what is proven is."""


@pytest.fixture(autouse=True)
def verified_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def once(problem: AnyProblem, certificate: Certificate) -> tuple[Check, ...]:
        asked = problem.fingerprint, repr(certificate)
        if asked not in VERIFIED:
            VERIFIED[asked] = verify(problem, certificate)
        return VERIFIED[asked]

    monkeypatch.setattr("dse.optimum.chains.check.verify", once)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fewer mappings are drawn by the check of each layer's proof, which has tests of its own."""
    monkeypatch.setattr("dse.optimum.verification.RANDOM_MAPPINGS", 100)
    monkeypatch.setattr("dse.models.timeloop.check.claims.NEIGHBOURS", 3)
