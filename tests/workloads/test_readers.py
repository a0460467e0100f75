"""Models whose tensors are read in odd ways: what cannot be followed is written off the chip."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest
import torch
from torch import nn

from dse.core.edges import BESIDE, EVERYTHING, INPUT, ROWS, WEIGHT, Edge
from dse.support.errors import InputError
from tests.workloads.onnx_cases import model, operator, written
from workloads import from_torch, load
from workloads.models.toml_file import network_toml
from workloads.network import Network


def read(tmp_path: Path, *nodes: onnx.NodeProto, outputs: str = "", **inputs: list[int]) -> Network:
    """The network of some operators, of which more tensors than the last are outputs."""
    made = model(*nodes, **inputs)
    for name in outputs.split():
        made.graph.output.append(onnx.helper.make_empty_tensor_value_info(name))
    return load(written(tmp_path / "net.onnx", made))


def constant(name: str, values: list[int]) -> onnx.NodeProto:
    return operator("Constant", "", name, value=onnx.numpy_helper.from_array(torch.tensor(values).numpy()))


IMAGE = {"x": [1, 4, 8, 8], "w0": [8, 4, 1, 1], "w1": [8, 8, 1, 1], "w3": [8, 8, 3, 3]}
FIRST = operator("Conv", "x w0", "a", name="a")
SECOND = operator("Conv", "a w3", "b", name="b", pads=[1] * 4)


@pytest.mark.parametrize("tensor", ["a", "r"])
def test_an_output_of_the_model_is_written_also_behind_an_activation(tmp_path: Path, tensor: str) -> None:
    relu, third = operator("Relu", "a", "r"), operator("Conv", "b w1", "c", name="c")
    second = operator("Conv", "r w3", "b", name="b", pads=[1] * 4)
    network = read(tmp_path, FIRST, relu, second, third, outputs=tensor, **IMAGE)
    assert network.edges == (Edge("a", "b"), Edge("b", "c"))
    assert dict(network.also_read)["a"] == "an output of the model"
    assert "b" not in dict(network.also_read)


def test_an_if_within_an_if_that_reads_a_tensor_from_outside_is_a_reader(tmp_path: Path) -> None:
    def body(*nodes: onnx.NodeProto) -> onnx.GraphProto:
        made = onnx.helper.make_tensor_value_info(nodes[-1].output[0], onnx.TensorProto.FLOAT, None)
        return onnx.helper.make_graph(nodes, "body", [], [made])

    inner = body(operator("Sqrt", "a", "t"))
    outer = body(operator("If", "bool", "s", then_branch=inner, else_branch=inner))
    made = model(
        FIRST, operator("If", "bool", "i", then_branch=outer, else_branch=outer), SECOND, bool=[1], **IMAGE
    )
    value = next(value for value in made.graph.input if value.name == "bool")
    value.type.tensor_type.elem_type = onnx.TensorProto.BOOL
    assert dict(load(written(tmp_path / "if.onnx", made)).also_read)["a"] == "If reads it, which is left out"


def test_operators_that_are_out_of_order_or_make_the_same_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="Sqrt '' reads 'a' before it is made"):
        read(tmp_path, operator("Sqrt", "a", "s"), FIRST, SECOND, **IMAGE)
    with pytest.raises(InputError, match="'a' is made by two operators"):
        read(tmp_path, FIRST, FIRST, SECOND, **IMAGE)


def test_a_convolution_that_is_left_out_is_a_reader(tmp_path: Path) -> None:
    deep = operator("Conv", "d w5", "e", name="deep")
    network = read(
        tmp_path, FIRST, constant("axis", [2]), operator("Unsqueeze", "a axis", "d"), deep, SECOND,
        w5=[8, 8, 1, 1, 1], **IMAGE,
    )  # fmt: skip
    assert dict(network.also_read)["a"] == "Conv reads it, which is left out"


def test_the_cross_stage_block_of_a_detector_writes_what_its_concat_reads(tmp_path: Path) -> None:
    """YOLOv8's C2f: of a split, one half goes through convolutions; all parts meet in a Concat."""
    conv = [operator("Conv", f"{x} w{y}", y, name=y, pads=[1] * 4) for x, y in (("h", "m1"), ("m1", "m2"))]
    network = read(
        tmp_path,
        operator("Conv", "x wcv1", "cv1", name="cv1"),
        operator("Split", "cv1", "g h", num_outputs=2, axis=1),
        *conv,
        operator("Add", "h m2", "s"),
        operator("Concat", "g h s", "j", axis=1),
        operator("Conv", "j wcv2", "cv2", name="cv2"),
        operator("Conv", "cv2 wcv1", "end", name="end"),
        x=[1, 8, 8, 8], wcv1=[8, 8, 1, 1], wm1=[4, 4, 3, 3], wm2=[4, 4, 3, 3], wcv2=[8, 12, 1, 1],
    )  # fmt: skip
    assert dict(network.also_read) == {
        "cv1": "Concat reads it",
        "m2": "Concat reads it",
        "end": "an output of the model",
    }
    assert Edge("m1", "m2") in network.edges


def test_what_is_scaled_by_its_own_squeezed_places_is_read_with_the_scale(tmp_path: Path) -> None:
    """A residual block with squeeze and excitation: shortcut and scale are there until the sum is read."""
    network = read(
        tmp_path,
        FIRST,
        SECOND,
        operator("GlobalAveragePool", "b", "g"),
        operator("Conv", "g w1", "s", name="s"),
        operator("Sigmoid", "s", "t"),
        operator("Mul", "b t", "m"),
        operator("Add", "m a", "n"),
        operator("Conv", "n w1", "y", name="y"),
        **IMAGE,
    )
    assert set(network.edges) == {
        Edge("a", "b"),
        Edge("b", "s", INPUT, "YX"),
        Edge("b", "y"),
        Edge("s", "y", BESIDE),
        Edge("a", "y", BESIDE),
    }


def test_what_is_read_before_and_after_a_sum_in_its_place_has_no_edge(tmp_path: Path) -> None:
    sums = operator("Add", "a b", "s"), operator("Conv", "s w1", "c", name="c")
    network = read(tmp_path, FIRST, SECOND, *sums, operator("Conv", "b w1", "d", name="d"), **IMAGE)
    assert not [edge for edge in network.edges if edge.source == "b"]
    assert Edge("a", "b", BESIDE) in network.edges


PRODUCTS = {"x": [4, 8], "w": [8, 8], "wt": [4, 8]}
MADE = operator("MatMul", "x w", "a", name="a")


@pytest.mark.parametrize(
    ("node", "found"),
    [
        (operator("Gemm", "a w", "y", name="y"), Edge("a", "y")),
        (operator("Gemm", "a wt", "y", name="y", transA=1), Edge("a", "y", INPUT, EVERYTHING)),
        (operator("Einsum", "a wt", "y", name="y", equation="ij,ik->jk"), Edge("a", "y", INPUT, EVERYTHING)),
    ],
)
def test_a_product_that_reads_columns_as_rows_needs_all_of_them(
    tmp_path: Path, node: onnx.NodeProto, found: Edge
) -> None:
    assert read(tmp_path, MADE, node, **PRODUCTS).edges == (found,)


def test_a_layer_that_adds_anothers_output_as_its_bias_reads_it(tmp_path: Path) -> None:
    network = read(tmp_path, MADE, operator("Gemm", "x w a", "y", name="y"), **PRODUCTS)
    assert not network.edges
    assert dict(network.also_read)["a"] == "Gemm reads it, as neither of its operands"


def test_statistics_of_channels_that_are_added_to_columns_need_both(tmp_path: Path) -> None:
    pooled = operator("GlobalAveragePool", "a", "g"), operator("Flatten", "g", "f")
    network = read(
        tmp_path,
        FIRST,
        *pooled,
        operator("Add", "a f", "s"),
        operator("Conv", "s w3", "b", name="b"),
        **IMAGE,
    )
    assert network.edges == (Edge("a", "b", INPUT, EVERYTHING),)


def test_quantising_and_back_is_element_by_element(tmp_path: Path) -> None:
    quantised = operator("QuantizeLinear", "a one", "q"), operator("DequantizeLinear", "q one", "d")
    network = read(tmp_path, FIRST, *quantised, operator("Conv", "d w3", "b", name="b"), one=[1], **IMAGE)
    assert network.edges == (Edge("a", "b"),)


def test_a_dynamic_scale_is_of_all_of_a_tensor(tmp_path: Path) -> None:
    dynamic = operator("DynamicQuantizeLinear", "a", "q s z")
    conv = operator("ConvInteger", "q uint8 z", "b", name="b")
    network = read(tmp_path, FIRST, dynamic, conv, uint8=[8, 8, 3, 3], **IMAGE)
    assert network.edges == (Edge("a", "b", INPUT, EVERYTHING),)
    assert "ConvInteger" in dict(network.also_read)["a"]


def test_an_lstm_reads_in_several_steps_and_makes_in_several(tmp_path: Path) -> None:
    network = read(
        tmp_path,
        operator("MatMul", "x w", "a", name="a"),
        operator("LSTM", "a v r", "y h c", name="l", hidden_size=8),
        x=[3, 1, 8], w=[8, 8], v=[1, 32, 8], r=[1, 32, 8],
    )  # fmt: skip
    assert not network.edges
    assert dict(network.also_read) == {
        "a": "LSTM reads it, in several steps",
        "l.input": "a part of what LSTM makes",
        "l.state": "a part of what LSTM makes",
    }


def test_runs_of_other_axes_are_no_runs_in_common(tmp_path: Path) -> None:
    """Two products of two runs each: the runs of one are samples, those of the other are heads."""
    made = operator("MatMul", "x w", "a", name="a")
    other = read(
        tmp_path, made, operator("MatMul", "a v", "b"), x=[2, 2, 4, 8], w=[2, 1, 8, 8], v=[1, 2, 8, 8]
    )
    same = read(tmp_path, made, operator("MatMul", "a v", "b"), x=[2, 4, 8], w=[2, 8, 8], v=[2, 8, 8])
    assert [edge.whole for edge in (*other.edges, *same.edges)] == [EVERYTHING, ""]
    assert [network.chains[0].times for network in (other, same)] == [1, 2]


def test_groups_of_channels_are_no_runs_of_samples(tmp_path: Path) -> None:
    network = read(
        tmp_path,
        operator("Conv", "x w3", "a", name="a", pads=[1] * 4),
        operator("Conv", "a w", "b", name="b", group=2),
        x=[2, 8, 8, 8], w3=[8, 8, 3, 3], w=[8, 4, 1, 1],
    )  # fmt: skip
    assert [layer.repeats for layer in network.chains[0].layers] == [2, 2]
    assert network.chains[0].times == 1


def test_blocks_that_run_one_by_one_are_written_to_a_file_and_read_again(tmp_path: Path) -> None:
    network, path = load("llama3-8b@prefill=64"), tmp_path / "again.toml"
    path.write_text(network_toml(network))
    again = load(str(path))
    assert (again.edges, again.also_read, again.times) == (network.edges, network.also_read, 32)
    assert again.chains == network.chains
    path.write_text(network_toml(network).replace("times = 32\n", ""))
    assert load(str(path)).chains[0].times == 1


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


def test_keys_that_are_turned_are_needed_whole_and_values_are_not(tmp_path: Path) -> None:
    network = read(
        tmp_path,
        operator("MatMul", "x w", "q", name="q"),
        operator("MatMul", "x w", "v", name="v"),
        operator("Transpose", "v", "t", perm=[1, 0]),
        operator("MatMul", "q t", "s", name="s"),
        operator("MatMul", "s v", "o", name="o"),
        x=[8, 8], w=[8, 8],
    )  # fmt: skip
    whole = {(edge.source, edge.reader): edge.whole for edge in network.edges if edge.operand == WEIGHT}
    assert whole == {("v", "s"): EVERYTHING, ("v", "o"): ""}
