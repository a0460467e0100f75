"""What `dse bench cost` compares with: the plain reference."""

from __future__ import annotations

from dse.core.cost_model import Other
from dse.domains.clustered.mapping import MappingBatch
from dse.domains.clustered.problem import Problem
from dse.models.loopnest import reference

REFERENCE = 100
"""Mappings that it prices."""


def others(problem: Problem, designs: MappingBatch) -> dict[str, Other]:
    """See Others."""
    mappings = [designs[place] for place in range(min(REFERENCE, len(designs)))]

    def refer() -> None:
        for mapping in mappings:
            reference.price_mapping(problem.layer, problem.accelerator, mapping)

    return {"python reference": Other(len(mappings), refer)}
