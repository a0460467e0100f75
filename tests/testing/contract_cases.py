"""Searchers for the tests of the contract suite."""

from __future__ import annotations

from dse.domains.clustered.accelerator import PRESETS
from dse.domains.clustered.problem import Problem
from dse.testing import RULES, landscapes

IN_PROCESS = tuple(rule for rule in RULES if rule.name != "fresh-process")


def problem() -> Problem:
    return Problem(landscapes.RESNET, PRESETS["edge"], cost_model="maestro")
