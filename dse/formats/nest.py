"""`mapping.txt`: a mapping as the nest of loops that it stands for, to be read by a person."""

from __future__ import annotations

from dse.cost import DEFAULT_COST_MODEL, cost_model
from dse.problem.loop_nest import loop_nest
from dse.spec.accelerator import Accelerator
from dse.spec.layer import Layer
from dse.spec.mapping import Mapping


def write(layer: Layer, accelerator: Accelerator, mapping: Mapping) -> dict[str, str]:
    """The loops, with what the buffers hold under the default cost model."""
    return {"mapping.txt": loop_nest(layer, mapping, accelerator, cost_model(DEFAULT_COST_MODEL))}
