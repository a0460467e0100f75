"""The buffers that mappings need, against the cost model that charges them."""

from __future__ import annotations

import numpy as np
import pytest

from dse.core.cost_models import cost_model
from dse.core.layer import DIMS, TENSORS, Layer
from dse.domains.clustered.accelerator import PRESETS
from dse.domains.clustered.mapping import CLUSTER, Level, Mapping, MappingBatch
from dse.domains.clustered.space.mapping_space import MappingSpace
from dse.models.maestro.buffers import needed_buffers
from tests.models.mapping_strategies import LAYERS


@pytest.mark.parametrize("tiles", ["factors", "any"])
@pytest.mark.parametrize("preset", ["eyeriss", "tpu-like"])
@pytest.mark.parametrize("layer", LAYERS, ids=str)
def test_the_needs_are_those_that_maestro_charges(layer: Layer, preset: str, tiles: str) -> None:
    accelerator = PRESETS[preset]
    space = MappingSpace(layer, accelerator, tiles=tiles)
    mappings = space.decode(space.sample(np.random.default_rng(1), 500))
    costs = cost_model("maestro").evaluate(layer.lowered(), accelerator, mappings)
    needed = needed_buffers(layer, accelerator.num_pes, mappings)
    assert costs.valid.sum() > 250
    assert (needed.l1.sum(axis=1) == costs.l1_size)[costs.valid].all()
    assert (needed.l2.sum(axis=1) == costs.l2_size)[costs.valid].all()


def test_clusters_that_waste_pes_need_what_maestro_charges() -> None:
    layer, accelerator = LAYERS[0], PRESETS["eyeriss"]
    space = MappingSpace(layer, accelerator, tiles="any")
    rows = space.decode(space.sample(np.random.default_rng(2), 500)).rows.copy()
    rows[:, CLUSTER] = np.random.default_rng(3).integers(1, accelerator.num_pes + 1, len(rows))
    costs = cost_model("maestro").evaluate(layer.lowered(), accelerator, MappingBatch(rows))
    needed = needed_buffers(layer, accelerator.num_pes, MappingBatch(rows))
    assert costs.valid.sum() > 250
    assert (needed.l1.sum(axis=1) == costs.l1_size)[costs.valid].all()
    assert (needed.l2.sum(axis=1) == costs.l2_size)[costs.valid].all()


def test_a_hand_counted_mapping_needs_what_was_counted() -> None:
    # 4 clusters of 2 PEs; each cluster has 2 of 8 output channels, 3 input channels, 4 x 6 outputs.
    layer = Layer("CONV", 8, 3, 10, 14, 3, 3)
    mapping = Mapping(Level("K", DIMS, (2, 3, 4, 6, 3, 3)), 2, Level("X", DIMS, (1, 3, 2, 3, 3, 3)))
    needed = needed_buffers(layer, 8, MappingBatch.of([mapping]))
    pe = {"input": 3 * 4 * 5, "weight": 1 * 3 * 9, "output": 1 * 4 * 5}  # outputs with the input's halo
    array = {"input": 3 * 6 * 8, "weight": 8 * 3 * 9, "output": 8 * 4 * 6}
    assert needed.l1.tolist() == [[2 * pe[tensor] for tensor in TENSORS]]
    assert needed.l2.tolist() == [[2 * array[tensor] for tensor in TENSORS]]
