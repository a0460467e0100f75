"""A network out of a PyTorch module, traced by `torch.export`: functional products and attention are seen.

Only shapes are traced: no weight is read and nothing is computed, so a module on the `meta` device will do.
"""

from __future__ import annotations

import contextlib
import io
import logging
import math
import warnings
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dse.support.errors import InputError, exception_text, format_exception, one_line
from workloads.models.collected import Collected, NoLayerError
from workloads.models.torch_free import need_of
from workloads.models.torch_operators import BODY, OPERATORS, OTHER_SUMS, Call
from workloads.models.traced import ALL, Traced
from workloads.network import Network

if TYPE_CHECKING:
    import torch

WRAPPERS = ("wrap_with_set_grad_enabled", "wrap_with_autocast")
"""Operators that only run the graph that they are given, as `with torch.no_grad()` in a module does."""


def from_torch(
    module: torch.nn.Module,
    example_inputs: torch.Tensor | Sequence[Any],
    example_keywords: Mapping[str, Any] | None = None,
    *,
    name: str = "",
) -> Network:
    """The network that `module(*example_inputs, **example_keywords)` runs, each layer named by its module.

    Sizes are those of the example inputs. `left_out` says which of torch's operators became no layer.
    InputError where torch cannot trace the module, or where a size is known only as it runs.
    """
    import torch

    name = name or type(module).__name__
    inputs = (example_inputs,) if isinstance(example_inputs, torch.Tensor) else tuple(example_inputs)
    try:
        with _quiet():
            program = torch.export.export(module, inputs, dict(example_keywords or {}), strict=False)
    except (Exception, SystemExit) as error:  # whatever the module or torch has to say
        why = exception_text(error) if isinstance(error, SystemExit) else one_line(str(error))[:300]
        why = why or type(error).__name__
        raise InputError(f"torch.export cannot trace {name}: {why}") from None
    found = Collected(traced=Traced(_shape))
    _read_graph(program.graph_module, found, name)
    _leave(program.graph_module, found, "an output of the model, or a state that it keeps")
    return found.network(name, f"torch module {name}")


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Keep to itself what torch prints and warns of as it traces: what matters is in its exception."""
    disabled = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        said = io.StringIO()
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(disabled)


def _shape(node: Any) -> tuple[int, ...] | None:
    """The shape of what an operator makes, of the first if there are several; None if it is not known."""
    made = getattr(node, "meta", {}).get("val")
    first = made if hasattr(made, "shape") else next(iter(made or ()), None)
    sizes = tuple(getattr(first, "shape", ("?",)))
    return sizes if all(isinstance(size, int) for size in sizes) else None


def _read_graph(graph: torch.fx.GraphModule, found: Collected, name: str) -> None:
    for node in graph.graph.nodes:
        # What has no schema is Python's own, as to take the second of two outputs.
        if node.op == "call_function":
            if hasattr(node.target, "_schema"):
                _read_call(Call(node, name), found)
            elif getattr(node.target, "__name__", "") == "getitem":
                first = len(node.args) > 1 and node.args[1] == 0
                found.traced.passes("getitem", () if first else ALL, node.all_input_nodes, [node])
            elif hasattr(node.target, "namespace"):
                _read_wrapper(graph, node, found, name)


def _leave(graph: torch.fx.GraphModule, found: Collected, why: str) -> None:
    """What a graph hands to whoever runs it."""
    for node in graph.graph.nodes:
        if node.op == "output":
            found.traced.lost(node.all_input_nodes, why)


def _read_wrapper(graph: torch.fx.GraphModule, node: torch.fx.Node, found: Collected, name: str) -> None:
    """An operator that runs other graphs."""
    operator = getattr(node.target, "__name__", str(node.target))
    found.traced.lost(node.all_input_nodes, f"{operator} reads it, in a graph of its own")
    if operator not in WRAPPERS:
        found.leave_out(operator, None, BODY)
        return
    for part in node.all_input_nodes:
        if part.op == "get_attr":
            inner = getattr(graph, str(part.target))
            _read_graph(inner, found, name)
            _leave(inner, found, f"{operator} hands it on, out of a graph of its own")


def _read_call(call: Call, found: Collected) -> None:
    operator = call.operator
    try:
        if operator in OPERATORS:
            layers = found.add(call.name, operator.partition("::")[2], OPERATORS[operator](call))
            reads = call.node.all_input_nodes
            found.traced.layers(layers, call.operands, reads, [call.node], call.axes(layers), operator)
        elif not operator.startswith(("aten::", "prims::")):
            raise NoLayerError("an operator beyond torch's own, which is not read")
        else:
            _leave_out(call, found)
    except NoLayerError as error:
        found.leave_out(operator, error.macs, error.reason)
        found.traced.lost(call.node.all_input_nodes, f"{operator} reads it, which is left out")
    except InputError as error:
        raise InputError(f"{call.place}: {error}") from None
    except Exception as error:  # arguments that another version of torch has otherwise
        raise InputError(f"{call.place} cannot be read: {format_exception(error)}") from None


def _leave_out(call: Call, found: Collected) -> None:
    """An operator of torch's own that is no layer, with the work that torch's counter knows of it."""
    from torch.utils.flop_counter import flop_registry

    if call.packet in flop_registry:
        try:
            outputs = call.value(call.node)
            flops = flop_registry[call.packet](*call.shapes(), out_val=outputs)
        except Exception:  # a formula that does not fit the call
            flops = math.nan
        macs = None if math.isnan(flops) else int(flops) // 2
        raise NoLayerError("an operator that is not read", macs)
    need = need_of(call)
    if call.operator.partition("::")[2].lstrip("_").startswith(OTHER_SUMS):
        raise NoLayerError("sums products in a way that is no convolution and no matrix product")
    if need is None:
        raise NoLayerError("an operator that is not known here")
    found.leave_out(call.operator, 0)
    reads: list[Hashable] = list(call.node.all_input_nodes)
    changed = [one for node in call.changes for one in _same(node)]
    # What it changes in place is from here on what it makes.
    found.traced.passes(call.operator, need, reads, [call.node, *changed])
    for node in changed:
        first = _seen_from(node)
        viewed = (user for user in node.users if _kind(user) == VIEW and user in found.traced.made)
        if first.op != "call_function":
            found.traced.lost(reads, f"{call.operator} writes it to a state that outlives the run")
        elif _kind(node) == VIEW or any(viewed):
            found.traced.lost([*reads, first], f"{call.operator} changes it in place, and a view of it")


NEW, VIEW, CHANGED = "new", "view", "changed"


def _kind(node: torch.fx.Node) -> str:
    """Whether what a node makes is a tensor of its own, lies in another one, or is that one, changed."""
    if getattr(node.target, "__name__", "") == "getitem":
        return VIEW
    returned = getattr(getattr(node.target, "_schema", None), "returns", ())
    kinds = {CHANGED if one.alias_info.is_write else VIEW for one in returned if one.alias_info is not None}
    return next(iter(kinds), NEW)


def _same(node: torch.fx.Node) -> list[torch.fx.Node]:
    """A node and those before it that are the same tensor, which was changed in place."""
    found = [node]
    while _kind(found[-1]) == CHANGED:
        found.append(found[-1].all_input_nodes[0])
    return found


def _seen_from(node: torch.fx.Node) -> torch.fx.Node:
    """The tensor that another one lies in."""
    while _kind(node) != NEW and node.all_input_nodes:
        node = node.all_input_nodes[0]
    return node
