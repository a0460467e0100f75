"""`mapping.txt`: a mapping as the nest of loops that it stands for, to be read by a person."""

from __future__ import annotations

from dse.core.cost_models import DEFAULT_COST_MODEL, cost_model
from dse.core.layer import Layer
from dse.domains.clustered.accelerator import Accelerator
from dse.domains.clustered.cost_model import CostModel
from dse.domains.clustered.mapping import Mapping
from dse.domains.clustered.nest import loop_nest


def write(layer: Layer, accelerator: Accelerator, mapping: Mapping) -> dict[str, str]:
    """The loops, with what the buffers hold under the default cost model."""
    model = cost_model(DEFAULT_COST_MODEL)
    assert isinstance(model, CostModel)
    return {"mapping.txt": loop_nest(layer, mapping, accelerator, model)}
