"""ONNX files that are no network, and large ones."""

from __future__ import annotations

import sys
import time
import tracemalloc
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from dse.campaign.reading import load_campaign
from dse.cli.commands.run import find_layers
from dse.core.layer import Layer
from dse.support.errors import InputError
from tests.conftest import Dse
from tests.workloads.onnx_cases import model, operator, written
from workloads import from_onnx, load, load_layer
from workloads.models import onnx_file
from workloads.models.collected import Collected, NoLayerError
from workloads.models.convolutions import Steps, transposed
from workloads.models.onnx_shapes import shapes_of


def refusal(path: str, **options: Any) -> str:
    """The one line with which a file is refused."""
    with pytest.raises(InputError) as caught:
        from_onnx(path, **options)
    text = str(caught.value)
    assert "\n" not in text
    return text


def test_open_shapes_are_refused_with_the_command_that_fixes_them(tmp_path: Path, dse: Dse) -> None:
    made = model(operator("Conv", "x w", "y"), x=["batch", 3, None, 32], w=[8, 3, 3, 3])
    path = written(tmp_path / "open.onnx", made)
    text = refusal(path)
    assert "'x' (batch x 3 x ? x 32)" in text
    assert f"dse import {path} --input x=1x3x32x32 --out open.toml" in text
    out = str(tmp_path / "net.toml")
    dse("import", path, "--input", "x=1x3x16x32", "--out", out)
    assert load(out).layers == from_onnx(path, {"x": (1, 3, 16, 32)}).layers
    assert load(out).layers == (Layer("CONV", 8, 3, 16, 32, 3, 3),)
    assert "has no input 'y'; its inputs are 'x', 'w'" in refusal(path, inputs={"y": (1,)})
    assert "has 4 dimensions (batch x 3 x ? x 32), got 1x3" in refusal(path, inputs={"x": (1, 3)})


def test_files_that_are_no_models_get_one_line(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    assert "cannot be read: No such file" in refusal(str(path))
    assert "Is a directory" in refusal(str(tmp_path))
    for content in (b"", b"\x00\xff" * 50, b"name = 'net'\n", b"\x08\x0a"):
        path.write_bytes(content)
        assert "is no ONNX model" in refusal(str(path))
    assert "has no convolution and no matrix product that can be mapped; it has Relu" in refusal(
        written(path, model(operator("Relu", "x", "y"), x=[1, 2]))
    )
    wrong = model(operator("MatMul", "a b", "y"), a=[5, 6], b=[7, 8])
    assert "its shapes contradict each other" in refusal(written(path, wrong))
    unknown = model(
        *(operator("NonZero", "x", "i"), operator("Cast", "i", "f", to=1), operator("MatMul", "f w", "y")),
        x=[5, 6],
        w=[7, 8],
    )
    assert "MatMul 'y': the shape of 'f', an input, does not follow" in refusal(written(path, unknown))
    deep = model(operator("Conv", "x w", "y"), x=[1, 4, 9, 9, 9], w=[8, 4, 3, 3, 3])
    assert "it has Conv (a convolution of 3 spatial dimensions" in refusal(written(path, deep))
    odd = model(operator("Conv", "x w", "y", group=3), x=[1, 6, 9, 9], w=[8, 2, 3, 3])
    assert "Conv 'y': layer: K = 8 does not split into 3 equal groups" in refusal(written(path, odd))


UNMATCHED: dict[str, tuple[onnx.NodeProto, dict[str, list[int]], str]] = {
    "Conv": (
        operator("Conv", "x w", "y", group=2),
        {"x": [1, 5, 9, 9], "w": [8, 2, 3, 3]},
        "its input has 5 channels, its weights are for 4",
    ),
    "ConvTranspose": (
        operator("ConvTranspose", "x w", "y"),
        {"x": [1, 5, 9], "w": [6, 8, 3]},
        "its input has 5 channels, its weights are for 6",
    ),
    "Einsum": (
        operator("Einsum", "a b", "y", equation="ij,jk->ik"),
        {"a": [4, 5], "b": [6, 7]},
        "has 'j' of 5 and of 6",
    ),
    "LSTM": (
        operator("LSTM", "x w r", "y", hidden_size=8),
        {"x": [7, 2, 5], "w": [1, 32, 6], "r": [1, 32, 8]},
        "its input has 5 values a step, its weights are for 6",
    ),
}


@pytest.mark.parametrize("case", UNMATCHED.values(), ids=UNMATCHED)
def test_weights_that_do_not_fit_their_input_are_refused(tmp_path: Path, case: Any) -> None:
    node, inputs, words = case
    assert words in refusal(written(tmp_path / "m.onnx", model(node, **inputs)))


def test_behind_an_operator_of_others_the_shapes_in_the_file_hold(tmp_path: Path) -> None:
    made = model(
        operator("Fancy", "x", "a", domain="com.maker"),
        operator("Conv", "a w", "y"),
        x=[1, 3, 9, 9],
        w=[8, 4, 3, 3],
    )
    path = written(tmp_path / "m.onnx", made)
    assert "behind an operator that is not in the standard" in refusal(path)
    made.graph.value_info.append(helper.make_tensor_value_info("a", onnx.TensorProto.FLOAT, [1, 4, 20, 20]))
    assert from_onnx(written(tmp_path / "m.onnx", made)).layers == (Layer("CONV", 8, 4, 20, 20, 3, 3),)
    # With other inputs they need not hold.
    assert "the shape of 'a', an input, does not follow" in refusal(path, inputs={"x": (1, 3, 18, 18)})


def test_a_file_that_is_too_large_for_its_format_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path / "m.onnx", model(operator("MatMul", "a b", "y"), a=[5, 6], b=[6, 8]))
    monkeypatch.setattr(onnx_file, "MAX_BYTES", 20)
    assert "save the model with its weights as external data" in refusal(path)


def test_without_the_package_one_line_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path / "m.onnx", model(operator("MatMul", "a b", "y"), a=[5, 6], b=[6, 8]))
    monkeypatch.setitem(sys.modules, "onnx", None)
    assert "needs the package onnx: pip install 'dse-arena[onnx]'" in refusal(path)


def test_a_file_is_a_network_wherever_one_is_named(tmp_path: Path, dse: Dse) -> None:
    nodes = [
        operator("Conv", "x w", "a", group=2, name="grouped"),
        operator("Relu", "a", "b"),
        operator("Conv", "b v", "y", dilations=[2, 2], name="dilated"),
    ]
    made = model(*nodes, x=[1, 4, 9, 9], w=[8, 2, 3, 3], v=[8, 8, 3, 3])
    path = written(tmp_path / "m.onnx", made)
    layers = load(path).layers
    assert load_layer(f"{path}:dilated") == load_layer(f"{path}:1") == layers[1]
    assert layers[1].dilation == (2, 2)
    listed = dse("list", "layers", path, "--json").json
    assert [entry["folded"] for entry in listed["layers"]] == [["groups 2"], []]
    assert [(entry["operator"], entry["share"]) for entry in listed["left_out"]] == [("Relu", 0.0)]
    edge = ("--accelerator", "edge", "--objective", "latency", "--json")
    found = dse("certify", "--network", path, *edge).json
    assert [(entry["repeats"], entry["status"]) for entry in found["layers"]] == [
        (2, "optimal"),
        (1, "optimal"),
    ]
    # A campaign names it as seen from its own folder.
    campaign = tmp_path / "c.toml"
    campaign.write_text(
        'name = "c"\nbudget = 5\nseeds = 1\nlayers = ["m.onnx", "m.onnx:dilated"]\naccelerators = ["edge"]\n'
        'objectives = ["edp"]\n[searchers.random]\n'
    )
    problems = load_campaign(str(campaign), find_layers).problems
    assert [(one.layer, one.problem.layer) for one in problems] == [
        (f"{path}:grouped", layers[0]),
        (f"{path}:dilated", layers[1]),
    ]


def test_a_transposed_convolution_of_very_many_layers_is_left_out_at_once() -> None:
    steps = Steps((100, 100), (1, 1), (0, 0), (0, 0))
    with pytest.raises(NoLayerError, match="10,000 places between two strides; at most 4,096"):
        transposed((1, 8, 14, 14), (8, 16, 100, 100), steps, (1400, 1400))
    with pytest.raises(NoLayerError, match="of stride 2000 and 3 taps; at most 1024"):
        transposed((1, 8, 14, 14), (8, 16, 3, 3), replace(steps, stride=(2000, 1)), (1400, 1400))


def calling(name: str, called: str, times: int) -> onnx.FunctionProto:
    """A function that calls another one so many times, one after the other."""
    calls = [helper.make_node(called, [f"t{n}"], [f"t{n + 1}"], domain="my") for n in range(times)]
    versions = [helper.make_opsetid("my", 1), helper.make_opsetid("", 21)]
    return helper.make_function("my", name, ["t0"], [f"t{times}"], calls, versions)


def test_functions_that_never_end_are_refused_in_a_line(tmp_path: Path) -> None:
    calls = helper.make_node("F0", ["x"], ["z"], domain="my")
    for name, functions, said in (
        ("itself", [calling("F0", "F0", 1)], "call each other, or themselves, 100 deep or more"),
        (
            "doubled",
            [calling(f"F{n}", f"F{n + 1}", 2) for n in range(40)],
            "it comes to more than 100,000 operators",
        ),
    ):
        made = model(calls, operator("MatMul", "z w", "y"), x=[4, 5], w=[5, 6])
        made.functions.extend(functions)
        assert said in refusal(written(tmp_path / f"{name}.onnx", made))


def test_a_constant_of_a_size_that_follows_from_values_is_not_made() -> None:
    sizes = numpy_helper.from_array(np.array([2**26]), "sizes")
    made = model(
        operator("Constant", "", "sizes", value=sizes),
        operator("BitwiseNot", "sizes", "turned"),
        operator("BitwiseNot", "turned", "again"),
        operator("ConstantOfShape", "again", "zeros"),
        operator("MatMul", "x w", "y"),
        x=[4, 5],
        w=[5, 6],
    )
    tracemalloc.start()
    try:
        assert shapes_of(made, "m")["y"] == (4, 6)
        assert tracemalloc.get_traced_memory()[1] < 2**26
    finally:
        tracemalloc.stop()


def test_thousands_of_operators_without_a_name_are_numbered_in_linear_time() -> None:
    found, layer = Collected(), Layer.gemm(1, 2, 3)
    found.add("MatMul_3", "MatMul", [layer])
    start = time.process_time()
    for _ in range(6000):
        found.add("", "MatMul", [layer])
    assert time.process_time() - start < 4
    names = [layer.name for layer in found.layers]
    assert names[:5] == ["MatMul_3", "MatMul", "MatMul_2", "MatMul_4", "MatMul_5"]
    assert len(set(names)) == 6001


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"dims": [5]}, "do not fit its type and its dims [5]: cannot reshape array of size 2"),
        ({"data_type": 77}, "do not fit its type and its dims [2]"),
        ({"raw_data": b"abc"}, "do not fit its type and its dims [2]"),
    ],
    ids=["dims", "type", "data"],
)
def test_an_initializer_whose_data_do_not_fit_it_is_refused_in_a_line(
    tmp_path: Path, changed: dict[str, Any], said: str
) -> None:
    made = model(operator("Reshape", "x t", "y"), operator("MatMul", "y w", "z"), x=[6, 10], w=[10, 7])
    target = numpy_helper.from_array(np.array([6, 10]), "t\x1b[31m")
    for name, value in changed.items():
        if name == "dims":
            del target.dims[:]
            target.dims.extend(value)
        else:
            setattr(target, name, value)
    made.graph.initializer.append(target)
    text = refusal(written(tmp_path / "m.onnx", made))
    assert r"the data of initializer 't\x1b[31m' " + said in text
    assert text.isprintable()
