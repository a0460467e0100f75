"""Compulsory traffic of transformers: each word of each tensor once, to the bit what AccelForge counts."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from dse.core.layer import Layer
from dse.core.roofline import compulsory_words
from tests import ROOT
from workloads import load

MODELS = json.loads((ROOT / "tests" / "data" / "transformers.json").read_text(encoding="utf-8"))["models"]
BITS = {"llama3_8B": 4_177_526_784}
"""What AccelForge's mapper `snowcat` itself counted at this size."""


def of_tensors(einsum: Any) -> int:
    """Bits of all tensors of an einsum, each of its words once."""
    return sum(one["bits"] * math.prod(size for _, size in one["dims"]) for one in einsum["tensors"])


def product(einsum: Any) -> tuple[Layer, int]:
    """The matrix product that an einsum of two tensors is, and how many of them."""
    left, right, made = (dict(one["dims"]) for one in einsum["tensors"])
    together = left.keys() & right.keys() & made.keys()

    def size(dims: set[str]) -> int:
        return math.prod((left | right)[dim] for dim in dims)

    rows, columns = (left.keys() & made.keys()) - together, (right.keys() & made.keys()) - together
    return Layer.gemm(size(rows), size(columns), size(left.keys() & right.keys() - together)), size(together)


def of_layers(einsum: Any) -> int:
    """The same by what this framework counts of layers; element-wise steps are none."""
    if einsum["kind"] != "product":
        return of_tensors(einsum)
    layer, count = product(einsum)
    left, right, made = (one["bits"] for one in einsum["tensors"])
    return compulsory_words(layer).wide({"I": left, "W": right, "O": made}).total * count


def test_there_are_eight_transformers_and_more() -> None:
    assert len({name.split()[0] for name in MODELS}) == 9


@pytest.mark.parametrize("name", MODELS)
def test_layers_move_each_bit_of_each_tensor_once(name: str) -> None:
    for einsum in MODELS[name]:
        assert of_layers(einsum) == of_tensors(einsum), einsum["name"]
    assert sum(map(of_layers, MODELS[name])) == BITS.get(name, sum(map(of_tensors, MODELS[name])))


@pytest.mark.parametrize(("name", "run"), [("llama3_8B", "llama3-8b"), ("gpt3_175B", "gpt3-175b")])
def test_networks_by_name_have_the_same_products(name: str, run: str) -> None:
    network = load(f"{run}@prefill=256,w=16,i=16,o=16")
    ours = sum(
        compulsory_words(layer).wide(layer.bits.to_dict()).total * layer.repeats
        for group in network.wholes
        for layer in group
        if layer.name != "lm_head"
    )
    blocks = {"llama3_8B": 32, "gpt3_175B": 96}[name]
    products = [einsum for einsum in MODELS[name] if einsum["kind"] == "product"]
    assert ours == blocks * sum(map(of_tensors, products))
