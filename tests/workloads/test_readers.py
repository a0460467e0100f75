"""Models whose tensors are read in odd ways: what cannot be followed is written off the chip."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest
import torch

from dse.core.edges import BESIDE, EVERYTHING, INPUT, WEIGHT, Edge
from dse.support.errors import InputError
from tests.workloads.onnx_cases import model, operator, written
from workloads import load
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


KEPT = "the cache of keys and values outlives the run"


@pytest.mark.parametrize(
    ("outputs", "said"),
    [("o", {}), ("o pk pv", {"k": KEPT, "v": KEPT}), ("o _ _ s", {"t.scores": "an output of Attention too"})],
)
def test_an_attention_may_hand_out_its_keys_its_values_and_its_scores(
    tmp_path: Path, outputs: str, said: dict[str, str]
) -> None:
    products = [operator("MatMul", "x w", name, name=name) for name in "qkv"]
    attended = operator("Attention", "q k v", "o", name="t", q_num_heads=2, kv_num_heads=2)
    attended.output[:] = ["" if name == "_" else name for name in outputs.split()]
    last = operator("MatMul", "o w", "y", name="y")
    made = model(*products, attended, last, version=23, x=[1, 4, 8], w=[8, 8])
    network = load(written(tmp_path / "attention.onnx", made))
    assert dict(network.also_read) == {**said, "y": "an output of the model"}
    assert Edge("q", "t.scores", INPUT, EVERYTHING) in network.edges


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


def test_groups_in_a_file_are_no_runs_of_samples(tmp_path: Path) -> None:
    path = tmp_path / "groups.toml"
    path.write_text("""
name = "groups"
readers = "all"
[[layers]]
name = "a"
type = "CONV"
K = 8
C = 8
Y = 8
X = 8
R = 3
S = 3
padding = 1
batch = 2
[[layers]]
name = "b"
type = "CONV"
K = 8
C = 8
Y = 8
X = 8
R = 1
S = 1
batch = 2
groups = 2
reads = "a"
""")
    assert load(str(path)).chains[0].times == 1
    path.write_text(path.read_text().replace("groups = 2\n", ""))
    assert load(str(path)).edges == (Edge("a", "b"),)


def test_blocks_that_run_one_by_one_are_written_to_a_file_and_read_again(tmp_path: Path) -> None:
    network, path = load("llama3-8b@prefill=64"), tmp_path / "again.toml"
    path.write_text(network_toml(network))
    again = load(str(path))
    assert (again.edges, again.also_read, again.times) == (network.edges, network.also_read, 32)
    assert again.chains == network.chains
    path.write_text(network_toml(network).replace("times = 32\n", ""))
    assert load(str(path)).chains[0].times == 1
    path.write_text(network_toml(network).replace("times = 32\n", "times = 5\n"))
    with pytest.raises(InputError, match="times = 5 does not divide the 32 runs of q_proj"):
        load(str(path))


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
