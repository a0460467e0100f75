"""What is computed, as an N-level machine sees it: dims with sizes, tensors whose axes are sums of dims."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

from dse.core.layer import MAX_SIZE, Layer
from dse.core.widths import MAX_BITS
from dse.support.errors import InputError, shorten, unknown_name
from dse.support.validation import check_keys, check_table, whole_number

Axis = tuple[tuple[str, int], ...]
"""A tensor's axis: the dims that it sums, each with its coefficient."""

CONV_DIMS = ("R", "S", "P", "Q", "C", "K", "N")
"""Filter rows and columns, output rows and columns, input channels, output channels, batch."""

GROUPS = "G"
"""The dim of a layer's groups, such as the heads of attention: each has its own part of every tensor."""

MATRIX_DIMS = ("M", "K", "N")

MAX_WORDS = 2**60
"""No count of a workload that is priced exceeds it."""


DIM_NAMES = {"Y": "P", "X": "Q"}
"""The dims of layers that mappings of levels call otherwise: output rows and columns."""


@dataclass(frozen=True)
class Tensor:
    """An array of `name`, with an axis a dimension; the output is written, the others are only read.

    A word of it takes `bits` of what levels count: 1 where that is words.
    """

    name: str
    axes: tuple[Axis, ...]
    output: bool = False
    bits: int = 1

    def coefficients(self, dim: str) -> list[int]:
        """By how many words a step of one along `dim` moves, along each axis."""
        return [dict(axis).get(dim, 0) for axis in self.axes]

    def extents(self, box: Mapping[str, int]) -> list[int]:
        """How many words of each axis a box touches, halo and the gaps of strides included."""
        return [1 + sum(factor * (box[dim] - 1) for dim, factor in axis) for axis in self.axes]

    def words(self, box: Mapping[str, int]) -> int:
        """How many words a box, which gives each dim a length, touches."""
        return math.prod(self.extents(box))

    def room(self, box: Mapping[str, int]) -> int:
        """What these words take of a level."""
        return self.words(box) * self.bits


@dataclass(frozen=True)
class Workload:
    """`dims` with their sizes, whose points are the MACs, and the tensors that these use.

    Raises InputError for sizes below 1, for anything but one output, for a tensor over an unknown dim, and
    where counts would not fit in 64 bits.
    """

    dims: tuple[tuple[str, int], ...]
    tensors: tuple[Tensor, ...]

    def __post_init__(self) -> None:
        for dim, size in self.dims:
            whole_number(size, f"layer: dims.{dim}", most=MAX_SIZE)
        _check_names(self)
        for tensor in self.tensors:
            whole_number(tensor.bits, f"layer: tensors.{tensor.name}: bits", most=MAX_BITS)
            for axis in tensor.axes:
                for dim, factor in axis:
                    whole_number(factor, f"layer: tensors.{tensor.name}: the coefficient of {dim}")
        if self._most_words() > MAX_WORDS:
            raise InputError(
                f"layer: its counts could exceed {MAX_WORDS:.3g}, more than is counted; shrink its dims"
            )

    @cached_property
    def sizes(self) -> dict[str, int]:
        """The dims' sizes by name."""
        return dict(self.dims)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The dims, in their order."""
        return tuple(dim for dim, _ in self.dims)

    @cached_property
    def tensor_names(self) -> tuple[str, ...]:
        """The tensors, in their order."""
        return tuple(tensor.name for tensor in self.tensors)

    @cached_property
    def macs(self) -> int:
        """Multiply-accumulates: the product of all dims."""
        return math.prod(size for _, size in self.dims)

    def _most_words(self) -> int:
        """No fewer words, or bits, than any mapping moves between any two levels."""
        most = self.macs
        for tensor in self.tensors:
            factors = [factor for axis in tensor.axes for _, factor in axis]
            axes_of = Counter(dim for axis in tensor.axes for dim in dict(axis))
            again = math.prod(self.sizes[dim] ** (axes - 1) for dim, axes in axes_of.items())
            most = max(most, self.macs * math.prod(factors) * again)
        return most * max((tensor.bits for tensor in self.tensors), default=1)


def _check_names(workload: Workload) -> None:
    """Every name is there once, every axis is over dims that exist, and one tensor is the output."""
    for kind, names in (("dim", workload.names), ("tensor", workload.tensor_names)):
        if not names:
            raise InputError(f"layer: no {kind}s; name at least one")
        for name in names:
            if names.count(name) > 1:
                raise InputError(f"layer: {kind} {name!r} is there twice")
    for tensor in workload.tensors:
        for axis in tensor.axes:
            for dim, _ in axis:
                if dim not in workload.sizes:
                    raise unknown_name("dim", dim, workload.names, f"layer: tensors.{tensor.name}")
    outputs = [tensor.name for tensor in workload.tensors if tensor.output]
    if len(outputs) != 1:
        raise InputError(f"layer: exactly one tensor must be the output, got {len(outputs)}")


Parts = tuple[tuple[tuple[str, int], ...], tuple[Tensor, ...]]
"""The dims and tensors of a workload, before anybody has looked at their values."""


def make_convolution(
    dims: Mapping[str, int], stride: tuple[int, int] = (1, 1), dilation: tuple[int, int] = (1, 1)
) -> Workload:
    """A convolution over `CONV_DIMS` (those left out are 1): tensors W, I and O.

    P and Q are output sizes, and there is no padding: the input is what the filters touch.
    """
    return Workload(*_convolution(dims, stride, dilation))


def make_depthwise(
    dims: Mapping[str, int], stride: tuple[int, int] = (1, 1), dilation: tuple[int, int] = (1, 1)
) -> Workload:
    """A convolution of each channel by itself: as `make_convolution`, without K."""
    sizes = tuple((dim, dims.get(dim, 1)) for dim in CONV_DIMS if dim != "K")
    return Workload(sizes, _windowed("RSC", "NCPQ", stride, dilation))


def workload_of(layer: Layer, bits: Mapping[str, int] | None = None) -> Workload:
    """The workload of a layer of ours: its outputs are P and Q, its stride and dilation stay, its padding is
    moved. `bits` are what a word of each tensor takes of a machine's levels, if they do not count words.
    Of a layer that is not folded samples are N, and groups, which C and K are of one of, `GROUPS`.
    """
    return _workload_of(layer, None if bits is None else tuple(bits.items()))


@lru_cache(maxsize=1024)
def _workload_of(layer: Layer, bits: tuple[tuple[str, int], ...] | None) -> Workload:
    rows, columns = layer.output
    channels = {"C": layer.C // layer.groups, "K": layer.K // layer.groups}
    dims = {"R": layer.R, "S": layer.S, "P": rows, "Q": columns, **channels, "N": layer.batch}
    make = make_depthwise if layer.type == "DSCONV" else make_convolution
    found = make(dims, layer.stride, layer.dilation)
    if layer.groups > 1:
        apart = [replace(one, axes=(*_plain(GROUPS), *one.axes)) for one in found.tensors]
        found = Workload((*found.dims, (GROUPS, layer.groups)), tuple(apart))
    if bits is None:
        return found
    of = dict(bits)
    return Workload(found.dims, tuple(replace(one, bits=of[one.name]) for one in found.tensors))


def _convolution(dims: Mapping[str, int], stride: tuple[int, int], dilation: tuple[int, int]) -> Parts:
    sizes = tuple((dim, dims.get(dim, 1)) for dim in CONV_DIMS)
    return sizes, _windowed("RSCK", "NKPQ", stride, dilation)


def _windowed(
    weights: str, outputs: str, stride: tuple[int, int], dilation: tuple[int, int]
) -> tuple[Tensor, ...]:
    """Weights, inputs and outputs where R goes with P and S with Q."""
    rows = (("P", stride[0]), ("R", dilation[0]))
    columns = (("Q", stride[1]), ("S", dilation[1]))
    return (
        Tensor("W", _plain(weights)),
        Tensor("I", (*_plain("NC"), rows, columns)),
        Tensor("O", _plain(outputs), output=True),
    )


def _matrix_product(dims: Mapping[str, int]) -> Parts:
    sizes = tuple((dim, dims.get(dim, 1)) for dim in MATRIX_DIMS)
    return sizes, (Tensor("W", _plain("KN")), Tensor("I", _plain("MK")), Tensor("O", _plain("MN"), True))


def _plain(dims: str) -> tuple[Axis, ...]:
    """An axis a dim, each moved by that dim alone, word by word."""
    return tuple(((dim, 1),) for dim in dims)


KINDS = ("conv", "gemm")


def read_parts(data: object, where: str) -> Parts:
    """What a case line says of a layer: a convolution, a matrix product, or dims with their tensors.

    Raises InputError, beginning with `where`, where a type, a key or a name is wrong; values may be any.
    """
    entry = check_table(data, where)
    if "type" not in entry:
        check_keys(entry, where, required=("dims", "tensors"))
        dims, tensors = tuple(_sizes(entry["dims"], f"{where}.dims")), tuple(_tensors(entry, where))
        read = {dim for tensor in tensors for axis in tensor.axes for dim, _ in axis}
        if unread := [dim for dim, _ in dims if dim not in read]:
            raise InputError(f"{where}.dims: {shorten(unread[0])} is of no tensor's axes; name it there")
        return dims, tensors
    kind = entry["type"]
    if kind not in KINDS:
        raise unknown_name("type", kind, KINDS, where)
    if kind == "gemm":
        check_keys(entry, where, required=("type", "dims"))
        return _matrix_product(_known_sizes(entry["dims"], MATRIX_DIMS, f"{where}.dims"))
    check_keys(entry, where, required=("type", "dims"), optional=("stride", "dilation"))
    stride, dilation = (_pair(entry.get(key, [1, 1]), f"{where}.{key}") for key in ("stride", "dilation"))
    return _convolution(_known_sizes(entry["dims"], CONV_DIMS, f"{where}.dims"), stride, dilation)


def _known_sizes(data: object, dims: tuple[str, ...], where: str) -> dict[str, int]:
    """All of the dims, of which the samples N may be left out."""
    sizes = dict(_sizes(data, where))
    needed = [dim for dim in dims if dims != CONV_DIMS or dim != "N"]
    check_keys(sizes, where, required=needed, optional=dims)
    return sizes


def _sizes(data: object, where: str) -> Iterator[tuple[str, int]]:
    for dim, size in check_table(data, where).items():
        yield dim, checked_integer(size, f"{where}.{dim}")


def _tensors(entry: Mapping[str, Any], where: str) -> Iterator[Tensor]:
    dims = check_table(entry["dims"], f"{where}.dims")
    for name, data in check_table(entry["tensors"], f"{where}.tensors").items():
        place = f"{where}.tensors.{name}"
        tensor = check_table(data, place)
        check_keys(tensor, place, required=("axes",), optional=("output", "bits"))
        output = tensor.get("output", False)
        if not isinstance(output, bool):
            raise InputError(f"{place}.output must be true or false")
        if not isinstance(tensor["axes"], list):
            raise InputError(f'{place}.axes must be a list of tables such as {{"P": 2, "R": 1}}')
        axes = [dict(_sizes(axis, f"{place}.axes")) for axis in tensor["axes"]]
        for axis in axes:
            check_keys(axis, f"{place}.axes", required=(), optional=dims)
        bits = checked_integer(tensor.get("bits", 1), f"{place}.bits")
        yield Tensor(name, tuple(tuple(axis.items()) for axis in axes), output, bits)


def _pair(value: object, where: str) -> tuple[int, int]:
    if not isinstance(value, list) or len(value) != 2:
        raise InputError(f"{where} must be a list of two whole numbers")
    return checked_integer(value[0], where), checked_integer(value[1], where)


def checked_integer(value: object, where: str) -> int:
    """`value` as an int of any size: whether it is in range is for the price to say."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise InputError(f"{where} must be a whole number, got {shorten(value)}")
    return value
