"""Tensors that stay in L2 whole, under models that price what an accelerator `holds`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from dse.core.residence import Home, Phase
from dse.domains.clustered.accelerator import UNLIMITED, Accelerator
from dse.domains.clustered.problem import Problem
from dse.support.errors import InputError


class ClusteredResidence:
    """See Residence. The home is L2; a tensor that stays takes the room of its elements, once."""

    tiles = None

    def home(self, problem: Any) -> Home:
        machine: Accelerator = problem.accelerator
        return Home("L2", machine.l2_size, machine.unit)

    def sizes(self, problem: Any) -> Mapping[str, int]:
        """See Residence; zeros of padding take no room where inputs stay."""
        layer, bits = problem.layer, problem.accelerator.tensor_bits or {}
        if layer.bits:
            raise InputError(f"layer {layer} has bits of its own: chains take those of the accelerator")
        channels, (rows, columns) = layer.C if layer.type == "DSCONV" else layer.K, layer.output
        elements = {
            "W": layer.K * layer.C * layer.R * layer.S,
            "I": layer.C * layer.Y * layer.X,
            "O": channels * rows * columns,
        }
        return {name: count * bits.get(name, 1) for name, count in elements.items()}

    def problem(self, problem: Any, phase: Phase) -> Problem | None:
        machine: Accelerator = problem.accelerator
        left = machine.l2_size - phase.taken
        if left < 0 or phase.returned:
            return None
        # No tile, which is there twice, fits in one element or none.
        machine = replace(machine, l2_size=max(left, 1), holds=phase.held)
        changed: Problem = problem.with_changes(layer=phase.layer, accelerator=machine)
        return changed

    def roomy(self, problem: Any) -> Problem:
        machine = replace(problem.accelerator, l2_size=UNLIMITED)
        found: Problem = problem.with_changes(accelerator=machine)
        return found

    def placed(self, problem: Any, designs: Any) -> Any:
        """See Residence: they are as they were."""
        return designs


RESIDENCE = ClusteredResidence()
