"""What `dse certify` is called with in tests."""

from __future__ import annotations

from dse.domains.clustered.accelerator import PRESETS
from dse.domains.clustered.problem import Problem
from workloads import load_layer

RESNET = ("--layer", "resnet18:5", "--accelerator", "edge")


def problem(objective: str = "edp", layer: str = "resnet18:5", model: str = "maestro") -> Problem:
    return Problem(load_layer(layer), PRESETS["edge"], objective, model)
