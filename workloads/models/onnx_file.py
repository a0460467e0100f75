"""A network out of an ONNX file: what can be wrong with the file, and the shapes of what is in it.

The weights are not needed: neither those in the file, which are dropped, nor those beside it.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dse.support.errors import InputError, errors_within, format_exception, shorten
from dse.support.files import read_bounded
from workloads.models.collected import Collected
from workloads.models.onnx_functions import functions_written_out
from workloads.models.onnx_operators import Node, read_node
from workloads.models.onnx_shapes import MAX_VALUES, shapes_of
from workloads.models.traced import Traced
from workloads.network import Network

if TYPE_CHECKING:
    import onnx

PIXELS, TOKENS = 224, 128
"""What is suggested for open sizes."""
MAX_BYTES = 2**31 - 1
"""No larger message can be read: a larger model has its weights as external data, in files of their own."""

Shapes = Mapping[str, tuple[int, ...]]


def from_onnx(path: str, inputs: Shapes | None = None) -> Network:
    """The network in the ONNX file at `path`, with the shapes of `inputs` in place of those in the file.

    InputError in one line where the file is none, or where a shape is not known that is needed.
    """
    where = f"ONNX file {path!r}"
    try:
        state = os.stat(path)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise InputError(f"{where} cannot be read: {why}; name an ONNX file") from None
    if state.st_size > MAX_BYTES:
        raise InputError(
            f"{where} is larger than the {MAX_BYTES >> 20} MiB that can be read; save the model with its "
            "weights as external data, which are not needed here"
        )
    changed = state.st_mtime_ns, state.st_size
    return _read(path, where, tuple(sorted((inputs or {}).items())), changed)


@lru_cache(maxsize=8)
def _read(
    path: str, where: str, inputs: tuple[tuple[str, tuple[int, ...]], ...], changed: tuple[int, int]
) -> Network:
    """The network, read once for each version of the file: commands ask for it layer by layer."""
    model = _parsed(path, where)
    _normalise(model)
    _drop_weights(model.graph, os.path.dirname(os.path.abspath(path)))
    _set_inputs(model.graph, dict(inputs), where, path)
    nodes = [node for node in model.graph.node if node.op_type != "Constant"]
    outputs = [value.name for value in model.graph.output]
    _see_order(nodes, where)
    shapes = shapes_of(model, where, as_saved=not inputs)
    found = Collected(traced=Traced(lambda tensor: shapes.get(str(tensor))))
    makers = {name: node for node in nodes for name in node.output}
    for node in nodes:
        _read_operator(Node(node, shapes, makers), found, where)
    found.traced.lost(outputs, "an output of the model")
    with errors_within(where, path):
        return found.network(Path(path).stem, path)


def _see_order(nodes: Sequence[onnx.NodeProto], where: str) -> None:
    """InputError where an operator reads what is made behind it, or two make the same tensor."""
    to_come = Counter(name for node in nodes for name in node.output if name)
    twice = next((name for name, count in to_come.items() if count > 1), None)
    if twice is not None:
        raise InputError(f"{where}: {shorten(twice)} is made by two operators; give one of them another name")
    for node in nodes:
        early = next((name for name in node.input if name in to_come), None)
        if early is not None:
            raise InputError(
                f"{where}: {node.op_type} {shorten(node.name)} reads {shorten(early)} before it is made; "
                "operators must stand in the order in which they run"
            )
        for name in node.output:
            to_come.pop(name, None)


def _read_operator(node: Node, found: Collected, where: str) -> None:
    """Read an operator; whatever is wrong with it is said with its place."""
    named = node.proto.name or next(iter(node.proto.output), "")
    place = f"{where}: {node.operator} {shorten(named)}"
    try:
        read_node(node, found)
    except InputError as error:
        raise InputError(f"{place}: {error}") from None
    except Exception as error:  # attributes and inputs that its kind does not have
        raise InputError(f"{place} cannot be read: {format_exception(error)}") from None


def _parsed(path: str, where: str) -> onnx.ModelProto:
    """The model in the file, its own functions written out."""
    try:
        import onnx
    except ImportError:
        raise InputError(
            f"{where} needs the package onnx: pip install 'dse-arena[onnx]', or pip install onnx"
        ) from None
    try:
        content = read_bounded(path, where, MAX_BYTES)
    except OSError as error:
        raise InputError(f"{where} cannot be read: {error.strerror or error}; name an ONNX file") from None
    try:
        model = onnx.ModelProto.FromString(content)
    except Exception:  # protobuf's errors have no common class that is public
        model = onnx.ModelProto()
    # Protobuf reads some files of other kinds, as a message without anything in it.
    if not model.graph.node or not model.opset_import:
        raise InputError(f"{where} is no ONNX model: it is damaged, empty or of another kind")
    return functions_written_out(model, where)


def _normalise(model: onnx.ModelProto) -> None:
    """The standard's domain by its short name; sizes below 0, as some tools write what is open, are none."""
    for one in (*model.opset_import, *model.graph.node):
        if one.domain == "ai.onnx":
            one.domain = ""
    graph = model.graph
    for value in (*graph.input, *graph.value_info, *graph.output):
        for dim in value.type.tensor_type.shape.dim if value.type.HasField("tensor_type") else ():
            if dim.HasField("dim_value") and dim.dim_value < 0:
                dim.ClearField("dim_value")


def _drop_weights(graph: onnx.GraphProto, folder: str) -> None:
    """Replace the tensors of many values, and those whose values are not there, by inputs of their shapes.

    Small ones kept in other files of the folder, such as the shape of a reshape, are read.
    """
    from onnx import helper

    given = {value.name for value in graph.input}
    kept = []
    for tensor in graph.initializer:
        if prod(tensor.dims) <= MAX_VALUES and _has_values(tensor, folder):
            kept.append(tensor)
        elif tensor.name not in given:
            graph.input.append(helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims))
    del graph.initializer[:]
    graph.initializer.extend(kept)


def _has_values(tensor: onnx.TensorProto, folder: str) -> bool:
    """Whether a tensor's values are in the file, or in one beside it, from which they are taken."""
    from onnx import TensorProto
    from onnx.external_data_helper import load_external_data_for_tensor

    if tensor.data_location == TensorProto.EXTERNAL:
        try:
            load_external_data_for_tensor(tensor, folder)
        except Exception:  # a file that is not there, or not in the folder: weights are not needed
            return False
        tensor.data_location = TensorProto.DEFAULT
        del tensor.external_data[:]
    fields = (
        "raw_data",
        "float_data",
        "int32_data",
        "string_data",
        "int64_data",
        "double_data",
        "uint64_data",
    )
    return not prod(tensor.dims) or any(len(getattr(tensor, name)) for name in fields)


def _set_inputs(graph: onnx.GraphProto, inputs: dict[str, tuple[int, ...]], where: str, path: str) -> None:
    """Give inputs the shapes that the user names, and see that every input has one."""
    constant = {tensor.name for tensor in graph.initializer}
    places = {value.name: value for value in graph.input if value.name not in constant}
    for name, shape in inputs.items():
        if name not in places:
            some = ", ".join(shorten(place) for place in list(places)[:5])
            raise InputError(f"{where} has no input {shorten(name)}; its inputs are {some}")
        dims = places[name].type.tensor_type.shape.dim
        if len(dims) not in (0, len(shape)):
            wanted = f"{len(dims)} dimensions ({_dims(dims)})"
            raise InputError(f"{where}: its input {shorten(name)} has {wanted}, got {_written(shape)}")
        del dims[:]
        for size in shape:
            dims.add().dim_value = size
    missing = {name: value.type.tensor_type.shape.dim for name, value in places.items() if not _fixed(value)}
    if missing:
        options = " ".join(f"--input {name}={_example(dims)}" for name, dims in missing.items())
        shapes = ", ".join(f"{shorten(name)} ({_dims(dims) or 'no shape'})" for name, dims in missing.items())
        raise InputError(
            f"{where} leaves shapes of its inputs open: {shapes}; fix them and use the file made, as in "
            f"dse import {path} {options} --out {Path(path).stem}.toml"
        )


def _fixed(value: onnx.ValueInfoProto) -> bool:
    kind = value.type.tensor_type
    known = value.type.HasField("tensor_type") and kind.HasField("shape")
    return known and None not in _sizes(kind.shape.dim)


def _sizes(dims: Any) -> list[int | None]:
    """The sizes of dims, None where one is open."""
    return [dim.dim_value if dim.HasField("dim_value") else None for dim in dims]


def _dims(dims: Any) -> str:
    sizes = zip(_sizes(dims), dims, strict=True)
    return " x ".join(str(dim.dim_param or "?") if size is None else str(size) for size, dim in sizes)


def _example(dims: Any) -> str:
    """Sizes for what is open that a user may mean: one sample, a square image, 128 tokens, nothing past."""
    sizes = _sizes(dims)
    pixels = len(sizes) == 4 and (sizes[1] or sizes[3] or 9) <= 4
    sides = sizes[1:3] if ((sizes[1:] and sizes[-1]) or 9) <= 4 else sizes[2:]
    side = next((size for size in sides if size), PIXELS) if pixels else TOKENS
    found = []
    for place, (size, dim) in enumerate(zip(sizes, dims, strict=True)):
        name = str(dim.dim_param).lower()
        if size is not None:
            found.append(size)
        elif "past" in name or "cache" in name:
            found.append(0)
        elif place == 0 or "batch" in name:
            found.append(1)
        else:
            found.append(side)
    return "x".join(map(str, found)) or "1x3x224x224"


def _written(shape: tuple[int, ...]) -> str:
    return "x".join(map(str, shape))
