"""What operators are said to need of their input: run by onnx's reference, one changed element at a time."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

from tests.workloads.onnx_cases import operator
from workloads.models.onnx_free import ELEMENTS, NEEDS, OF_SHAPES, POOLED, REDUCED, need_of
from workloads.models.onnx_operators import OPERATORS, UNREAD, Node
from workloads.models.traced import Part

SHAPE = (2, 3, 2, 4)
AXES = ("B", "K", "Y", "X")
OF_TYPES = {
    *(
        "And",
        "Or",
        "Xor",
        "Not",
        "BitCast",
        "BitShift",
        "BitwiseAnd",
        "BitwiseNot",
        "BitwiseOr",
        "BitwiseXor",
    ),
    *("Cast", "CastLike", "Where", "BatchNormalization", "PRelu", "IsInf", "IsNaN"),
    *("QuantizeLinear", "DequantizeLinear"),
}
"""Element by element by their definition, of inputs that the loop below does not make."""
TWO = {"Add", "Div", "Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "Mod", "Mul", "Pow", "Sub"}


def evaluated(node: onnx.NodeProto, version: int = 21, **more: Any) -> tuple[Node, Any]:
    """The operator with the shapes of its tensors, and a function of its first input."""
    given = {name: value for name, value in more.items() if name in node.input}
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, SHAPE)]
    fixed = [onnx.numpy_helper.from_array(value, name) for name, value in given.items()]
    outputs = [helper.make_empty_tensor_value_info(node.output[0])]
    graph = helper.make_graph([node], "one", inputs, outputs, fixed)
    session = ReferenceEvaluator(helper.make_model(graph, opset_imports=[helper.make_opsetid("", version)]))

    def run(x: Any) -> Any:
        with np.errstate(all="ignore"):
            return np.asarray(session.run(None, {"x": x})[0])

    made = run(np.ones(SHAPE, np.float32))
    return Node(node, {"x": SHAPE, node.output[0]: made.shape}), run


def dependence(run: Any, step: int = 3) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """The places of the input, each with a place of the output that it changes."""
    rng = np.random.default_rng(0)
    x = rng.uniform(0.2, 0.9, SHAPE).astype(np.float32)
    before, found = run(x), []
    for place in list(product(*map(range, SHAPE)))[::step]:
        for value in (-3.0, 7.0):
            changed = x.copy()
            changed[place] = value
            after = run(changed)
            if after.shape == before.shape:
                differs = ~((after == before) | (np.isnan(after) & np.isnan(before)))
                found += [(place, tuple(map(int, other))) for other in np.argwhere(differs)]
    return found


def assert_within(node: onnx.NodeProto, version: int = 21, **more: Any) -> str:
    """See that no output depends on more than what is declared, which is returned."""
    one, run = evaluated(node, version, **more)
    need = need_of(one)
    assert need is not None
    after = one.shapes[node.output[0]]
    part = Part("a", AXES).after(need, SHAPE, after)
    pairs = set(dependence(run))
    assert pairs
    if len(after) == len(SHAPE) and part.whole != "BKYX":
        free = [axis for axis, dim in enumerate(AXES) if dim not in part.whole]
        for changed, seen in pairs:
            assert all(changed[axis] == seen[axis] for axis in free), (changed, seen, part.whole)
    elif part.whole != "BKYX":
        for changed, seen in pairs:
            assert np.ravel_multi_index(changed, SHAPE) == np.ravel_multi_index(seen, after)
    return part.whole


@pytest.mark.parametrize("name", sorted(set(ELEMENTS) - OF_TYPES - TWO))
def test_an_operator_element_by_element_reads_one_element(name: str) -> None:
    assert assert_within(operator(name, "x", "y"), 24) == ""


@pytest.mark.parametrize("name", sorted(TWO))
def test_an_operator_of_two_tensors_reads_one_element_of_the_first(name: str) -> None:
    attributes = {"fmod": 1} if name == "Mod" else {}
    assert (
        assert_within(
            operator(name, "x c", "y", **attributes), c=np.float32([7.0 if name == "Equal" else 0.5])
        )
        == ""
    )


@pytest.mark.parametrize(
    ("node", "whole"),
    [
        (operator("Softmax", "x", "y", axis=-1), "X"),
        (operator("Softmax", "x", "y", axis=1), "KYX"),
        (operator("LogSoftmax", "x", "y"), "KYX"),
        (operator("LayerNormalization", "x s", "y", axis=-1), "X"),
        (operator("LayerNormalization", "x s", "y", axis=2), "YX"),
        (operator("InstanceNormalization", "x k k", "y"), "YX"),
        (operator("GroupNormalization", "x k k", "y", num_groups=1), "KYX"),
        (operator("LpNormalization", "x", "y", axis=1), "KYX"),
        (operator("MeanVarianceNormalization", "x", "y"), "BYX"),
        (operator("MeanVarianceNormalization", "x", "y", axes=[1]), "K"),
        (operator("LRN", "x", "y", size=3), "K"),
        (operator("AveragePool", "x", "y", kernel_shape=[3, 3], pads=[1, 1, 1, 1]), "YX"),
        (operator("MaxPool", "x", "y", kernel_shape=[3, 3], pads=[1, 1, 1, 1]), "YX"),
        (operator("GlobalAveragePool", "x", "y"), "YX"),
        (operator("CumSum", "x a", "y"), "BKYX"),
        (operator("Transpose", "x", "y", perm=[0, 1, 3, 2]), "BKYX"),
        (operator("ReduceMean", "x a1", "y"), "K"),
        (operator("ReduceMax", "x a1", "y", keepdims=0), "BKYX"),
        (operator("ArgMax", "x", "y", axis=2), "Y"),
        (operator("Reshape", "x shape", "y"), "BKYX"),
        (operator("Unsqueeze", "x a1", "y"), ""),
    ],
    ids=lambda value: getattr(value, "op_type", str(value)),
)
def test_what_a_norm_a_pooling_or_a_regrouping_needs(node: onnx.NodeProto, whole: str) -> None:
    scale = np.ones(SHAPE[-1] if node.op_type != "LayerNormalization" else 1, np.float32)
    given = {
        "s": scale,
        "k": np.ones(SHAPE[1], np.float32),
        "a": np.array(2),
        "a1": np.array([1]),
        "shape": np.array([6, 8]),
    }
    assert assert_within(node, **given) == whole


@pytest.mark.parametrize("name", REDUCED)
def test_a_reduction_needs_the_axes_that_it_reduces(name: str) -> None:
    given = {} if name.startswith("Arg") else {"a1": np.array([1])}
    node = operator(name, "x a1" if given else "x", "y", **({} if given else {"axis": 1}))
    assert assert_within(node, 18, **given) == "K"


# onnx's reference has no GlobalLpPool.
@pytest.mark.parametrize("name", sorted(set(POOLED) - {"GlobalLpPool"}))
def test_a_pooling_needs_all_places(name: str) -> None:
    window = {} if name.startswith("Global") else {"kernel_shape": [2, 3], "pads": [0, 1, 1, 1]}
    assert assert_within(operator(name, "x", "y", **window), 22) == "YX"


HALF = np.full(SHAPE, 0.5, np.float32)


@pytest.mark.parametrize(
    ("node", "whole"),
    [
        (operator("PRelu", "x k", "y"), ""),
        (operator("Where", "c x k", "y"), ""),
        (operator("Cast", "x", "y", to=TensorProto.INT32), ""),
        (operator("QuantizeLinear", "x s z", "y"), ""),
        (operator("QuantizeLinear", "x v w", "y", axis=1), ""),
        (operator("BatchNormalization", "x v v v v", "y"), ""),
        (operator("Hardmax", "x", "y", axis=3), "X"),
        (operator("RMSNormalization", "x f", "y", axis=3), "X"),
        (operator("DynamicQuantizeLinear", "x", "y s z"), "BKYX"),
    ],
    ids=lambda value: getattr(value, "op_type", str(value)),
)
def test_operators_of_other_inputs(node: onnx.NodeProto, whole: str) -> None:
    given = {"k": HALF, "c": HALF > 0, "s": np.float32(0.1), "z": np.uint8(9)}
    given |= {"v": np.full(3, 0.5, np.float32), "w": np.zeros(3, np.uint8), "f": np.ones(4, np.float32)}
    assert assert_within(node, 23, **given) == whole


def test_a_wrong_declaration_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(NEEDS, "Softmax", ())
    with pytest.raises(AssertionError):
        assert_within(operator("Softmax", "x", "y", axis=-1))


@pytest.mark.parametrize("name", sorted(set(OF_SHAPES) & {"Shape", "Size"}))
def test_an_operator_of_shapes_reads_no_values(name: str) -> None:
    _, run = evaluated(operator(name, "x", "y"))
    assert dependence(run) == []


def test_rows_keep_their_order_where_those_before_the_last_axis_are_joined() -> None:
    product_ = Part("a", ("B", "Y", "K"))
    assert product_.after("order", (2, 3, 8), (6, 8)) == Part("a", ("BY", "K"))
    assert product_.after("order", (2, 3, 8), (2, 3, 2, 4)).whole == "BKYX"
    assert product_.after("order", (1, 3, 8), (3, 8)) == Part("a", ("Y", "K"))


def test_every_operator_of_the_standard_is_a_layer_free_or_refused() -> None:
    known = {*OPERATORS, *UNREAD, *NEEDS}
    standard = {one.name for one in onnx.defs.get_all_schemas() if one.domain in ("", "ai.onnx.ml")}
    # A newer onnx may have more operators than those that were looked at.
    assert len(standard & known) >= 200
    assert not set(REDUCED) - known
    assert not {*OPERATORS} & {*NEEDS}
    assert not {*UNREAD} & {*NEEDS}
