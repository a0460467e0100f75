"""The work of torchvision's models, traced, is what torchvision publishes, and what torch counts itself."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from dse.core.edges import Edge
from workloads import from_torch, load

# `_ops` of the first weights of each model, in billions.
PUBLISHED = {
    "resnet18": 1.814,
    "resnet50": 4.089,
    "mobilenet_v2": 0.301,
    "vit_b_16": 17.564,
    "efficientnet_b0": 0.386,
    "convnext_tiny": 4.456,
    "resnext50_32x4d": 4.23,
}


@pytest.fixture(scope="module")
def models() -> Any:
    """torchvision's models, also where its compiled operators, which they do not need, do not load."""
    signature = "(Tensor boxes, Tensor scores, float iou_threshold) -> Tensor"
    try:
        import torchvision
    except RuntimeError:
        for operator in ("nms", "qnms"):
            torch.library.define(f"torchvision::{operator}", signature)
        import torchvision
    return torchvision.models


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_work_of_a_model_is_the_published_one(models: Any, name: str) -> None:
    assert next(iter(models.get_model_weights(name))).meta["_ops"] == PUBLISHED[name]
    with torch.device("meta"):
        module, image = models.get_model(name).eval(), torch.empty(1, 3, 224, 224)
    network = from_torch(module, image)
    assert network.macs == pytest.approx(PUBLISHED[name] * 1e9, rel=1e-3)
    with FlopCounterMode(display=False) as counter:
        module(image)
    assert 2 * network.macs == counter.get_total_flops()
    assert all(entry.macs == 0 for entry in network.left_out)


@pytest.mark.parametrize(
    "name", ["alexnet", "vgg16", "resnet18", "resnet50", "mobilenet_v2", "efficientnet_b0"]
)
def test_what_reads_what_in_a_network_that_comes_along_is_as_its_model_has_it(models: Any, name: str) -> None:
    with torch.device("meta"):
        module, image = models.get_model(name).eval(), torch.empty(1, 3, 224, 224)
    traced, table = from_torch(module, image), load(name)
    names = {one.name: other.name for one, other in zip(traced.in_order, table.in_order, strict=True)}
    # What nothing reads in the table goes off the chip.
    sources = {edge.source for edge in table.edges}
    assert set(table.edges) == {
        Edge(names[edge.source], names[edge.reader], edge.operand, edge.whole)
        for edge in traced.edges
        if names[edge.source] in sources
    }
