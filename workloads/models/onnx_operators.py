"""ONNX's operators that do multiply-accumulates, each as the layers that it is.

Names and attributes are those of the standard (onnx.ai/onnx/operators), for all its versions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING, Any

from dse.core.edges import INPUT, WEIGHT
from dse.core.layer import Layer
from dse.support.errors import InputError, shorten
from workloads.models.collected import Collected, NoLayerError
from workloads.models.convolutions import Steps, convolution, transposed
from workloads.models.onnx_free import need_of
from workloads.models.onnx_shapes import STANDARD
from workloads.models.products import attention, einsum, product, recurrent
from workloads.models.traced import ATTENTION, Traced, convolved_axes, product_axes

if TYPE_CHECKING:
    import onnx

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Node:
    """One operator, with the shapes of all tensors that have one."""

    proto: onnx.NodeProto
    shapes: dict[str, Shape]
    makers: Mapping[str, onnx.NodeProto] = field(default_factory=dict)
    """What makes each tensor."""

    @property
    def operator(self) -> str:
        """What the operator is called, with its domain if it is not a standard one."""
        proto = self.proto
        return proto.op_type if proto.domain in STANDARD else f"{proto.domain}::{proto.op_type}"

    def attribute(self, name: str, default: Any) -> Any:
        """The value of an attribute, or a default."""
        from onnx.helper import get_attribute_value

        for attribute in self.proto.attribute:
            if attribute.name == name:
                value = get_attribute_value(attribute)
                return value.decode() if isinstance(value, bytes) else value
        return default

    def input(self, place: int) -> Shape:
        """The shape of an input; InputError if it is not known."""
        return self._shape(self.proto.input[place], "an input")

    def output(self) -> Shape:
        """The shape of the first output; InputError if it is not known."""
        return self._shape(self.proto.output[0], "the output")

    @property
    def reads(self) -> list[str]:
        """All tensors that it reads, and those that graphs which are attributes of it may read."""
        return [name for name in (*self.proto.input, *_inner(self.proto)) if name]

    def given(self, place: int) -> bool:
        """Whether there is an input at a place."""
        return len(self.proto.input) > place and bool(self.proto.input[place])

    def _shape(self, name: str, what: str) -> Shape:
        if name not in self.shapes:
            first = self._first_without(name)
            origin = "" if first is None else f": nothing tells what {first} makes"
            raise InputError(
                f"the shape of {name!r}, {what}, does not follow from those of the model's inputs{origin}; a "
                "tool such as onnxsim may settle it, and behind an operator that is not in the standard a "
                "file with its shape (value_info)"
            )
        return self.shapes[name]

    def _first_without(self, name: str) -> str | None:
        """The operator from which on shapes are not known, as messages name it."""
        seen: set[str] = set()
        found = self.makers.get(name)
        while found is not None:
            before = [one for one in found.input if one and one not in self.shapes and one in self.makers]
            if not before or before[0] in seen:
                break
            seen.add(before[0])
            found = self.makers[before[0]]
        if found is None:
            return None
        kind = found.op_type if found.domain in STANDARD else f"{found.domain}::{found.op_type}"
        return f"{kind} {shorten(found.name or next(iter(found.output), ''))}"


def _inner(proto: onnx.NodeProto) -> Iterator[str]:
    """The names that are read in graphs that are attributes of an operator."""
    for attribute in proto.attribute:
        for graph in (attribute.g, *attribute.graphs):
            for node in graph.node:
                yield from (*node.input, *_inner(node))
            yield from (output.name for output in graph.output)


def read_node(node: Node, found: Collected) -> None:
    """Add the operator's layers to what was found, or say that it is left out."""
    operator, traced = node.operator, found.traced
    try:
        if operator in OPERATORS:
            layers = found.add(node.proto.name, node.proto.op_type, OPERATORS[operator](node))
            operands, outputs = _operands(node), [name for name in node.proto.output if name]
            # Of an attention of three dimensions, heads are parts of the columns.
            ordered = not node.attribute("transA", 0) and not node.attribute("q_num_heads", 0)
            axes = _axes(node, layers)
            traced.layers(layers, operands, node.reads, outputs, axes, operator, ordered=ordered)
            if operator == "Attention":
                _see_states(node, layers[0], operands, traced)
            return
        if node.proto.domain not in STANDARD:
            raise NoLayerError("an operator beyond the standard, which is not read")
        if operator in UNREAD:
            raise NoLayerError(UNREAD[operator])
        need = need_of(node)
        if need is None:
            raise NoLayerError("an operator of the standard that is not known here")
        found.leave_out(operator, 0)
        traced.passes(operator, need, node.reads, [name for name in node.proto.output if name])
    except NoLayerError as error:
        found.leave_out(operator, error.macs, error.reason)
        traced.lost(node.reads, f"{operator} reads it, which is left out")


def _see_states(node: Node, scores: Layer, operands: dict[str, str], traced: Traced) -> None:
    """What an attention hands out besides: keys and values for tokens to come, and scores."""
    _, *more = node.proto.output
    if any(more[:2]):
        cached = [operands["key"], operands["value"]]
        traced.lost(cached, "the cache of keys and values outlives the run")
    if any(more[2:]):
        traced.elsewhere[scores.name] = "an output of Attention too"


def _axes(node: Node, layers: Sequence[Layer]) -> tuple[str, ...]:
    """The dims of a layer's output on each axis of the operator's, () where they are not known."""
    if len(layers) != 1 or node.proto.output[0] not in node.shapes:
        return ()
    if node.operator in ("Conv", "ConvInteger", "QLinearConv"):
        return convolved_axes(layers[0], len(node.output()))
    if node.operator in ("MatMul", "MatMulInteger", "QLinearMatMul", "Gemm"):
        return product_axes(layers[0], node.output())
    return ()


def _operands(node: Node) -> dict[str, str]:
    """The tensors that an operator reads, by what its layers read them as."""
    names, ways = list(node.proto.input), ATTENTION if node.operator == "Attention" else (INPUT, WEIGHT)
    places = (0, 3) if node.operator in ("QLinearConv", "QLinearMatMul") else range(len(names))
    return dict(zip(ways, (names[place] for place in places if place < len(names)), strict=False))


def _steps(node: Node, window: Shape) -> tuple[Shape, Shape, Shape, Shape]:
    """Stride, dilation, and the explicit padding before and after, of a filter."""
    ones, zeros = [1] * len(window), [0] * (2 * len(window))
    pads = node.attribute("pads", zeros)
    return (
        tuple(node.attribute("strides", ones)),
        tuple(node.attribute("dilations", ones)),
        tuple(pads[: len(window)]),
        tuple(pads[len(window) :]),
    )


def _convolved(node: Node, image: int, weight: int) -> list[Layer]:
    pixels, filters = node.input(image), node.input(weight)
    stride, dilation, before, after = _steps(node, filters[2:])
    automatic = node.attribute("auto_pad", "NOTSET")
    if automatic == "VALID":
        before = after = (0,) * len(stride)
    elif automatic != "NOTSET":
        padding = []
        for size, taps, step, apart in zip(pixels[2:], filters[2:], stride, dilation, strict=True):
            outputs = -(-size // step)
            padding.append(max(0, (outputs - 1) * step + (taps - 1) * apart + 1 - size))
        before, after = _halves(padding, automatic == "SAME_UPPER")
    return convolution(pixels, filters, Steps(stride, dilation, before, after, node.attribute("group", 1)))


def _halves(padding: Sequence[int], upper: bool) -> tuple[Shape, Shape]:
    """Padding on both sides, the odd one after the last row (`upper`) or before the first."""
    less, more = tuple(pad // 2 for pad in padding), tuple(pad - pad // 2 for pad in padding)
    return (less, more) if upper else (more, less)


def _transposed(node: Node) -> list[Layer]:
    pixels, filters, outputs = node.input(0), node.input(1), node.output()[2:]
    stride, dilation, before, after = _steps(node, filters[2:])
    automatic, wanted = node.attribute("auto_pad", "NOTSET"), node.attribute("output_shape", None)
    if automatic == "VALID":
        before = (0,) * len(stride)
    elif automatic != "NOTSET" or wanted is not None:
        more = node.attribute("output_padding", [0] * len(stride))
        axes = zip(pixels[2:], filters[2:], stride, dilation, more, outputs, strict=True)
        padding = [
            max(0, step * (size - 1) + extra + (taps - 1) * apart + 1 - output)
            for size, taps, step, apart, extra, output in axes
        ]
        before, after = _halves(padding, automatic == "SAME_UPPER")
    steps = Steps(stride, dilation, before, after, node.attribute("group", 1))
    return transposed(pixels, filters, steps, outputs)


def _gemm(node: Node) -> list[Layer]:
    left, right = node.input(0), node.input(1)
    left = left[::-1] if node.attribute("transA", 0) else left
    return product(left, right[::-1] if node.attribute("transB", 0) else right)


def _attention(node: Node) -> list[Layer]:
    """`Attention` of version 23: heads are a dimension, or parts of the last one."""
    query, key, value = (node.input(place) for place in range(3))
    if len(query) == 3:
        heads, shared = node.attribute("q_num_heads", 1), node.attribute("kv_num_heads", 1)
        query, key, value = (_split(query, heads), _split(key, shared), _split(value, shared))
    if node.given(4):
        past = node.input(4)[2]
        key, value = ((*shape[:2], shape[2] + past, shape[3]) for shape in (key, value))
    return attention(query, key, value)


def _split(shape: Shape, heads: int) -> Shape:
    return shape[0], heads, shape[1], shape[2] // heads


def _recurrent(node: Node) -> list[Layer]:
    """`LSTM`, `GRU` and `RNN`: matrices of (directions, gates x hidden, inputs or hidden)."""
    sequence, weights, state = (node.input(place) for place in range(3))
    steps, samples = sequence[:2] if node.attribute("layout", 0) == 0 else sequence[1::-1]
    if sequence[2:] != weights[2:]:
        raise InputError(f"its input has {sequence[-1]} values a step, its weights are for {weights[-1]}")
    if weights[0] not in (1, 2):
        raise InputError(f"its weights are for {weights[0]} directions; there are one or two")
    return recurrent(steps, samples, weights[1:], [state[1:]]) * weights[0]


def _deformed(node: Node) -> list[Layer]:
    macs = prod(node.output()) * prod(node.input(1)[1:])
    raise NoLayerError("reads its input where other inputs say", macs)


OPERATORS: dict[str, Callable[[Node], list[Layer]]] = {
    "Conv": lambda node: _convolved(node, 0, 1),
    "ConvInteger": lambda node: _convolved(node, 0, 1),
    "QLinearConv": lambda node: _convolved(node, 0, 3),
    "ConvTranspose": _transposed,
    "Gemm": _gemm,
    "MatMul": lambda node: product(node.input(0), node.input(1)),
    "MatMulInteger": lambda node: product(node.input(0), node.input(1)),
    "QLinearMatMul": lambda node: product(node.input(0), node.input(3)),
    "Einsum": lambda node: einsum(
        node.attribute("equation", ""), [node.input(place) for place in range(len(node.proto.input))]
    ),
    "Attention": _attention,
    "DeformConv": _deformed,
    "LSTM": _recurrent,
    "GRU": _recurrent,
    "RNN": _recurrent,
}
"""The standard operators that are layers."""

BODY = "what its body does is not read"
OTHER_SUM = "sums products in a way that is no convolution and no matrix product"
UNREAD = {
    **dict.fromkeys(("If", "Loop", "Scan", "SequenceMap"), BODY),
    **dict.fromkeys(("DFT", "STFT", "Det", "MelWeightMatrix", "AffineGrid"), OTHER_SUM),
    **dict.fromkeys(("LinearAttention", "CausalConvWithState"), "keeps a state, and is no layer here"),
    **dict.fromkeys(
        ("LinearClassifier", "LinearRegressor", "SVMClassifier", "SVMRegressor"),
        "has its coefficients as attributes, which are not read",
    ),
}
"""The standard operators that do, or may do, multiply-accumulates, and are no layers."""
