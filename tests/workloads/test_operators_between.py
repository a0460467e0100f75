"""Two layers of an ONNX model with operators between: what these need whole, and what then stays on chip."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

from dse.core.edges import EVERYTHING, INPUT, Edge
from tests.optimum.chains.test_read_elsewhere import WA, WB, A, B, X, proven, words
from tests.workloads.onnx_cases import model, operator, written
from workloads import load
from workloads.network import Network

IMAGE = {"x": [1, 8, 16, 16], "w": [8, 8, 3, 3], "k": [8], "two": [2]}
ROWS_OF = {"x": [1, 128, 32], "v": [32, 32], "s": [32], "t": [128, 32]}


def constant(name: str, values: list[int] | int) -> onnx.NodeProto:
    return operator("Constant", "", name, value=onnx.numpy_helper.from_array(np.array(values), name))


def whole(tmp_path: Path, nodes: list[onnx.NodeProto], kind: str) -> str:
    """What operators between two layers of a kind need whole, as the edge says."""
    made = {"Conv": ("x w", "p w", IMAGE), "MatMul": ("x v", "p v", ROWS_OF)}[kind]
    pads = {"pads": [1] * 4} if kind == "Conv" else {}
    layers = operator(kind, made[0], "a", name="a", **pads), operator(kind, made[1], "b", name="b", **pads)
    network = load(written(tmp_path / "net.onnx", model(layers[0], *nodes, layers[1], version=17, **made[2])))
    assert network.also_read == (("b", "an output of the model"),)
    (edge,) = network.edges
    assert edge == Edge("a", "b", INPUT, edge.whole)
    return edge.whole


@pytest.mark.parametrize(
    ("nodes", "needed"),
    [
        ([operator("Relu", "a", "p")], ""),
        ([operator("Sigmoid", "a", "s"), operator("Mul", "a s", "p")], ""),
        ([operator("LRN", "a", "p", size=5)], "K"),
        ([operator("InstanceNormalization", "a k k", "p")], "YX"),
        ([operator("MaxPool", "a", "p", kernel_shape=[3, 3], pads=[1] * 4)], "YX"),
        ([operator("AveragePool", "a", "p", kernel_shape=[9, 9], pads=[4] * 4)], "YX"),
        ([operator("GlobalAveragePool", "a", "g"), operator("Mul", "a g", "p")], "YX"),
        ([operator("GlobalMaxPool", "a", "g"), operator("Sub", "a g", "p")], "YX"),
        ([operator("Softmax", "a", "p", axis=2)], "YX"),
        ([operator("Softmax", "a", "p", axis=1)], "KYX"),
        ([operator("Transpose", "a", "p", perm=[0, 1, 3, 2])], EVERYTHING),
        ([operator("DepthToSpace", "a", "d", blocksize=2), operator("SpaceToDepth", "d", "p", blocksize=2)],
         EVERYTHING),
        ([constant("g", [1, 2, -1]), operator("Reshape", "a g", "r"),
          operator("InstanceNormalization", "r two two", "n"), constant("f", [1, 8, 16, 16]),
          operator("Reshape", "n f", "p")], EVERYTHING),
        ([operator("ReduceMean", "a", "m", axes=[1]), operator("Div", "a m", "p")], "K"),
        ([operator("ReduceMax", "a", "m"), operator("Div", "a m", "p")], "KYX"),
        ([constant("z", 3), operator("CumSum", "a z", "p")], EVERYTHING),
    ],
)  # fmt: skip
def test_between_convolutions(tmp_path: Path, nodes: list[onnx.NodeProto], needed: str) -> None:
    assert whole(tmp_path, nodes, "Conv") == needed


@pytest.mark.parametrize(
    ("nodes", "needed"),
    [
        ([operator("Relu", "a", "p")], ""),
        ([operator("Add", "a t", "p")], ""),
        ([operator("Softmax", "a", "p", axis=-1)], "K"),
        ([operator("LayerNormalization", "a s", "p", axis=-1)], "K"),
        ([operator("LayerNormalization", "a t", "p", axis=1)], "KY"),
        ([operator("Softmax", "a", "p", axis=1)], "KY"),
        ([operator("ReduceMean", "a", "m", axes=[1]), operator("Sub", "a m", "p")], "Y"),
        ([operator("ReduceMean", "a", "m", axes=[1], keepdims=0), operator("Sub", "a m", "p")], EVERYTHING),
        ([constant("one", 1), operator("CumSum", "a one", "p")], EVERYTHING),
        ([constant("st", [-1]), constant("en", [-1000]), constant("ax", [1]),
          operator("Slice", "a st en ax st", "p")], EVERYTHING),
        ([operator("Flatten", "a", "f"), operator("Softmax", "f", "g", axis=1), constant("h", [1, 128, 32]),
          operator("Reshape", "g h", "p")], EVERYTHING),
        ([constant("h", [128, 32]), operator("Reshape", "a h", "p")], ""),
        ([constant("h", [4, 32, 32]), operator("Reshape", "a h", "p")], ""),
        ([constant("h", [64, 64]), operator("Reshape", "a h", "q"), constant("i", [128, 32]),
          operator("Reshape", "q i", "p")], EVERYTHING),
    ],
)  # fmt: skip
def test_between_products(tmp_path: Path, nodes: list[onnx.NodeProto], needed: str) -> None:
    assert whole(tmp_path, nodes, "MatMul") == needed


def test_between_filters_of_one_dimension_a_global_norm_needs_all_places(tmp_path: Path) -> None:
    """As in Conv-TasNet: pointwise filters of a sound, with a norm over channels and time between them."""
    made = model(
        operator("Conv", "x w", "a", name="a"),
        operator("LayerNormalization", "a s", "n", axis=1),
        operator("Conv", "n w", "b", name="b"),
        operator("Relu", "b", "r"),
        operator("Conv", "r w", "c", name="c"),
        version=17, x=[1, 16, 64], w=[16, 16, 1], s=[16, 64],
    )  # fmt: skip
    network = load(written(tmp_path / "sound.onnx", made))
    assert network.edges == (Edge("a", "b", INPUT, "KX"), Edge("b", "c"))


def dense(tmp_path: Path, *nodes: onnx.NodeProto, outputs: str = "") -> Network:
    made = model(
        operator("Conv", "x wa", "a", name="a"),
        operator("Conv", "a wb", "b", name="b", pads=[1] * 4),
        *nodes,
        x=[1, 4, 8, 8], wa=[8, 4, 1, 1], wb=[8, 8, 3, 3], wc=[4, 16, 1, 1], wd=[4, 8, 1, 1],
    )  # fmt: skip
    for name in outputs.split():
        made.graph.output.append(onnx.helper.make_empty_tensor_value_info(name))
    return load(written(tmp_path / "dense.onnx", made))


def test_what_a_concat_reads_later_is_written_once_and_may_stay_for_the_layer_before_it(
    tmp_path: Path,
) -> None:
    network = dense(
        tmp_path, operator("Concat", "a b", "ab", axis=1), operator("Conv", "ab wc", "c", name="c")
    )
    (chain,) = network.chains
    assert chain.names == ("a", "b")
    proof = proven(chain.layers, chain.edges, chain.also_read)
    assert words(proof) == (X + WA + A) + (WB + B)


def test_an_intermediate_that_is_an_output_is_written_and_stays(tmp_path: Path) -> None:
    (chain,) = dense(tmp_path, operator("Conv", "b wd", "c", name="c"), outputs="a").chains
    kept = X + WA + WB + 8 * 4 + 4 * 8 * 8
    assert words(proven(chain.layers, chain.edges, chain.also_read)) == kept + A
