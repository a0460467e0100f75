"""Torch modules whose tensors are read in odd ways, and networks by name that are as their modules are."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from dse.core.edges import BESIDE, EVERYTHING, INPUT, ROWS, Edge
from workloads import from_torch, load


def test_what_is_added_last_in_a_block_of_bert_is_a_norms_output() -> None:
    for name, first, last in (
        ("bert_base", "attention_output", "output"),
        ("bert-large", "o_proj", "down_proj"),
    ):
        assert Edge(first, last, BESIDE, ROWS) in load(name).edges
    assert Edge("o_proj", "down_proj", BESIDE) in load("llama3-8b").edges


def test_heads_are_no_samples_where_queries_go_to_latents() -> None:
    edges = load("deepseek-v2-lite@decode=1,batch=16").edges
    assert Edge("q_absorb", "scores", INPUT, EVERYTHING) in edges


@pytest.mark.parametrize("name", ["vgg16", "alexnet", "mobilenet_v2", "efficientnet_b0"])
def test_a_layer_that_reads_other_places_than_were_made_reads_pooled_ones(name: str) -> None:
    network = load(name)
    layers = {layer.name: layer for layer in network.in_order}
    for edge in network.edges:
        if edge.operand != BESIDE:
            same = layers[edge.source].output == (layers[edge.reader].Y, layers[edge.reader].X)
            assert edge.whole == ("" if same else "YX")


class Cached(nn.Module):
    """Keys go to a buffer, in whole or in a part of it."""

    def __init__(self, part: bool) -> None:
        super().__init__()
        self.k, self.o, self.part = nn.Linear(8, 8), nn.Linear(8, 8), part
        self.register_buffer("cache", torch.zeros(1, 8 if part else 4, 8))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        k = self.k(x)
        if self.part:
            self.cache[:, :4] = k
        else:
            self.cache.copy_(k)
        made: torch.Tensor = self.o(k)
        return made


@pytest.mark.parametrize("part", [False, True])
def test_a_buffer_that_a_module_writes_outlives_the_run(part: bool) -> None:
    network = from_torch(Cached(part), torch.zeros(1, 4, 8))
    assert network.edges == (Edge("k", "o"),)
    assert dict(network.also_read)["k"] == "aten::copy_ writes it to a state that outlives the run"


class Residual(nn.Module):
    """As torchvision's blocks, whose sums and activations change tensors in place."""

    def __init__(self, *, view: bool = False) -> None:
        super().__init__()
        self.first, self.second, self.third = (nn.Conv2d(8, 8, 3, padding=1) for _ in range(3))
        self.norm, self.relu, self.view = nn.BatchNorm2d(8), nn.ReLU(inplace=True), view

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        before = self.relu(self.first(x))
        made = self.norm(self.second(before))
        seen = made.view(-1) if self.view else made
        seen += before.view(-1) if self.view else before
        found: torch.Tensor = self.third(self.relu(made))
        return found


def test_operators_in_place_are_read_as_others_are_but_for_views() -> None:
    image = torch.zeros(1, 8, 4, 4)
    network = from_torch(Residual().eval(), image)
    assert set(network.edges) == {
        Edge("first", "second"),
        Edge("first", "second", BESIDE),
        Edge("second", "third"),
    }
    assert dict(network.also_read).keys() == {"third"}
    seen = from_torch(Residual(view=True).eval(), image)
    assert {"first", "second"} <= dict(seen.also_read).keys()


class Without(nn.Module):
    """A part is run without gradients: a graph of its own, whose outputs are read outside."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.third = (nn.Linear(8, 8) for _ in range(3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        first = self.first(x)
        with torch.no_grad():
            second = self.second(first)
            third = self.third(second)
        found: torch.Tensor = second + third
        return found


def test_what_goes_into_a_graph_of_its_own_and_comes_out_is_written() -> None:
    network = from_torch(Without(), torch.zeros(4, 8))
    assert Edge("second", "third") in network.edges
    said = dict(network.also_read)
    assert said["first"].endswith("reads it, in a graph of its own")
    assert said["second"].endswith("hands it on, out of a graph of its own")


class Llama(nn.Module):
    """A block as its authors run it: norms before, queries that share keys, a gated feed-forward part."""

    def __init__(self, width: int = 32, heads: int = 4, shared: int = 2) -> None:
        super().__init__()
        self.size = width // heads
        self.first, self.second = nn.RMSNorm(width), nn.RMSNorm(width)
        self.q_proj, self.o_proj = nn.Linear(width, width), nn.Linear(width, width)
        self.k_proj, self.v_proj = (nn.Linear(width, shared * self.size) for _ in range(2))
        self.gate_proj, self.up_proj = nn.Linear(width, 64), nn.Linear(width, 64)
        self.down_proj = nn.Linear(64, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        normed = self.first(x)
        query, key, value = (
            one(normed).unflatten(-1, (-1, self.size)).transpose(1, 2)
            for one in (self.q_proj, self.k_proj, self.v_proj)
        )
        context = nn.functional.scaled_dot_product_attention(
            query, key, value, is_causal=True, enable_gqa=True
        )
        x = x + self.o_proj(context.transpose(1, 2).flatten(2))
        normed = self.second(x)
        made: torch.Tensor = self.down_proj(nn.functional.silu(self.gate_proj(normed)) * self.up_proj(normed))
        return x + made


def test_a_transformers_edges_by_name_are_those_of_its_module_traced() -> None:
    traced = from_torch(Llama(), torch.zeros(1, 8, 32))
    own = {layer.name: layer.name.rpartition(".")[2] for layer in traced.in_order}
    named = {Edge(own[edge.source], own[edge.reader], edge.operand, edge.whole) for edge in traced.edges}
    assert named == set(load("llama3-8b@prefill=8").edges)


class Sums(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.matrix = nn.Linear(8, 8), nn.Parameter(torch.zeros(4, 8))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        first = self.first(x)
        return torch.einsum("ij,ik->jk", first, self.matrix)


def test_a_sum_over_rows_in_torch_needs_all_of_them() -> None:
    network = from_torch(Sums(), torch.zeros(4, 8))
    assert network.edges == (Edge("first", "einsum", INPUT, EVERYTHING),)
