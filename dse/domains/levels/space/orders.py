"""Which orders of a level's loops can cost less than others, by the rules of deliveries.

From the innermost loop out, a tensor stays as long as loops leave it in place: the more of them, the less
comes. Behind these a window may go on. A loop moves a tile by its own motion less that of all loops inside:
while all that moved it are of one axis, `P + R` of a window's rows, a loop's motion can be the first one
again, or none, and then only new words come, or nothing. Loops beyond have no order: each brings a whole tile
every time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import permutations
from typing import NamedTuple

from dse.domains.levels.workload import Tensor, Workload

Order = tuple[str, ...]
"""All dims of a workload, that of the outermost loop first."""


def staying_tensors(workload: Workload, dim: str) -> frozenset[str]:
    """The tensors that a loop over a dim leaves in place."""
    return frozenset(tensor.name for tensor in workload.tensors if not any(tensor.coefficients(dim)))


def every_order(workload: Workload, looped: Sequence[str]) -> tuple[Order, ...]:
    """All orders of a level whose loops are over `looped`; the other dims stand outside."""
    idle = [dim for dim in workload.names if dim not in looped]
    return tuple((*idle, *order) for order in permutations(looped))


@lru_cache(maxsize=1024)
def innermost_orders(workload: Workload, looped: tuple[str, ...]) -> tuple[Order, ...]:
    """An order for each innermost loop: next to it those that leave the same tensors in place, and then the
    others as they come.
    """
    idle = [dim for dim in workload.names if dim not in looped]
    return tuple((*idle, *_with_innermost(workload, looped, dim)) for dim in looped) or (tuple(idle),)


def stationary_orders(workload: Workload, orders: Sequence[Order], tensor: str) -> tuple[Order, ...]:
    """Those of the orders whose innermost loop leaves a tensor in place."""
    return tuple(order for order in orders if tensor in staying_tensors(workload, order[-1]))


def completed_order(workload: Workload, innermost: Sequence[str]) -> Order:
    """The order that ends with these dims; the others stand outside as they come."""
    return (*(dim for dim in workload.names if dim not in innermost), *innermost)


def _with_innermost(workload: Workload, looped: Sequence[str], inner: str) -> list[str]:
    group = staying_tensors(workload, inner)
    near = [dim for dim in looped if dim != inner and staying_tensors(workload, dim) == group]
    far = [dim for dim in looped if dim != inner and dim not in near]
    return [*far, *near, inner]


class _Seen(NamedTuple):
    """What an order is for one tensor: the innermost loops that leave it in place; then the loops of a
    window's axis, each with the others inside of it that leave it in place.
    """

    stay: frozenset[str]
    slide: tuple[tuple[str, frozenset[str]], ...]

    def is_as_good(self, other: _Seen) -> bool:
        """Whether no more comes than in the other order, whatever factors are."""
        return (
            self.stay >= other.stay
            and len(self.slide) >= len(other.slide)
            and all(
                dim == there and inside <= more
                for (dim, inside), (there, more) in zip(self.slide, other.slide, strict=False)
            )
        )


@dataclass(frozen=True)
class _Moves:
    """Of a tensor the dims that leave it in place, and those of each window, if two loops may move that."""

    stay: frozenset[str]
    windows: tuple[frozenset[str], ...]

    def window_of(self, dim: str) -> frozenset[str]:
        return next((window for window in self.windows if dim in window), frozenset())

    def see(self, inward: Sequence[str]) -> _Seen:
        """What it sees of loops, the innermost first."""
        stay: list[str] = []
        slide: list[tuple[str, frozenset[str]]] = []
        window: frozenset[str] = frozenset()
        for dim in inward:
            if dim in self.stay:
                stay.append(dim)
                continue
            window = window or self.window_of(dim)
            if dim not in window:
                break
            slide.append((dim, frozenset(stay)))
        still = frozenset(dim for number, dim in enumerate(inward) if {*inward[: number + 1]} <= self.stay)
        return _Seen(still, tuple(slide))

    def wants(self, inward: Sequence[str]) -> frozenset[str]:
        """The dims of loops that, next outside of these, bring less than a whole tile each time."""
        moving = [dim for dim in inward if dim not in self.stay]
        if not moving:
            return self.stay.union(*self.windows)
        window = self.window_of(moving[0])
        return window if window.issuperset(moving) else frozenset()


@lru_cache(maxsize=1024)
def with_others(
    workload: Workload, orders: tuple[Order, ...], looped: tuple[str, ...], inside: tuple[str, ...]
) -> tuple[Order, ...]:
    """The orders, and behind them others that cost less for some factors, so that none is missing.

    A level loops over `looped`, levels inside of it over `inside`. Kept, as proofs over machines and chains
    make hundreds of spaces of the same loops.
    """
    tensors = [_moves(workload, tensor, looped, inside) for tensor in workload.tensors]
    others = sorted({*_sequences(tensors, looped, ())}, key=lambda one: [looped.index(d) for d in one])
    idle = [dim for dim in workload.names if dim not in looped]
    kept = [(order, _seen(tensors, [dim for dim in reversed(order) if dim in looped])) for order in orders]
    count = len(kept)
    for inward in others:
        seen = _seen(tensors, inward)
        if not any(_is_as_good(known, seen) for _, known in kept):
            kept[count:] = [one for one in kept[count:] if not _is_as_good(seen, one[1])]
            kept.append(((*idle, *reversed(inward)), seen))
    return tuple(order for order, _ in kept)


def _moves(workload: Workload, tensor: Tensor, looped: Sequence[str], inside: Sequence[str]) -> _Moves:
    stay = frozenset(dim for dim in looped if not any(tensor.coefficients(dim)))
    windows = []
    for axis in tensor.axes:
        dims = [dim for dim, factor in axis if factor and workload.sizes[dim] > 1]
        here = frozenset(dim for dim in dims if dim in looped)
        # One loop alone brings whole tiles, wherever it is.
        if len(dims) > 1 and here and len(here) + len([dim for dim in dims if dim in inside]) > 1:
            windows.append(here)
    return _Moves(stay, tuple(windows))


def _sequences(
    tensors: Sequence[_Moves], left: tuple[str, ...], inward: tuple[str, ...]
) -> Iterator[tuple[str, ...]]:
    """All ways to go on from some innermost loops, with a loop that is of use next as long as one is."""
    wanted = [tensor.wants(inward) for tensor in tensors]
    useful = [dim for dim in left if not inward or any(dim in one for one in wanted)]
    if not useful:
        yield (*inward, *reversed(left))
        return
    for dim in useful:
        yield from _sequences(tensors, tuple(one for one in left if one != dim), (*inward, dim))


def _seen(tensors: Sequence[_Moves], inward: Sequence[str]) -> list[_Seen]:
    return [tensor.see(inward) for tensor in tensors]


def _is_as_good(one: Sequence[_Seen], other: Sequence[_Seen]) -> bool:
    return all(here.is_as_good(there) for here, there in zip(one, other, strict=True))
