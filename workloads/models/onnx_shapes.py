"""The shapes of all tensors of an ONNX model whose inputs have theirs.

onnx infers shapes operator by operator. What models compute of shapes themselves (a reshape to half of what a
tensor has) is worked out here between two inferences, for as long as that tells more.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from dse.support.errors import InputError, one_line, shorten

if TYPE_CHECKING:
    import onnx

STANDARD = ("", "ai.onnx", "ai.onnx.ml", "ai.onnx.preview.training")
"""The domains of the standard's operators."""

MAX_VALUES = 4096
"""What a tensor has at most whose values may say something of shapes. Larger ones are weights."""

MAX_LOOKED_AT = 300_000
"""Operators, in all rounds together: each may settle but one shape, on which the next one depends."""

SMALLER = ("Compress", "NonZero", "Unique")
"""Operators whose outputs are no larger than their inputs, and of a size that only values tell."""

Shapes = dict[str, tuple[int, ...]]
Values = dict[str, Any]


def shapes_of(model: onnx.ModelProto, where: str, *, as_saved: bool = False) -> Shapes:
    """The shapes of all tensors that have one. The model is changed; InputError if it contradicts itself.

    Where the inputs are those that it was saved with (`as_saved`), the shapes in the file of what operators
    beyond the standard make are taken: nothing else tells them.
    """
    foreign = {name for node in model.graph.node if node.domain not in STANDARD for name in node.output}
    kept = [value for value in model.graph.value_info if as_saved and value.name in foreign]
    values = {tensor.name: _array(tensor, where) for tensor in model.graph.initializer}
    looked_at = 0
    while True:
        del model.graph.value_info[:]  # the others in the file may be of other inputs
        model.graph.value_info.extend(kept)
        model = _inferred(model, where)
        found = _shapes(model.graph)
        missing = {name for node in model.graph.node for name in node.output if name} - set(found)
        looked_at += len(model.graph.node)
        if not missing or looked_at > MAX_LOOKED_AT or not _work_out(model, found, values):
            return found


def _inferred(model: onnx.ModelProto, where: str) -> onnx.ModelProto:
    from onnx import shape_inference

    for value in model.graph.output:
        value.ClearField("type")
    try:
        return shape_inference.infer_shapes(model, strict_mode=True, data_prop=True)
    except Exception:  # what it makes of values may be wrong where the model is right
        pass
    try:
        return shape_inference.infer_shapes(model, strict_mode=True)
    except Exception as error:  # whatever onnx has against the model
        said = one_line(str(error))[:300]
        wrong = "Inference error(s)" in said
        why = "its shapes contradict each other" if wrong else "onnx cannot infer its shapes"
        raise InputError(f"{where}: {why}: {said}") from None


def _shapes(graph: onnx.GraphProto) -> Shapes:
    """The tensors whose shapes are known, whole."""
    found = {tensor.name: tuple(tensor.dims) for tensor in graph.initializer}
    for value in (*graph.input, *graph.value_info, *graph.output):
        kind = value.type.tensor_type
        known = kind.HasField("shape") and all(dim.HasField("dim_value") for dim in kind.shape.dim)
        if known and all(dim.dim_value >= 0 for dim in kind.shape.dim):
            found[value.name] = tuple(dim.dim_value for dim in kind.shape.dim)
    return found


def _array(tensor: onnx.TensorProto, where: str) -> Any:
    """The values of an initializer; InputError where its data are not what it says of them."""
    from onnx import numpy_helper

    try:
        return numpy_helper.to_array(tensor)
    except Exception as error:  # whatever onnx and numpy have against it
        raise InputError(
            f"{where}: the data of initializer {shorten(tensor.name)} do not fit its type and its dims "
            f"{shorten(list(tensor.dims))}: {one_line(str(error))[:200]}"
        ) from None


def _work_out(model: onnx.ModelProto, shapes: Shapes, values: Values) -> bool:
    """Put constants in place of operators whose values follow from shapes; whether there were any.

    `values` are those that are known, and more from then on.
    """
    from onnx import numpy_helper

    graph = model.graph
    rest, types = [], _types(graph)
    for node in graph.node:
        worked_out = _values(node, values, shapes, model)
        if worked_out is None:
            rest.append(node)
            if any(name and name not in shapes for name in node.output):
                _infer_alone(node, types, values, shapes, model)
            continue
        for name, value in zip(node.output, worked_out, strict=False):
            values[name] = value
            graph.initializer.append(numpy_helper.from_array(value, name))
    changed = len(rest) < len(graph.node)
    del graph.node[:]
    graph.node.extend(rest)
    return changed


def _types(graph: onnx.GraphProto) -> dict[str, onnx.TypeProto]:
    """What is known of tensors' types."""
    from onnx import helper

    found = {
        tensor.name: helper.make_tensor_type_proto(tensor.data_type, tensor.dims)
        for tensor in graph.initializer
    }
    return found | {value.name: value.type for value in (*graph.input, *graph.value_info)}


def _infer_alone(
    node: onnx.NodeProto,
    types: dict[str, onnx.TypeProto],
    values: Values,
    shapes: Shapes,
    model: onnx.ModelProto,
) -> None:
    """Infer one operator's outputs: in a long chain each would need a round of inferring all."""
    from onnx import defs, numpy_helper, shape_inference

    inputs = [name for name in node.input if name]
    known = all(name in types or name in values for name in inputs)
    if not known or any(item.HasField("g") or item.graphs for item in node.attribute):
        return
    versions = {one.domain: one.version for one in model.opset_import}
    constants = {name: numpy_helper.from_array(values[name], name) for name in inputs if name in values}
    given = {name: types[name] for name in inputs if name in types}
    given |= _types_of(constants)
    try:
        schema = defs.get_schema(node.op_type, versions[node.domain], node.domain)
        made = shape_inference.infer_node_outputs(
            schema,
            node,
            given,
            constants,
            opset_imports=list(model.opset_import),
            ir_version=model.ir_version,
        )
    except Exception:  # what cannot be inferred alone may follow in the next round
        return
    for name, kind in made.items():
        dims = kind.tensor_type.shape.dim
        if kind.tensor_type.HasField("shape") and all(dim.HasField("dim_value") for dim in dims):
            types[name] = kind
            shapes[name] = tuple(dim.dim_value for dim in dims)


def _types_of(constants: dict[str, onnx.TensorProto]) -> dict[str, onnx.TypeProto]:
    from onnx import helper

    return {name: helper.make_tensor_type_proto(one.data_type, one.dims) for name, one in constants.items()}


def _values(node: onnx.NodeProto, values: Values, shapes: Shapes, model: onnx.ModelProto) -> list[Any] | None:
    """The outputs of an operator all of whose inputs are known, or of a shape; None where they are not."""
    from onnx import helper
    from onnx.reference import ReferenceEvaluator

    inputs = [name for name in node.input if name]
    if node.op_type in ("Shape", "Size") and node.input[0] in shapes:
        # Of a tensor without values there is enough in its shape.
        given = {node.input[0]: np.broadcast_to(np.float32(0), shapes[node.input[0]])}
    elif all(name in values for name in inputs) and not any(item.HasField("g") for item in node.attribute):
        given = {name: values[name] for name in inputs}
    else:
        return None
    # An output whose size is not known yet may be of any; the next inference may tell.
    sizes = [prod(shapes[name]) if name in shapes else None for name in node.output if name]
    if node.op_type not in SMALLER and any(size is None or size > MAX_VALUES for size in sizes):
        return None
    graph = helper.make_graph(
        [node],
        "one operator",
        [helper.make_empty_tensor_value_info(name) for name in given],
        [helper.make_empty_tensor_value_info(name) for name in node.output if name],
    )
    one = helper.make_model(graph, opset_imports=model.opset_import)
    try:
        found = [np.asarray(value) for value in ReferenceEvaluator(one).run(None, given)]
    except Exception:  # an operator that onnx cannot run, or random ones: its shape may be known all the same
        return None
    return found if all(value.size <= MAX_VALUES for value in found) else None
