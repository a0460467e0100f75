"""torch's operators that do multiply-accumulates, each as the layers that it is.

Names and arguments are those of torch's operator library ATen, before and after its decompositions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from dse.core.edges import INPUT, WEIGHT
from dse.core.layer import Layer
from dse.support.errors import InputError
from workloads.models.convolutions import Steps, convolution, transposed
from workloads.models.products import attention, einsum, product, recurrent
from workloads.models.traced import ATTENTION, convolved_axes, product_axes

if TYPE_CHECKING:
    import torch

Shape = tuple[int, ...]
LEFT, RIGHT = (
    ("mat1", "mat", "batch1", "input", "self"),
    ("mat2", "batch2", "other", "weight", "vec", "tensor"),
)
"""How operators call the two tensors whose products they sum; another `self` is added."""
BODY = "what the graphs that it runs do is not read"
OTHER_SUMS = ("fft_", "stft", "istft", "linalg_", "cdist", "pdist", "bilinear", "trilinear", "cholesky")
"""How the names of operators begin that sum products, but are no layers."""


@dataclass(frozen=True)
class Call:
    """One operator of a traced graph, in the module called `model`."""

    node: torch.fx.Node
    model: str

    @property
    def packet(self) -> Any:
        """The operator, whatever the types of its arguments are."""
        return self.node.target.overloadpacket  # type: ignore[union-attr]

    @property
    def operator(self) -> str:
        """The operator's name, as in aten::conv2d."""
        return str(self.node.target._schema.name)  # type: ignore[union-attr]

    @property
    def name(self) -> str:
        """The module that the call is in, as in layer1.0.conv1."""
        stack = list((self.node.meta.get("nn_module_stack") or {}).values())
        path = str(stack[-1][0]) if stack else ""
        return path.removeprefix("L['self']").strip(".")

    @property
    def place(self) -> str:
        """The call as messages name it."""
        return f"{self.model}: {self.operator} in {self.name or 'the model'}"

    @cached_property
    def arguments(self) -> dict[str, Any]:
        """All arguments by their names, with the defaults of those that are not given."""
        names = self.node.target._schema.arguments  # type: ignore[union-attr]
        defaults = {item.name: item.default_value for item in names if item.has_default_value()}
        given = dict(zip((item.name for item in names), self.node.args, strict=False))
        return {**defaults, **given, **self.node.kwargs}

    @property
    def operands(self) -> dict[str, Any]:
        """The tensors that it reads, by what its layers read them as; of attention by ATTENTION."""
        given = self.arguments
        if "query" in given:
            return {name: given[name] for name in ATTENTION}
        if "tensors" in given:
            return dict(zip((INPUT, WEIGHT), given["tensors"], strict=False))
        left = next((given[name] for name in LEFT if name in given), None)
        right = next((given[name] for name in RIGHT if name in given), None)
        return {INPUT: left, WEIGHT: right}

    def axes(self, layers: Sequence[Layer]) -> tuple[str, ...]:
        """The dims of a layer's output on each axis of the operator's, () where they are not known."""
        name, made = self.operator.partition("::")[2], self.value(self.node)
        if len(layers) != 1 or not hasattr(made, "shape") or self.arguments.get("transposed"):
            return ()
        if name in ("conv1d", "conv2d", "conv3d", "convolution", "_convolution"):
            rank = len(made.shape)
            return convolved_axes(layers[0], rank) if rank == len(self.shape("weight")) else ()
        if name in ("linear", "mm", "bmm", "matmul", "addmm", "baddbmm"):
            return product_axes(layers[0], tuple(made.shape))
        return ()

    @property
    def changes(self) -> list[Any]:
        """The arguments that it changes in place."""
        names = [item.name for item in self.node.target._schema.arguments if item.is_write]  # type: ignore[union-attr]
        return [self.arguments[name] for name in names if hasattr(self.arguments[name], "op")]

    def __getitem__(self, name: str) -> Any:
        return self.arguments[name]

    def value(self, item: Any) -> Any:
        """What stands for a tensor while shapes are traced."""
        return item.meta["val"] if hasattr(item, "meta") else item

    def shape(self, item: Any) -> Shape:
        """The shape of an argument, by name, or of a node; InputError if it is known only as it runs."""
        value = self.value(self[item] if isinstance(item, str) else item)
        if not all(isinstance(size, int) for size in value.shape):
            shape = " x ".join(map(str, value.shape))
            raise InputError(f"the shape {shape} has a size that is known only as the model runs")
        return tuple(value.shape)

    def shapes(self) -> list[Any]:
        """The arguments as torch's own formulas take them."""
        return [self.value(item) for item in self.node.args]


def _each(value: Any, axes: int) -> Shape:
    """A number for each axis, where one may stand for all."""
    values = list(value) if isinstance(value, Sequence) else [value]
    return tuple(values * axes if len(values) == 1 else values)


def _convolved(call: Call) -> list[Layer]:
    if call.arguments.get("transposed"):
        return _transposed(call)
    filters = call.shape("weight")
    axes = len(filters) - 2
    stride, dilation = (_each(call[name], axes) for name in ("stride", "dilation"))
    before = after = _each(0, axes)
    if call["padding"] == "same":
        whole = [(taps - 1) * apart for taps, apart in zip(filters[2:], dilation, strict=True)]
        before, after = tuple(pad // 2 for pad in whole), tuple(pad - pad // 2 for pad in whole)
    elif call["padding"] != "valid":
        before = after = _each(call["padding"], axes)
    return convolution(_batched(call, axes), filters, Steps(stride, dilation, before, after, call["groups"]))


def _batched(call: Call, axes: int) -> Shape:
    image = call.shape("input")
    return image if len(image) == axes + 2 else (1, *image)


def _transposed(call: Call) -> list[Layer]:
    filters = call.shape("weight")
    axes = len(filters) - 2
    stride, dilation, padding = (_each(call[name], axes) for name in ("stride", "dilation", "padding"))
    outputs = call.shape(call.node)[-axes:]
    steps = Steps(stride, dilation, padding, padding, call["groups"])
    return transposed(_batched(call, axes), filters, steps, outputs)


def _product(call: Call, left: str, right: str) -> list[Layer]:
    return product(call.shape(left), call.shape(right))


def _linear(call: Call) -> list[Layer]:
    weight = call.shape("weight")
    return product(call.shape("input"), weight[::-1])


def _added(call: Call) -> list[Layer]:
    """`addbmm` sums the products of a batch: they are one product over all of their inputs."""
    (samples, rows, inputs), (_, _, columns) = call.shape("batch1"), call.shape("batch2")
    return product((rows, samples * inputs), (samples * inputs, columns))


def _tensordot(call: Call) -> list[Layer]:
    left, right = call.shape("self"), call.shape("other")
    ours = {place % len(left) for place in call["dims_self"]}
    theirs = {place % len(right) for place in call["dims_other"]}

    def size(shape: Shape, places: set[int], *, inside: bool) -> int:
        found = 1
        for place, extent in enumerate(shape):
            found *= extent if (place in places) == inside else 1
        return found

    summed = size(left, ours, inside=True)
    return product((size(left, ours, inside=False), summed), (summed, size(right, theirs, inside=False)))


def _recurrent(call: Call) -> list[Layer]:
    """All layers and directions of an LSTM, a GRU or a plain recurrent network."""
    steps, samples = call.shape("input")[:2]
    if call["batch_first"]:
        steps, samples = samples, steps
    # Of each layer and direction: input, state, two biases if any, and, of some LSTMs, a projection.
    matrices = [shape for shape in map(call.shape, call["params"]) if len(shape) == 2]
    parts = call["num_layers"] * (2 if call["bidirectional"] else 1)
    size = len(matrices) // parts
    found = []
    for start in range(0, len(matrices), size):
        found += recurrent(steps, samples, matrices[start], matrices[start + 1 : start + size])
    return found


def _cell(call: Call) -> list[Layer]:
    """One step of a recurrent layer."""
    return recurrent(1, call.shape("input")[0], call.shape("w_ih"), [call.shape("w_hh")])


def _attention(call: Call) -> list[Layer]:
    return attention(call.shape("query"), call.shape("key"), call.shape("value"))


OPERATORS: dict[str, Callable[[Call], list[Layer]]] = {
    **dict.fromkeys(
        ("aten::conv1d", "aten::conv2d", "aten::conv3d", "aten::convolution", "aten::_convolution"),
        _convolved,
    ),
    **dict.fromkeys(
        ("aten::conv_transpose1d", "aten::conv_transpose2d", "aten::conv_transpose3d"), _transposed
    ),
    "aten::linear": _linear,
    **dict.fromkeys(("aten::mm", "aten::bmm"), partial(_product, left="self", right="mat2")),
    "aten::matmul": partial(_product, left="self", right="other"),
    "aten::addmm": partial(_product, left="mat1", right="mat2"),
    "aten::addmv": partial(_product, left="mat", right="vec"),
    "aten::mv": partial(_product, left="self", right="vec"),
    **dict.fromkeys(("aten::dot", "aten::vdot"), partial(_product, left="self", right="tensor")),
    "aten::baddbmm": partial(_product, left="batch1", right="batch2"),
    "aten::addbmm": _added,
    "aten::tensordot": _tensordot,
    "aten::einsum": lambda call: einsum(call["equation"], [call.shape(item) for item in call["tensors"]]),
    **dict.fromkeys(
        (
            "aten::scaled_dot_product_attention",
            "aten::_scaled_dot_product_flash_attention",
            "aten::_scaled_dot_product_flash_attention_for_cpu",
            "aten::_scaled_dot_product_efficient_attention",
            "aten::_scaled_dot_product_cudnn_attention",
        ),
        _attention,
    ),
    **dict.fromkeys(("aten::lstm", "aten::gru", "aten::rnn_tanh", "aten::rnn_relu"), _recurrent),
    **dict.fromkeys(
        ("aten::lstm_cell", "aten::gru_cell", "aten::rnn_tanh_cell", "aten::rnn_relu_cell"), _cell
    ),
}
"""The operators that are layers."""
