"""MACs of ONNX's own conformance models, counted from the shapes of arrays that they are run on."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from itertools import product
from math import prod
from typing import Any

import numpy as np
import onnx
from onnx.backend.test.case import node as cases
from onnx.reference import ReferenceEvaluator

Shape = tuple[int, ...]
Shapes = Sequence[Shape]
GATES = {"RNN": 1, "LSTM": 4, "GRU": 3}


def models(operator: str | None = None) -> Iterator[tuple[str, Any, int | None]]:
    """Each model with MACs, of an operator alone or of any: its name, and how many; None is not known."""
    for case in _all() if operator is None else _made_for(operator):
        found = {node.op_type for node in case.model.graph.node} & COUNTS.keys()
        if found and operator in (None, *found) and (operator is None or len(found) == 1):
            yield case.name, case.model, _macs(case.model, *case.data_sets[0])


@cache
def _all() -> tuple[Any, ...]:
    """All cases, which ONNX makes once in a process."""
    return tuple(cases.collect_testcases(None))


def _made_for(operator: str) -> list[Any]:
    """Cases among which are those of an operator: to make all takes seconds."""
    import_module(f"{cases.__name__}.{operator.lower()}")
    made: list[Any] = cases._NodeTestCases
    return made


def _macs(model: Any, given: Sequence[Any], made: Sequence[Any]) -> int | None:
    shapes = _shapes(model, given, made)
    counts = []
    for node in model.graph.node:
        if node.op_type in COUNTS:
            inputs = [shapes.get(name, ()) for name in node.input]
            said = {one.name: onnx.helper.get_attribute_value(one) for one in node.attribute}
            output = shapes.get(node.output[0], ())
            counts.append(COUNTS[node.op_type](node.op_type, said, inputs, output))
    return None if None in counts else sum(filter(None, counts))


def _shapes(model: Any, given: Sequence[Any], made: Sequence[Any]) -> dict[str, Shape]:
    """The shapes of all arrays: those of the test, and of what is between as the reference computes it."""
    inputs = dict(zip([one.name for one in model.graph.input], given, strict=False))
    outputs = dict(zip([one.name for one in model.graph.output], made, strict=False))
    if len(model.graph.node) > 1:
        whole = copy.deepcopy(model)
        names = dict.fromkeys(name for node in model.graph.node for name in node.output if name)
        more = [name for name in names if name not in outputs]
        whole.graph.output.extend(map(onnx.helper.make_empty_tensor_value_info, more))
        found = ReferenceEvaluator(whole).run(None, inputs)
        outputs = dict(zip([one.name for one in whole.graph.output], found, strict=True))
    weights = {one.name: tuple(one.dims) for one in model.graph.initializer}
    return weights | {name: np.shape(value) for name, value in (inputs | outputs).items()}


def _product(kind: str, said: Mapping[str, Any], inputs: Shapes, output: Shape) -> int:
    return prod(output) * inputs[0][0 if said.get("transA") else -1]


def _convolution(kind: str, said: Mapping[str, Any], inputs: Shapes, output: Shape) -> int:
    return prod(output) * prod(inputs[3 if kind == "QLinearConv" else 1][1:])


def _transposed(kind: str, said: Mapping[str, Any], inputs: Shapes, output: Shape) -> int:
    """Of each output all taps that meet an input, or zeros around the inputs, and none between inputs."""
    taps, rank = inputs[1][2:], len(output) - 2
    strides, spreads = (said.get(key) or [1] * rank for key in ("strides", "dilations"))
    meeting = 1
    for axis in range(rank):
        size, stride, spread = inputs[0][2 + axis], strides[axis], spreads[axis]
        cut = stride * (size - 1) + said.get("output_padding", [0] * rank)[axis] + (taps[axis] - 1) * spread
        front = _front(said, axis, rank, cut + 1 - output[2 + axis])
        pairs = product(range(output[2 + axis]), range(taps[axis]))
        meeting *= sum((place + front - tap * spread) % stride == 0 for place, tap in pairs)
    return output[0] * output[1] * inputs[0][1] // said.get("group", 1) * meeting


def _front(said: Mapping[str, Any], axis: int, rank: int, cut: int) -> int:
    """Of so many outputs that are cut off, those in front."""
    if said.get("pads"):
        return int(said["pads"][axis])
    return cut // 2 if said.get("auto_pad") == b"SAME_UPPER" or said.get("output_shape") else 0


def _einsum(kind: str, said: Mapping[str, Any], inputs: Shapes, output: Shape) -> int | None:
    operands = said["equation"].decode().replace(" ", "").partition("->")[0].split(",")
    if len(operands) != 2 or any("." in one for one in operands):
        return None
    pairs = [
        (dim, size)
        for one, shape in zip(operands, inputs, strict=True)
        for dim, size in zip(one, shape, strict=True)
    ]
    sizes: dict[str, int] = {}
    for dim, size in pairs:
        sizes[dim] = max(size, sizes.get(dim, 1))
    return prod(sizes.values())


def _recurrent(kind: str, said: Mapping[str, Any], inputs: Shapes, output: Shape) -> int:
    (steps, samples, _), (directions, _, width), hidden = inputs[0], inputs[1], inputs[2][2]
    return steps * samples * directions * GATES[kind] * hidden * (width + hidden)


def _attention(kind: str, said: Mapping[str, Any], inputs: Shapes, output: Shape) -> int:
    """Scores of all queries with all keys, those of the past too, and the sums of values by them."""
    queries, keys, values = inputs[:3]
    if len(queries) == 3:
        heads, others = said["q_num_heads"], said["kv_num_heads"]
        queries = (queries[0], heads, queries[1], queries[2] // heads)
        keys, values = ((one[0], others, one[1], one[2] // others) for one in (keys, values))
    past = inputs[4][2] if len(inputs) > 4 and inputs[4] else 0
    return prod(queries[:3]) * (keys[2] + past) * (queries[3] + values[3])


def _unknown(kind: str, said: Mapping[str, Any], inputs: Shapes, output: Shape) -> None:
    return None


COUNTS: dict[str, Callable[[str, Mapping[str, Any], Shapes, Shape], int | None]] = {
    **dict.fromkeys(("MatMul", "MatMulInteger", "QLinearMatMul", "Gemm"), _product),
    **dict.fromkeys(("Conv", "ConvInteger", "QLinearConv", "DeformConv"), _convolution),
    "ConvTranspose": _transposed,
    "Einsum": _einsum,
    **dict.fromkeys(GATES, _recurrent),
    "Attention": _attention,
    **dict.fromkeys(("LinearAttention", "CausalConvWithState"), _unknown),
}
"""By operator, its MACs by the shapes of its inputs and of its first output."""
