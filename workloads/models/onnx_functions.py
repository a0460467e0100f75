"""The functions that an ONNX model defines and calls, written out where they are called."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from dse.support.errors import InputError, one_line

if TYPE_CHECKING:
    import onnx

MAX_OPERATORS, MAX_DEPTH = 100_000, 100
"""Of a model written out, and of functions that call functions: thirty that each call the next one twice are
a billion operators. Large language models have ten thousand."""

_Name = tuple[str, str]


def functions_written_out(model: onnx.ModelProto, where: str) -> onnx.ModelProto:
    """The model without functions; InputError where they call themselves, or it comes to too much."""
    from onnx.inliner import inline_local_functions

    bodies = {(function.domain, function.name): function.node for function in model.functions}
    known: dict[_Name, int] = {}

    def size(nodes: Iterable[onnx.NodeProto], depth: int) -> int:
        if depth > MAX_DEPTH:
            raise InputError(
                f"{where}: its functions call each other, or themselves, {MAX_DEPTH} deep or more"
            )
        found = 0
        for node in _with_inner(nodes):
            name = node.domain, node.op_type
            if name in bodies and name not in known:
                known[name] = size(bodies[name], depth + 1)
            found += known.get(name, 1)
        return found

    if size(model.graph.node, 0) > MAX_OPERATORS:
        raise InputError(f"{where}: it comes to more than {MAX_OPERATORS:,} operators")
    if not bodies:
        return model
    try:
        return inline_local_functions(model)
    except Exception as error:  # whatever onnx has against the functions
        raise InputError(f"{where}: its functions cannot be read: {one_line(str(error))[:300]}") from None


def _with_inner(nodes: Iterable[onnx.NodeProto]) -> Iterator[onnx.NodeProto]:
    """The operators, and those in graphs that are attributes of theirs."""
    for node in nodes:
        yield node
        for attribute in node.attribute:
            for graph in (attribute.g, *attribute.graphs):
                yield from _with_inner(graph.node)
