"""Searchers for the tests of the contract suite."""

from __future__ import annotations

from functools import partial

import pytest

from dse.domains.clustered.accelerator import PRESETS
from dse.domains.clustered.problem import Problem
from dse.testing import RULES, conduct, landscapes, suite
from searchers.calibrated import ensemble, residual, strategy
from searchers.team import Team

IN_PROCESS = tuple(rule for rule in RULES if rule.name != "fresh-process")

FEW_MOVES = {
    "n_startup_trials": 8,
    "n_teams": 1,
    "moves": 1,
    "early_moves": 2,
    "extra_teams": 1,
    "max_candidates": 4,
    "batch_fraction": 0.5,
    "late_batch_fraction": 0.2,
    "restricted_batch_size": 8,
}
"""Settings of a team that learns within few samples."""


def problem() -> Problem:
    return Problem(landscapes.RESNET, PRESETS["edge"], cost_model="maestro")


def shorten(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have every rule look at fewer samples and chance points: `prove_contract.py` has them all.

    And have `calibrated` weigh fewer points for a sample, as its team does.
    """
    monkeypatch.setattr(suite, "LEAST", 32)
    # More than the 16 points of the small space.
    monkeypatch.setattr(conduct, "SCARCE", 20)
    monkeypatch.setattr(conduct, "ODD", 19)
    monkeypatch.setattr(conduct, "CHANCE_POINTS", 4096)
    monkeypatch.setattr(strategy, "Team", partial(Team, **FEW_MOVES))
    monkeypatch.setattr(strategy, "POOL", 300)
    monkeypatch.setattr(strategy, "ELITES", 4)
    monkeypatch.setattr(strategy, "ROUNDS", 2)
    monkeypatch.setattr(strategy, "LISTED", 1)
    monkeypatch.setattr(ensemble, "MEMBERS", 6)
    monkeypatch.setattr(residual, "LENGTHS", ((1.0, 2.0), (1.4,)))
