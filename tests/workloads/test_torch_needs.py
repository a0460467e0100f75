"""What torch's operators are said to need of their input: run by torch, one changed element at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import pytest
import torch

from workloads.models.torch_free import ELEMENTS, need_of
from workloads.models.torch_operators import Call
from workloads.models.traced import Part

SHAPE = (2, 3, 2, 4)
AXES = ("B", "K", "Y", "X")
aten = torch.ops.aten
Run = Callable[[torch.Tensor], Any]
RANDOM = ("dropout", "rrelu", "bernoulli", "rand")
"""In the names of operators that draw numbers: another draw is no dependence."""


def part_of(overload: Any, arguments: tuple[Any, ...], made: Any) -> Part | None:
    """What is left of a layer's output behind a call whose first argument it is; None if it is not free."""
    graph = torch.fx.Graph()
    read = graph.placeholder("x")
    read.meta["val"] = torch.empty(SHAPE)
    node = graph.call_function(overload, (read, *arguments))
    node.meta["val"] = made
    need = need_of(Call(node, "model"))
    first = made if isinstance(made, torch.Tensor) else made[0]
    return None if need is None else Part("a", AXES).after(need, SHAPE, tuple(first.shape))


def dependence(run: Run, step: int) -> Iterator[tuple[tuple[int, ...], torch.Tensor]]:
    """Places of the input, each with the places of the output that it changes."""
    x = torch.rand(SHAPE, generator=torch.Generator().manual_seed(0)) * 0.6 + 0.2
    before = run(x.clone())
    for place in list(product(*map(range, SHAPE)))[::step]:
        for value in (-3.0, 0.9, 7.0):
            changed = x.clone()
            changed[place] = value
            after = run(changed)
            alike = (after == before) | ((after != after) & (before != before))
            yield place, (~alike).nonzero()


def assert_within(
    overload: Any, arguments: tuple[Any, ...] = (), step: int = 5, *, needless: bool = False
) -> str | None:
    """See that nothing depends on more than what is declared, and return it; nothing if `needless`."""

    def run(x: torch.Tensor) -> Any:
        made = overload(x, *arguments)
        return made if isinstance(made, torch.Tensor) else made[0]

    with torch.random.fork_rng(devices=[]):
        part = part_of(overload, arguments, overload(torch.rand(SHAPE), *arguments))
        if part is None:
            return None
        if part.whole == "BKYX":
            return part.whole
        seen = 0
        for place, others in dependence(run, step):
            seen += len(others)
            assert others.shape[1:] == (4,), f"{overload} has another rank"
            for axis, dim in enumerate(AXES):
                if dim not in part.whole:
                    assert (others[:, axis] == place[axis]).all(), f"{overload} reads along {dim}"
    assert seen or needless, f"{overload} reads nothing"
    return part.whole


def made_up(overload: Any) -> tuple[Any, ...] | None:
    """The arguments that an operator must have behind the first; None where it takes something unusual."""
    first, *rest = overload._schema.arguments
    if str(first.type) != "Tensor" or first.is_write:
        return None
    found: list[Any] = []
    for item in rest:
        if item.has_default_value() or item.kwarg_only:
            break
        values = {"Tensor": torch.full(SHAPE, 0.5), "number": 0.5, "float": 0.5, "int": 1}
        if str(item.type) not in values:
            return None
        found.append(values[str(item.type)])
    return tuple(found)


def overloads_element_by_element() -> Iterator[Any]:
    """All overloads that torch tags so, or the table; but for quantised types, which torch gives up."""
    for schema in torch._C._jit_get_all_schemas():
        space, _, name = schema.name.partition("::")
        if space != "aten" or name.endswith("_") or "out" in schema.overload_name:
            continue
        packet = getattr(aten, name, None)
        overload = getattr(packet, schema.overload_name or "default", None)
        if (
            name.startswith("quantize_per")
            or overload is None
            or not schema.arguments
            or any(word in name for word in RANDOM)
        ):
            continue
        if name in ELEMENTS or torch.Tag.pointwise in overload.tags:
            yield overload


def test_operators_element_by_element_read_one_element() -> None:
    tried = set()
    for overload in overloads_element_by_element():
        arguments = made_up(overload)
        if arguments is None:
            continue
        try:
            made = overload(torch.rand(SHAPE), *arguments)
        except Exception:  # of whole numbers, on another device, or of a shape that it wants
            continue
        if not isinstance(made, torch.Tensor | tuple):
            assert part_of(overload, arguments, torch.empty(())) == Part("a", (), "BKYX"), str(overload)
            continue
        assert assert_within(overload, arguments, 11, needless=True) == "", str(overload)
        tried.add(str(overload.overloadpacket))
    assert len(tried) > 130


ONES = torch.ones(3)


@pytest.mark.parametrize(
    ("overload", "arguments", "whole"),
    [
        (aten.softmax.int, (-1,), "X"),
        (aten.softmax.int, (1,), "K"),
        (aten._log_softmax.default, (2, False), "Y"),
        (aten.layer_norm.default, ([4],), "X"),
        (aten.layer_norm.default, ([3, 2, 4],), "KYX"),
        (aten.native_layer_norm.default, ([2, 4], None, None, 1e-5), "YX"),
        (aten.rms_norm.default, ([4],), "X"),
        (aten.group_norm.default, (3,), "KYX"),
        (aten.instance_norm.default, (None, None, None, None, True, 0.1, 1e-5, False), "KYX"),
        (aten.batch_norm.default, (ONES, ONES, ONES, ONES, False, 0.1, 1e-5, False), ""),
        (aten.batch_norm.default, (ONES, ONES, None, None, True, 0.1, 1e-5, False), "BKYX"),
        (aten.avg_pool2d.default, ([3, 3], [1, 1], [1, 1]), "YX"),
        (aten.max_pool2d.default, ([3, 3], [1, 1], [1, 1]), "YX"),
        (aten.max_pool2d_with_indices.default, ([3, 3], [1, 1], [1, 1]), "YX"),
        (aten.adaptive_avg_pool2d.default, ([1, 1],), "YX"),
        (aten.mean.dim, ([2, 3], True), "YX"),
        (aten.mean.dim, ([1], True), "K"),
        (aten.mean.dim, ([1],), "BKYX"),
        (aten.amax.default, ([3], True), "X"),
        (aten.sum.dim_IntList, ([1], True), "K"),
        (aten.argmax.default, (2, True), "Y"),
        (aten.logsumexp.default, ([1], True), "K"),
        (aten.var.correction, ([3],), "BKYX"),
        (aten.cumsum.default, (2,), "BKYX"),
        (aten.flip.default, ([3],), "BKYX"),
        (aten.roll.default, ([1], [3]), "BKYX"),
        (aten.transpose.int, (2, 3), "BKYX"),
        (aten.permute.default, ([0, 1, 3, 2],), "BKYX"),
        (aten.glu.default, (3,), "BKYX"),
        (aten.pixel_unshuffle.default, (2,), "BKYX"),
        (aten.view.default, ([2, 3, 2, 4],), ""),
        (aten.view.default, ([6, 2, 4],), "BKYX"),
        (aten.tril.default, (), "BKYX"),
        (aten.sort.default, (), "BKYX"),
    ],
    ids=str,
)
def test_what_a_norm_a_pooling_or_a_regrouping_needs(
    overload: Any, arguments: tuple[Any, ...], whole: str
) -> None:
    assert assert_within(overload, arguments) == whole


def test_a_wrong_declaration_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(assert_within.__globals__, "need_of", lambda call: ())
    with pytest.raises(AssertionError, match="reads along X"):
        assert_within(aten.softmax.int, (-1,))


def test_an_operator_that_is_not_in_the_table_is_not_known() -> None:
    made = torch.empty(SHAPE)
    assert part_of(aten.logdet.default, (), made) is None
    assert part_of(aten.renorm.default, (2, 0, 1.0), made) is None
