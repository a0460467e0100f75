"""The orders of a level's temporal loops that differ in what they cost.

Deliveries depend on which loop is the innermost, and on how many of the loops next to it leave the same
tensors in place. So by default an order is its innermost dim, next to it the dims that leave the same
tensors in place, and then the others as they come.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations

from dse.domains.levels.workload import Workload

INNERMOST, ALL = "innermost", "all"
KINDS = (INNERMOST, ALL)

Order = tuple[str, ...]
"""All dims of a workload, that of the outermost loop first."""


def staying(workload: Workload, dim: str) -> frozenset[str]:
    """The tensors that a loop over a dim leaves in place."""
    return frozenset(tensor.name for tensor in workload.tensors if not any(tensor.coefficients(dim)))


def orders_of(workload: Workload, looped: Sequence[str], kind: str) -> tuple[Order, ...]:
    """The orders of a level whose loops are over `looped`; the other dims stand outside."""
    idle = [dim for dim in workload.names if dim not in looped]
    if kind == ALL:
        return tuple((*idle, *order) for order in permutations(looped))
    return tuple((*idle, *_with_innermost(workload, looped, dim)) for dim in looped) or (tuple(idle),)


def stationary(workload: Workload, orders: Sequence[Order], tensor: str) -> tuple[Order, ...]:
    """Those of the orders whose innermost loop leaves a tensor in place."""
    return tuple(order for order in orders if tensor in staying(workload, order[-1]))


def completed(workload: Workload, innermost: Sequence[str]) -> Order:
    """The order that ends with these dims; the others stand outside as they come."""
    return (*(dim for dim in workload.names if dim not in innermost), *innermost)


def _with_innermost(workload: Workload, looped: Sequence[str], inner: str) -> list[str]:
    group = staying(workload, inner)
    near = [dim for dim in looped if dim != inner and staying(workload, dim) == group]
    far = [dim for dim in looped if dim != inner and dim not in near]
    return [*far, *near, inner]
