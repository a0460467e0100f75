"""Networks keep which layer reads what: in files, models, and the tables that come along."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest
import torch
from torch import nn
from torch.nn import functional

from dse.core.edges import BESIDE, EVERYTHING, INPUT, ROWS, WEIGHT, Edge
from dse.core.layer import Layer
from dse.optimum.chains.program import Program
from dse.support.errors import InputError
from tests.conftest import Dse
from tests.workloads.onnx_cases import model, operator, written
from workloads import from_torch, load
from workloads.models.toml_file import network_toml
from workloads.network import Network

CHAIN = """
name = "head"
[[layers]]
name = "queries"
type = "GEMM"
M = 8
N = 4
K = 6
[[layers]]
name = "keys"
type = "GEMM"
M = 10
N = 4
K = 6
[[layers]]
name = "scores"
type = "GEMM"
M = 8
N = 10
K = 4
reads = ["queries", "keys"]
[[layers]]
name = "sum"
type = "GEMM"
M = 8
N = 4
K = 10
reads = "scores"
whole_rows = true
beside = ["queries"]
"""
EDGES = (
    Edge("queries", "scores", INPUT),
    Edge("keys", "scores", WEIGHT),
    Edge("scores", "sum", INPUT, ROWS),
    Edge("queries", "sum", BESIDE),
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    found = tmp_path / "head.toml"
    found.write_text(CHAIN)
    return found


def test_a_file_says_what_a_layer_reads_and_is_written_so_again(path: Path) -> None:
    network = load(str(path))
    assert network.edges == EDGES
    (chain,) = network.chains
    assert chain.names == ("queries", "keys", "scores", "sum")
    assert chain.times == 1
    assert_written_again(network, path)


def assert_written_again(network: Network, path: Path) -> None:
    again = path.with_name("again.toml")
    again.write_text(network_toml(network))
    read = load(str(again))
    assert set(read.edges) == set(network.edges)
    assert read.also_read == network.also_read


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('reads = "scores"', 'reads = "score"', "did you mean 'scores'"),
        ('reads = "scores"', 'reads = "sum"', "must stand before it"),
        ('reads = "scores"', "reads = 3", "must be the name of a layer"),
        ('reads = "scores"', 'reads = ["scores", "keys", "queries"]', "has two operands"),
        ("whole_rows = true", "whole_rows = 1", "must be true or false"),
        ("whole_rows = true", 'whole = "Q"', "or some of the dims BKYX"),
        ("whole_rows = true", 'whole = ["K"]', "1 entries for 2 layers"),
        ("whole_rows = true", "also_read = 3", "must say in words"),
        ("whole_rows = true", 'whole_rows = true\nwhole = "K"', "give one of both"),
        ('reads = "scores"\n', "", "name that in reads"),
        ('name = "head"', 'name = "head"\nreaders = "few"', "readers"),
    ],
)
def test_what_cannot_be_read_is_said(path: Path, old: str, new: str, said: str) -> None:
    path.write_text(CHAIN.replace(old, new))
    with pytest.raises(InputError, match=said):
        load(str(path))


def test_edges_of_an_onnx_model_go_through_what_is_no_layer(tmp_path: Path) -> None:
    made = model(
        operator("MatMul", "x wq", "q"),
        operator("MatMul", "x wk", "k"),
        operator("Transpose", "k", "kt", perm=[1, 0]),
        operator("MatMul", "q kt", "s"),
        operator("Softmax", "s", "p"),
        operator("MatMul", "p v", "o"),
        operator("Add", "o q", "y"),
        x=[8, 6],
        wq=[6, 4],
        wk=[6, 4],
        v=[8, 4],
    )
    network = load(written(tmp_path / "head.onnx", made))
    q, k, s, o = (layer.name for layer in network.in_order)
    assert set(network.edges) == {
        Edge(q, s),
        Edge(k, s, WEIGHT, EVERYTHING),
        Edge(s, o, INPUT, ROWS),
        Edge(q, o, BESIDE),
    }
    assert network.also_read == ((o, "an output of the model"),)


def test_a_file_says_what_else_reads_and_what_is_needed_whole(path: Path) -> None:
    path.write_text(
        CHAIN.replace("whole_rows = true", 'whole = ["YK", "everything"]\nalso_read = "an output"')
    )
    network = load(str(path))
    assert network.also_read == (("sum", "an output"),)
    assert network.edges[2:] == (Edge("scores", "sum", INPUT, "KY"), Edge("queries", "sum", BESIDE, "BKYX"))
    assert_written_again(network, path)


@pytest.mark.parametrize("line", ['readers = "some"', 'source = "old.onnx"', 'source = "torch module Net"'])
def test_nothing_stays_of_a_file_that_may_not_say_all_readers(path: Path, line: str) -> None:
    path.write_text(CHAIN.replace('name = "head"', f'name = "head"\n{line}'))
    network = load(str(path))
    assert network.edges == EDGES
    assert {name for name, _ in network.also_read} == {"queries", "keys", "scores"}
    assert "of its readers" in network.also_read[0][1] or "all its readers" in network.also_read[0][1]
    assert_written_again(network, path)


def test_a_network_of_edges_alone_does_not_know_what_else_reads() -> None:
    layers = [Layer.gemm(4, 4, 4, name=name) for name in "ab"]
    assert Network.of("n", "here", layers, edges=[Edge("a", "b")]).also_read[0][0] == "a"
    assert Network.of("n", "here", layers, edges=[Edge("a", "b")], also_read=()).also_read == ()
    with pytest.raises(InputError, match="also_read"):
        Network.of("n", "here", layers, also_read=[("c", "?")])


CONV_B = operator("Conv", "a w3", "b", name="b", pads=[1] * 4)


@pytest.mark.parametrize(
    ("nodes", "elsewhere"),
    [
        ([CONV_B, operator("Concat", "a b", "y", axis=1)], "Concat"),
        ([CONV_B, operator("Relu", "a", "y")], "an output"),
        ([CONV_B, operator("Split", "a", "p q", num_outputs=2, axis=1),
          operator("Add", "p q", "s"), operator("Conv", "s w4", "z", name="d")], "Add"),
    ],
)  # fmt: skip
def test_an_onnx_model_says_all_that_reads_a_layers_output(
    tmp_path: Path, nodes: list[onnx.NodeProto], elsewhere: str
) -> None:
    first = operator("Conv", "x w1", "a", name="a")
    made = model(first, *nodes, x=[1, 4, 8, 8], w1=[8, 4, 1, 1], w3=[8, 8, 3, 3], w4=[4, 4, 1, 1])
    network = load(written(tmp_path / "net.onnx", made))
    assert elsewhere in dict(network.also_read)["a"]
    assert_written_again(network, tmp_path / "net.onnx")


def test_a_body_of_if_that_reads_a_tensor_from_outside_is_a_reader(tmp_path: Path) -> None:
    inner = onnx.helper.make_graph(
        [operator("Sqrt", "a", "t")],
        "then",
        [],
        [onnx.helper.make_tensor_value_info("t", onnx.TensorProto.FLOAT, None)],
    )
    made = model(
        operator("Conv", "x w1", "a", name="a"),
        operator("If", "c", "i", then_branch=inner, else_branch=inner),
        operator("Conv", "a w3", "b", name="b", pads=[1] * 4),
        x=[1, 4, 8, 8],
        w1=[8, 4, 1, 1],
        w3=[8, 8, 3, 3],
        c=[1],
    )
    made.graph.input[-1].type.tensor_type.elem_type = onnx.TensorProto.BOOL
    network = load(written(tmp_path / "if.onnx", made))
    assert dict(network.also_read)["a"] == "If reads it, which is left out"


def test_a_decoder_writes_its_keys_and_values_and_an_encoder_does_not() -> None:
    assert [name for name, _ in load("llama3-8b@prefill=256").also_read] == ["k_proj", "v_proj"]
    assert [name for name, _ in load("deepseek-v3").also_read] == ["kv_a_proj"]
    assert load("bert-large").also_read == load("bert_base").also_read == ()


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.up, self.down = nn.Linear(8, 16), nn.Linear(16, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        first = self.up(x)
        second = self.down(functional.gelu(first))
        return functional.scaled_dot_product_attention(second, second, second) + x


def test_edges_of_a_torch_module_go_through_what_is_no_layer() -> None:
    network = from_torch(Block(), torch.zeros(1, 4, 8))
    names = [layer.name for layer in network.in_order]
    up, down, scores, context = names
    assert set(network.edges) == {
        Edge(up, down),
        Edge(down, scores),
        Edge(down, scores, WEIGHT),
        Edge(scores, context, INPUT, ROWS),
        Edge(down, context, WEIGHT),
    }
    assert network.also_read == ((context, "an output of the model, or a state that it keeps"),)


def test_a_transformer_is_a_chain_run_once_a_block() -> None:
    (chain,) = load("llama3-8b").chains
    assert chain.times == 32
    assert "lm_head" not in chain.names
    assert [edge.source for edge in chain.read_by("scores")] == ["q_proj", "k_proj"]
    assert {layer.name: layer.repeats // chain.times for layer in chain.layers}["scores"] == 8


def test_a_residual_block_adds_what_it_read() -> None:
    (chain,) = load("mobilenet_v2").chains
    beside = [edge for edge in chain.edges if edge.operand == BESIDE]
    assert len(beside) == 10
    assert beside[0] == Edge("features.2.project", "features.3.project", BESIDE)


def test_dse_list_layers_shows_chains(dse: Dse, path: Path) -> None:
    shown = dse("list", "layers", str(path)).out
    assert "chain of 4 layers, run 1 times" in shown
    assert "sum reads scores, +queries" in shown
    assert "written off the chip" not in shown


def test_dse_list_layers_says_what_else_reads_a_layers_output(dse: Dse) -> None:
    asked = "list", "layers", "llama3-8b@prefill=64"
    why = "the cache of keys and values outlives the run"
    assert f"k_proj (written off the chip: {why})" in dse(*asked).out
    (chain,) = dse(*asked, "--json").json["chains"]
    assert chain["also_read"] == {"k_proj": why, "v_proj": why}


@pytest.mark.parametrize("form", ["plain", "absorbed"])
def test_latent_attention_and_its_experts_are_chains(form: str) -> None:
    network = load(f"deepseek-v3@prefill=64,form={form}")
    found = {chain.names: chain.times for chain in network.chains}
    between = (
        ("kv_b_proj", "scores", "context")
        if form == "plain"
        else ("q_absorb", "scores", "context", "v_absorb")
    )
    own = ("kv_a_proj",) if form == "plain" else ()
    expected = {
        ("q_a_proj", "q_proj", *own, *between, "o_proj"): 61,
        ("experts.gate_proj", "experts.up_proj", "experts.down_proj"): 58 * 256,
        ("shared.gate_proj", "shared.up_proj", "shared.down_proj"): 58,
        ("gate_proj", "up_proj", "down_proj"): 3,
    }
    assert found == expected
    program = Program(network.chains[0], {layer: {"O": 1} for layer in network.chains[0].layers})
    stays = [network.chains[0].names[one] for one in program.tensors]
    # What reads a part of another's output cannot have it stay.
    assert stays == (
        ["q_a_proj", "q_proj", "scores", "context"]
        if form == "plain"
        else ["q_a_proj", "scores", "context", "v_absorb"]
    )
