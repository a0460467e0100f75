"""ONNX models made of a few operators, and the files that they are written to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import onnx
from onnx import TensorProto, helper

Shape = tuple[int | str | None, ...] | list[int]


def operator(kind: str, inputs: str, outputs: str, **attributes: Any) -> onnx.NodeProto:
    """An operator whose tensors are named by words; an underscore is an input that is not given."""
    given = ["" if name == "_" else name for name in inputs.split()]
    return helper.make_node(kind, given, outputs.split(), **attributes)


def model(*nodes: onnx.NodeProto, version: int = 21, **inputs: Shape) -> onnx.ModelProto:
    """The model of some operators, whose inputs and weights have these shapes."""
    whole = {"uint8": TensorProto.UINT8, "int64": TensorProto.INT64}
    values = []
    for name, shape in inputs.items():
        kind = next((code for prefix, code in whole.items() if name.startswith(prefix)), TensorProto.FLOAT)
        values.append(helper.make_tensor_value_info(name, kind, shape))
    last = helper.make_tensor_value_info(nodes[-1].output[0], TensorProto.FLOAT, None)
    domains = sorted({node.domain for node in nodes} - {""})
    versions = [helper.make_opsetid("", version), *(helper.make_opsetid(domain, 1) for domain in domains)]
    return helper.make_model(helper.make_graph(list(nodes), "graph", values, [last]), opset_imports=versions)


def written(path: Path, made: onnx.ModelProto) -> str:
    """The path of the file that holds the model."""
    path.write_bytes(made.SerializeToString())
    return str(path)
