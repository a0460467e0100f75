"""ONNX files as networks: each operator is the layers that it is, and a wrong file gets one line."""

from __future__ import annotations

from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper, shape_inference

from dse.core.layer import Layer
from tests.workloads.onnx_cases import model, operator, written
from workloads import Network, from_onnx, load, load_layer
from workloads.models.convolutions import Steps, transposed


@pytest.fixture
def read(tmp_path: Path) -> Any:
    """The network of a model's file."""

    def network(*nodes: onnx.NodeProto, **inputs: Any) -> Network:
        return from_onnx(written(tmp_path / "model.onnx", model(*nodes, **inputs)))

    return network


def outputs_of(node: onnx.NodeProto, **inputs: Any) -> tuple[int, ...]:
    """The shape that onnx itself infers."""
    found = shape_inference.infer_shapes(model(node, **inputs)).graph.output[0].type.tensor_type.shape.dim
    return tuple(dim.dim_value for dim in found)


CONVOLUTIONS: dict[str, tuple[dict[str, Any], list[int], list[int]]] = {
    "padded on all sides": ({"pads": [1, 1, 1, 1]}, [1, 8, 14, 14], [16, 8, 3, 3]),
    "strided with odd padding": ({"strides": [2, 2], "pads": [0, 1, 1, 2]}, [1, 8, 14, 15], [16, 8, 3, 3]),
    "dilated": ({"dilations": [2, 3], "pads": [2, 3, 2, 3]}, [1, 8, 14, 14], [16, 8, 3, 3]),
    "upper": ({"auto_pad": "SAME_UPPER", "strides": [2, 3]}, [1, 8, 14, 14], [16, 8, 3, 4]),
    "lower": ({"auto_pad": "SAME_LOWER", "strides": [3, 2]}, [1, 8, 13, 14], [16, 8, 5, 2]),
    "upper and dilated": ({"auto_pad": "SAME_UPPER", "dilations": [2, 2]}, [1, 8, 14, 14], [16, 8, 3, 3]),
    "valid": ({"auto_pad": "VALID", "strides": [2, 2]}, [1, 8, 14, 14], [16, 8, 3, 3]),
    "grouped": ({"group": 4}, [2, 8, 14, 14], [16, 2, 3, 3]),
    "depthwise": ({"group": 8}, [1, 8, 14, 14], [8, 1, 3, 3]),
    "of one dimension": ({"strides": [2], "pads": [1, 2]}, [3, 8, 40], [16, 8, 5]),
    "of a batch": ({}, [5, 8, 14, 14], [16, 8, 3, 3]),
}


@pytest.mark.parametrize("case", CONVOLUTIONS.values(), ids=CONVOLUTIONS)
def test_a_convolution_has_the_outputs_and_the_work_that_the_standard_gives_it(read: Any, case: Any) -> None:
    attributes, image, filters = case
    node = operator("Conv", "x w", "y", **attributes)
    network = read(node, x=image, w=filters)
    shape = outputs_of(node, x=image, w=filters)
    assert network.macs == prod(shape) * prod(filters[1:])
    ((whole,),) = network.wholes
    assert (whole.batch, whole.K, whole.output[-1]) == (shape[0], shape[1], shape[-1])
    assert prod(whole.output) == prod(shape[2:])


def test_layers_are_what_the_operators_say(read: Any) -> None:
    node = operator("Conv", "x w", "y", strides=[2, 2], pads=[3, 3, 3, 3], name="/stem/Conv")
    (layer,) = read(node, x=[1, 3, 224, 224], w=[64, 3, 7, 7]).layers
    assert (layer, layer.name) == (load_layer("resnet18:conv1"), "stem/Conv")
    # Zeros on one side alone count as input.
    (layer,) = read(operator("Conv", "x w", "y", pads=[0, 1, 1, 1]), x=[1, 3, 9, 9], w=[4, 3, 3, 3]).layers
    assert layer == Layer("CONV", 4, 3, 10, 9, 3, 3, padding=(0, 1))
    (layer,) = read(operator("Conv", "x w", "y", pads=[2, 2]), x=[1, 3, 50], w=[4, 3, 5]).layers
    assert layer == Layer("CONV", 4, 3, 1, 50, 1, 5, padding=(0, 2))
    (layer,) = read(operator("Conv", "x w", "y", group=8), x=[1, 8, 9, 9], w=[16, 1, 3, 3]).layers
    assert (layer, layer.repeats) == (Layer("DSCONV", 1, 8, 9, 9, 3, 3), 2)


PRODUCTS: dict[str, tuple[onnx.NodeProto, dict[str, list[int]], Layer, int]] = {
    "Gemm": (operator("Gemm", "a b c", "y"), {"a": [5, 6], "b": [6, 7], "c": [7]}, Layer.gemm(5, 7, 6), 1),
    "Gemm, left transposed": (
        operator("Gemm", "a b", "y", transA=1),
        {"a": [6, 5], "b": [6, 7]},
        Layer.gemm(5, 7, 6),
        1,
    ),
    "Gemm, both transposed": (
        operator("Gemm", "a b", "y", transA=1, transB=1),
        {"a": [6, 5], "b": [7, 6]},
        Layer.gemm(5, 7, 6),
        1,
    ),
    "weights shared by a batch": (
        operator("MatMul", "a b", "y"),
        {"a": [2, 3, 5, 6], "b": [6, 7]},
        Layer.gemm(30, 7, 6),
        1,
    ),
    "heads": (operator("MatMul", "a b", "y"), {"a": [2, 3, 5, 6], "b": [2, 3, 6, 7]}, Layer.gemm(5, 7, 6), 6),
    "broadcast both ways": (
        operator("MatMul", "a b", "y"),
        {"a": [4, 1, 3, 5, 6], "b": [2, 1, 6, 7]},
        Layer.gemm(4 * 3 * 5, 2 * 7, 6),
        1,
    ),
    "a vector": (operator("MatMul", "a b", "y"), {"a": [6], "b": [6, 7]}, Layer.gemm(1, 7, 6), 1),
    "QLinearMatMul": (
        operator("QLinearMatMul", "uint8a s uint8z uint8b s uint8z s uint8z", "y"),
        {"uint8a": [5, 6], "s": [], "uint8z": [], "uint8b": [6, 7]},
        Layer.gemm(5, 7, 6),
        1,
    ),
    "MatMulInteger": (
        operator("MatMulInteger", "uint8a uint8b", "y"),
        {"uint8a": [5, 6], "uint8b": [6, 7]},
        Layer.gemm(5, 7, 6),
        1,
    ),
    "QLinearConv": (
        operator("QLinearConv", "uint8x s uint8z uint8w s uint8z s uint8z", "y", strides=[2, 2]),
        {"uint8x": [1, 3, 9, 9], "s": [], "uint8z": [], "uint8w": [4, 3, 3, 3]},
        Layer("CONV", 4, 3, 9, 9, 3, 3, (2, 2)),
        1,
    ),
    "ConvInteger": (
        operator("ConvInteger", "uint8x uint8w", "y", pads=[1, 1, 1, 1]),
        {"uint8x": [1, 3, 9, 9], "uint8w": [4, 3, 3, 3]},
        Layer("CONV", 4, 3, 9, 9, 3, 3, padding=(1, 1)),
        1,
    ),
    "Einsum": (
        operator("Einsum", "a b", "y", equation="bhqd, bhkd -> bhqk"),
        {"a": [2, 3, 5, 6], "b": [2, 3, 7, 6]},
        Layer.gemm(5, 7, 6),
        6,
    ),
    "Einsum with an ellipsis": (
        operator("Einsum", "a b", "y", equation="...qd, ...dk -> ...qk"),
        {"a": [4, 1, 2, 5, 6], "b": [1, 3, 2, 6, 7]},
        Layer.gemm(4 * 5, 3 * 7, 6),
        2,
    ),
}


@pytest.mark.parametrize("case", PRODUCTS.values(), ids=PRODUCTS)
def test_products_of_all_kinds_are_layers(read: Any, case: Any) -> None:
    node, inputs, layer, repeats = case
    network = read(node, **inputs)
    assert (network.layers, network.layers[0].repeats) == ((layer,), repeats)
    assert network.left_out == ()


def test_attention_and_recurrent_operators_are_products(read: Any) -> None:
    node = operator("Attention", "q k v", "y", q_num_heads=8, kv_num_heads=2)
    network = read(node, version=23, q=[1, 10, 64], k=[1, 12, 16], v=[1, 12, 16])
    # Four heads of the query share a head of the keys.
    assert network.layers == (Layer.gemm(40, 12, 8), Layer.gemm(40, 8, 12))
    assert network.macs == 2 * 8 * 10 * 12 * 8
    node = operator("LSTM", "x w r", "y", hidden_size=5, direction="bidirectional")
    network = read(node, x=[7, 3, 4], w=[2, 20, 4], r=[2, 20, 5])
    assert network.macs == 2 * 7 * 3 * 20 * (4 + 5)
    assert [(layer.name, layer.repeats) for layer in network.layers] == [
        ("LSTM.input", 2),
        ("LSTM.state", 14),
    ]


TRANSPOSED: dict[str, tuple[dict[str, Any], list[int], list[int]]] = {
    "doubled": ({"strides": [2, 2], "pads": [1, 1, 1, 1]}, [1, 6, 7, 7], [6, 4, 4, 4]),
    "as large as its stride": ({"strides": [2, 2]}, [1, 6, 7, 7], [6, 4, 2, 2]),
    "with an odd filter": ({"strides": [2, 3], "output_padding": [1, 2]}, [1, 6, 7, 7], [6, 4, 3, 5]),
    "smaller than its stride": ({"strides": [3, 2]}, [1, 6, 5, 5], [6, 4, 2, 1]),
    "dilated": ({"strides": [2, 2], "dilations": [3, 2]}, [1, 6, 7, 7], [6, 4, 3, 3]),
    "grouped": ({"strides": [2, 2], "group": 2}, [1, 6, 7, 7], [6, 4, 3, 3]),
    "padded by itself": ({"strides": [2, 2], "auto_pad": "SAME_UPPER"}, [1, 6, 7, 7], [6, 4, 3, 3]),
    "of one dimension": ({"strides": [4], "pads": [2, 2]}, [2, 6, 30], [6, 4, 8]),
    "of stride 1": ({"pads": [1, 1, 1, 1]}, [1, 6, 7, 7], [6, 4, 3, 3]),
}


@pytest.mark.parametrize("case", TRANSPOSED.values(), ids=TRANSPOSED)
def test_a_transposed_convolution_is_convolutions_that_make_all_its_outputs(read: Any, case: Any) -> None:
    attributes, image, filters = case
    node = operator("ConvTranspose", "x w", "y", **attributes)
    network = read(node, x=image, w=filters)
    shape = outputs_of(node, x=image, w=filters)
    wholes = [layer for group in network.wholes for layer in group]
    usual = {"strides": [1, 1], "dilations": [1, 1], "pads": [0, 0]} | attributes
    steps = (usual[name] for name in ("strides", "dilations", "pads"))
    axes = zip(shape[2:], filters[2:], *steps, strict=False)
    # Where taps are apart, or fewer than a stride, some outputs are no sum at all.
    made = prod(
        sum(any((o + pad - tap * apart) % step == 0 for tap in range(taps)) for o in range(size))
        for size, taps, step, apart, pad in axes
    )
    assert sum(layer.batch * layer.K * prod(layer.output) for layer in wholes) == shape[0] * shape[1] * made
    if "pads" not in attributes and "auto_pad" not in attributes:
        # Every input meets every tap where no output is cut off; at the edges zeros are multiplied too.
        assert network.macs >= prod(image) * prod(filters[1:])


CROSSED = [(4, 2, 1, 1, 0), (3, 2, 1, 0, 1), (5, 3, 2, 2, 0), (3, 2, 2, 1, 0), (1, 3, 1, 0, 1)]
"""Taps, stride, dilation, padding and what more there is of the output."""


@pytest.mark.parametrize(("taps", "stride", "dilation", "before", "more"), CROSSED)
def test_the_phases_of_a_transposed_convolution_compute_what_it_does(
    taps: int, stride: int, dilation: int, before: int, more: int
) -> None:
    rng, size = np.random.default_rng(0), 9
    image, filters = rng.integers(-9, 9, size), rng.integers(-9, 9, taps)
    whole = np.zeros((size - 1) * stride + (taps - 1) * dilation + 1 + more, dtype=np.int64)
    for row, tap in np.ndindex(size, taps):
        whole[row * stride + tap * dilation] += image[row] * filters[tap]
    whole = whole[before : len(whole) - before]
    steps = Steps((stride,), (dilation,), (before,), (before,))
    phases = iter(transposed((1, 1, size), (1, 1, taps), steps, whole.shape))
    for place in range(stride):
        used = [tap for tap in range(taps) if (place + before - tap * dilation) % stride == 0]
        if not used:
            assert not whole[place::stride].any()
            continue
        layer = next(phases)
        assert (1, 1, len(used)) == (layer.Y, layer.R, layer.S)
        # The zeros that the layer has around its input, and those that the transposed one has there.
        first = (place + before - used[-1] * dilation) // stride
        rows = [
            image[row] if 0 <= row < size else 0
            for row in range(first, first + layer.X + 2 * layer.padding[1])
        ]
        weights, apart = filters[used[::-1]], layer.dilation[1]
        sums = [
            sum(rows[start + tap * apart] * weights[tap] for tap in range(layer.S))
            for start in range(layer.output[1])
        ]
        assert sums == whole[place::stride].tolist()
    assert list(phases) == []


def test_equal_layers_are_one_with_repeats_and_the_rest_is_listed(read: Any) -> None:
    nodes = [
        operator("Conv", "x w1", "a", pads=[1, 1, 1, 1], name="first"),
        operator("Relu", "a", "b"),
        operator("Conv", "b w2", "c", pads=[1, 1, 1, 1], name="second"),
        operator("Relu", "c", "d"),
        operator("Fancy", "d", "e", domain="com.maker"),
        operator("Conv", "x w3", "f", name="deep"),
    ]
    network = read(*nodes, x=[1, 8, 9, 9], w1=[8, 8, 3, 3], w2=[8, 8, 3, 3], w3=[8, 8, 3, 3])
    assert network.members == (("first", "second"), ("deep",))
    assert network.layers[0].repeats == 2
    fancy, relu = network.left_out
    assert (relu.operator, relu.count, relu.macs, relu.reason) == ("Relu", 2, 0, "")
    assert (fancy.operator, fancy.macs) == ("com.maker::Fancy", None)
    assert "beyond the standard" in fancy.reason


def test_what_multiplies_but_is_no_layer_is_left_out_with_its_work(read: Any) -> None:
    nodes = [
        operator("Conv", "x w", "y"),
        operator("MatMul", "a b", "z"),
        operator("DeformConv", "p q o", "r"),
    ]
    shapes = {"x": [1, 2, 6, 6, 6], "w": [4, 2, 3, 3, 3], "a": [5, 6], "b": [6, 7]}
    network = read(*nodes, **shapes, p=[1, 2, 8, 8], q=[4, 2, 3, 3], o=[1, 18, 6, 6])
    assert network.layers == (Layer.gemm(5, 7, 6),)
    work = {entry.operator: entry.macs for entry in network.left_out}
    assert work == {"Conv": 4 * 4**3 * 2 * 27, "DeformConv": 4 * 36 * 2 * 9}
    assert "3 spatial dimensions" in network.left_out[0].reason


def test_shapes_follow_through_constants_functions_and_weights_in_other_files(
    tmp_path: Path,
) -> None:
    target = numpy_helper.from_array(np.array([1, -1], np.int64), "target")
    elsewhere = {"data_type": onnx.TensorProto.FLOAT, "data_location": onnx.TensorProto.EXTERNAL}
    weights = onnx.TensorProto(name="w", dims=[9 * 8 * 8, 10], **elsewhere)
    weights.external_data.add(key="location", value="nowhere.bin")
    made = model(
        operator("Double", "x", "a", domain="own"),
        operator("Reshape", "a target", "b"),
        operator("MatMul", "b w", "y"),
        x=[1, 9, 8, 8],
    )
    made.graph.initializer.extend([target, weights])
    versions = [helper.make_opsetid("", 21)]
    body = [operator("Add", "v v", "u")]
    made.functions.append(helper.make_function("own", "Double", ["v"], ["u"], body, versions))
    network = from_onnx(written(tmp_path / "m.onnx", made))
    assert network.layers == (Layer.gemm(1, 10, 9 * 8 * 8),)
    assert [entry.operator for entry in network.left_out] == ["Add", "Reshape"]


def test_what_a_model_computes_of_its_shapes_is_worked_out(read: Any) -> None:
    # A reshape to (rows, 2, half of the columns), as exporters write it where the rows were open.
    nodes = [
        operator("Shape", "x", "shape"),
        operator("Constant", "", "zero", value_ints=[0]),
        operator("Constant", "", "one", value_ints=[1]),
        operator("Constant", "", "two", value_ints=[2]),
        operator("Gather", "shape zero", "rows"),
        operator("Gather", "shape one", "columns"),
        operator("Mod", "columns two", "odd"),
        operator("Sub", "columns odd", "even"),
        operator("Div", "even two", "half"),
        operator("Concat", "rows two half", "target", axis=0),
        operator("Reshape", "x target", "split"),
        operator("MatMul", "split w", "y"),
    ]
    network = read(*nodes, x=[6, 10], w=[5, 7])
    assert network.layers == (Layer.gemm(12, 7, 5),)
    assert ("Gather", 2) in [(entry.operator, entry.count) for entry in network.left_out]


def test_a_resnet_of_operators_has_its_published_work_and_the_layers_of_the_table(read: Any) -> None:
    nodes, shapes, inputs = [], {"x": [1, 3, 224, 224]}, 64

    def conv(source: str, name: str, outputs: int, channels: int, taps: int, stride: int = 1) -> str:
        pad = [taps // 2] * 4
        shapes[f"{name}.w"] = [outputs, channels, taps, taps]
        nodes.append(
            operator("Conv", f"{source} {name}.w", name, strides=[stride, stride], pads=pad, name=name)
        )
        return name

    nodes.append(operator("Relu", conv("x", "conv1", 64, 3, 7, 2), "relu"))
    nodes.append(operator("MaxPool", "relu", "pool", kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4))
    last = "pool"
    for stage, width in enumerate([64, 128, 256, 512], start=1):
        for block in range(2):
            name, stride = f"layer{stage}.{block}", 2 if stage > 1 and block == 0 else 1
            inside = conv(last, f"{name}.conv1", width, inputs, 3, stride)
            whole = conv(inside, f"{name}.conv2", width, width, 3)
            aside = conv(last, f"{name}.downsample", width, inputs, 1, stride) if stride == 2 else last
            nodes.append(operator("Add", f"{whole} {aside}", f"{name}.sum"))
            last, inputs = f"{name}.sum", width
    nodes.append(operator("GlobalAveragePool", last, "mean"))
    nodes.append(operator("Flatten", "mean", "flat"))
    nodes.append(operator("Gemm", "flat fc.w", "y", transB=1, name="fc"))
    network = read(*nodes, **shapes, **{"fc.w": [1000, 512]})
    # torchvision's `_ops`, in billions.
    assert network.macs == pytest.approx(1.814e9, rel=1e-3)
    assert (network.layers, network.members) == (load("resnet18").layers, load("resnet18").members)
