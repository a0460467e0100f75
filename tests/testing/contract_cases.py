"""Searchers for the tests of the contract suite."""

from __future__ import annotations

import pytest

from dse.domains.clustered.accelerator import PRESETS
from dse.domains.clustered.problem import Problem
from dse.testing import RULES, conduct, landscapes, suite

IN_PROCESS = tuple(rule for rule in RULES if rule.name != "fresh-process")


def problem() -> Problem:
    return Problem(landscapes.RESNET, PRESETS["edge"], cost_model="maestro")


def shorten(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have every rule look at fewer samples and chance points: `prove_contract.py` has them all."""
    monkeypatch.setattr(suite, "LEAST", 32)
    # More than the 16 points of the small space.
    monkeypatch.setattr(conduct, "SCARCE", 20)
    monkeypatch.setattr(conduct, "ODD", 19)
    monkeypatch.setattr(conduct, "CHANCE_POINTS", 4096)
