"""Shared tiles: groups of matrix products in a row that are run for a part of rows and columns at a time.

A group has one split of its rows. Inside it, what two neighbours hand each other is whole (all columns of the
part's rows), or it is split by columns, with its two layers in rounds of their own; no two neighbours are
both split. Weights may be held over all parts of the rows; what a split pair reads first and makes last, over
its rounds. A pair by itself may also have its columns outside and its rows inside. All of that is tried.

A product alone has tiles of whole factors in the home, each tensor that is not held its tile, and the loops
outside in any order: the two-level machine of `docs/timeloop.md`. What it moves at least is over all of them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, product
from math import inf
from typing import TypeVar

import numpy as np

from dse.core.edges import INPUT, OUTPUT, WEIGHT
from dse.core.layer import Layer
from dse.core.residence import Phase, Rates
from dse.support.jit import load_kernels

Item = TypeVar("Item")
Size = tuple[int, int, int]
"""Rows, columns, and what is summed over."""
ORDER = ("I", "W", "O")
"""How rates name the tensors."""


WORDS = Rates()
"""Every word counts the same."""


@lru_cache(maxsize=200_000)
def least_moved(size: Size, room: int, held: frozenset[str], returned: bool, rates: Rates = WORDS) -> float:
    """The least cost of what a product moves; `returned` sums come once more. Inf where nothing fits.

    `room` is what is left for tiles.
    """
    if room < 0:
        return inf
    here = np.array([0 if one in held else 1 + (one in rates.kept) for one in ORDER], dtype=np.int64)
    sides = tuple(np.array(ascending_divisors(side), dtype=np.int64) for side in size)
    bits, comes = np.array(rates.bits, dtype=np.float64), np.array(rates.comes)
    kernels = load_kernels("dse.optimum.chains.kernels")
    first = 0.0 if returned else 1.0
    return float(kernels.least_moved(sides, float(room), here, bits, comes, float(rates.goes), first))


@lru_cache(maxsize=10_000)
def ascending_divisors(number: int) -> tuple[int, ...]:
    """All divisors, ascending."""
    small = [one for one in range(1, int(number**0.5) + 1) if number % one == 0]
    return tuple(sorted({*small, *(number // one for one in small)}))


@dataclass(frozen=True)
class Group:
    """Products of equal rows, each of which reads the one before it and nobody else does.

    `whole_rows` says of each intermediate that its columns cannot be split. `reads` and `makes` say that the
    first input and the last output stay on chip whole, `weights` the places of layers whose second operand
    does; `taken` is the room of all that stays. `bits` are the room of a word of I, W and O.
    """

    layers: tuple[Layer, ...]
    whole_rows: tuple[bool, ...]
    reads: bool = False
    makes: bool = False
    taken: int = 0
    bits: tuple[int, int, int] = (1, 1, 1)
    weights: tuple[int, ...] = ()

    @property
    def sizes(self) -> tuple[Size, ...]:
        """Rows, columns and sums of each product."""
        return tuple(size_of(layer) for layer in self.layers)


@dataclass(frozen=True)
class Part:
    """A layer's part that is run `count` times, in the group's layer at `place`."""

    place: int
    count: int
    phase: Phase


@dataclass(frozen=True)
class Move:
    """Words of a tensor of a layer that come or go `count` times, held over what is run meanwhile.

    They do as a `part` is run, by its place among all parts: by default as the layer's first or last.
    """

    place: int
    tensor: str
    words: int
    count: int
    part: int | None = None


@dataclass(frozen=True)
class Tiling:
    """One way to share tiles: in how many parts the rows are, and the columns of each intermediate."""

    rows: int
    columns: tuple[int, ...]
    columns_outside: bool
    held: tuple[str, ...]
    parts: tuple[Part, ...]
    moves: tuple[Move, ...]


def carried_moves(tiling: Tiling, part: Part) -> list[Move]:
    """The moves that a part's time has: what comes is of the layer's first, what goes of its last."""
    mine = [one for one in tiling.parts if one.place == part.place]
    ends = {True: mine[-1], False: mine[0]}

    def at(move: Move) -> Part:
        return ends[move.tensor == OUTPUT] if move.part is None else tiling.parts[move.part]

    return [move for move in tiling.moves if move.place == part.place and part is at(move)]


def size_of(layer: Layer) -> Size:
    """Rows, columns and sums of a layer that is a product, or a convolution by one place."""
    rows, columns = layer.output
    return rows * columns, layer.K, layer.C


@lru_cache(maxsize=50_000)
def part_of(size: Size) -> Layer:
    """A part of a product, as a layer."""
    return Layer.gemm(*size)


def is_product(layer: Layer) -> bool:
    """Whether a layer is a matrix product, or a convolution that reads one place for each of its outputs."""
    plain = (layer.R, layer.S, layer.groups) == (1, 1, 1) and layer.type == "CONV"
    return plain and (layer.stride, layer.padding) == ((1, 1), (0, 0))


def reach_of(layer: Layer) -> int:
    """Rows of the input that a row of the output reads, from the first to the last."""
    return (layer.R - 1) * layer.dilation[0] + 1


def can_stream(one: Layer, two: Layer) -> bool:
    """Whether rows of a layer can be kept in a window for the next: what it makes is what this reads, whose
    steps skip no rows.
    """
    made = one.C if one.type == "DSCONV" else one.K
    plain = all(each.type in ("CONV", "DSCONV") and each.groups == each.batch == 1 for each in (one, two))
    same = (made, *one.output) == (two.C, two.Y, two.X)
    return plain and same and reach_of(two) >= two.stride[0]


def fitting_tilings(group: Group, room: int) -> Iterator[Tiling]:
    """All of them whose tiles fit, one word of each tensor beside what stays at least."""
    rows = group.sizes[0][0]
    for split in ascending_divisors(rows):
        open_ = [place for place in range(len(group.layers)) if place not in group.weights]
        for held in subsets(open_ if split > 1 else ()):
            yield from _with_rows(group, room, split, held)
    if len(group.layers) == 2 and not group.whole_rows[0]:
        yield from _columns_outside(group, room)


def subsets(items: Sequence[Item]) -> Iterator[tuple[Item, ...]]:
    """All subsets, the smallest first."""
    for size in range(len(items) + 1):
        yield from combinations(items, size)


def _with_rows(group: Group, room: int, split: int, held: tuple[int, ...]) -> Iterator[Tiling]:
    """Tilings of one split of the rows, with some layers' weights held over all parts."""
    sizes, (_, wide, _) = group.sizes, group.bits
    taken = group.taken + sum(sizes[one][1] * sizes[one][2] * wide for one in held)
    if taken > room:
        return
    weights = tuple(Move(one, WEIGHT, sizes[one][1] * sizes[one][2], 1) for one in held)
    last = len(sizes) - 1

    def after(place: int) -> Iterator[tuple[tuple[int, ...], tuple[Part, ...], tuple[Move, ...]]]:
        if place > last:
            yield (), (), ()
            return
        steps = [(1, one) for one in (_alone(group, split, held, taken, place, room),) if one is not None]
        if place < last and not group.whole_rows[place]:
            steps += [(2, one) for one in _pairs(group, split, held, taken, place, room)]
        for length, (columns, parts, moves) in steps:
            for rest in after(place + length):
                yield (*columns, *rest[0]), (*parts, *rest[1]), (*moves, *rest[2])

    for columns, parts, moves in after(0):
        if split == max(columns) == 1:
            # Nothing is split: what is handed on stays whole, which needs no group.
            continue
        names = tuple(f"{WEIGHT} of {group.layers[one].name}" for one in held)
        more = tuple(f"{move.tensor} of {group.layers[move.place].name}" for move in moves)
        yield Tiling(split, columns, False, (*names, *more), parts, (*weights, *moves))


Step = tuple[tuple[int, ...], tuple[Part, ...], tuple[Move, ...]]


def _alone(group: Group, split: int, held: tuple[int, ...], taken: int, place: int, room: int) -> Step | None:
    """A layer by itself in a part of the rows: what its neighbours hand it and take from it is whole."""
    rows, columns, sums = group.sizes[place]
    part, before, behind = rows // split, place > 0, place < len(group.sizes) - 1
    taken += part * (sums * before + columns * behind) * group.bits[2]
    if taken > room:
        return None
    inside = operands_inside(group, place, held, before, behind)
    phase = Phase(part_of((part, columns, sums)), inside, taken)
    return (1,) * behind, (Part(place, split, phase),), ()


def operands_inside(
    group: Group, place: int, held: Collection[int], reads: bool, makes: bool
) -> tuple[str, ...]:
    """The operands of a layer that are in place: what it `reads` and `makes` there or what stays whole, and
    the weights of layers that are held.
    """
    found = {WEIGHT: place in held or place in group.weights}
    found[INPUT] = reads or (group.reads and place == 0)
    found[OUTPUT] = makes or (group.makes and place == len(group.layers) - 1)
    return tuple(sorted(name for name, inside in found.items() if inside))


def _pairs(
    group: Group, split: int, held: tuple[int, ...], taken: int, place: int, room: int
) -> Iterator[Step]:
    """Two layers whose intermediate is split by columns too, each part of it in a round of both."""
    (rows, middle, sums), (_, columns, _) = group.sizes[place : place + 2]
    part, before, behind = rows // split, place > 0, place + 2 < len(group.sizes)
    for count in ascending_divisors(middle)[1:]:
        for hold_in, hold_out in product((False, True), repeat=2):
            # What stays anyway is not held besides.
            if (hold_in and (before or group.reads)) or (hold_out and (behind or group.makes)):
                continue
            words = (part * sums * group.bits[0 if hold_in else 2], part * columns * group.bits[2])
            now = taken + part * (middle // count) * group.bits[2]
            now += words[0] * (before or hold_in) + words[1] * (behind or hold_out)
            if now > room:
                continue
            yield _rounds(
                group,
                place,
                (split, count),
                (part, middle // count),
                now,
                first=operands_inside(group, place, held, before or hold_in, True),
                second=operands_inside(group, place + 1, held, True, behind or hold_out),
                moves=(
                    *((Move(place, INPUT, part * sums, split),) if hold_in else ()),
                    *((Move(place + 1, OUTPUT, part * columns, split),) if hold_out else ()),
                ),
            )


def _rounds(
    group: Group,
    place: int,
    splits: tuple[int, int],
    tile: tuple[int, int],
    taken: int,
    *,
    first: tuple[str, ...],
    second: tuple[str, ...],
    moves: tuple[Move, ...],
) -> Step:
    """The parts of two layers: of the second one, those that begin sums, and those that go on with them."""
    (_, _, sums), (_, columns, _) = group.sizes[place : place + 2]
    (rows, count), (part, middle) = splits, tile
    one = Phase(part_of((part, middle, sums)), first, taken)
    begin = Phase(part_of((part, columns, middle)), second, taken)
    go_on = Phase(begin.layer, begin.held, taken, returned=True)
    parts = [Part(place, rows * count, one), Part(place + 1, rows, begin)]
    if count > 1:
        parts.append(Part(place + 1, rows * (count - 1), go_on))
    more = (1,) * (place + 2 < len(group.layers))
    return (count, *more), tuple(parts), moves


def _columns_outside(group: Group, room: int) -> Iterator[Tiling]:
    """Tilings of a pair with its columns outside: weights may be held over rows, T0 and T2 over columns."""
    (rows, middle, sums), (_, columns, _) = group.sizes
    wide_in, wide_weight, wide = group.bits
    for split, count in product(ascending_divisors(rows)[1:], ascending_divisors(middle)[1:]):
        part, across = rows // split, middle // count
        choices: list[tuple[str, int, int, int, int]] = [
            (WEIGHT, 0, sums * across, count, wide_weight),
            (WEIGHT, 1, across * columns, count, wide_weight),
        ]
        choices = [one for one in choices if one[1] not in group.weights]
        choices += [(INPUT, 0, rows * sums, 1, wide_in)] if not group.reads else []
        choices += [(OUTPUT, 1, rows * columns, 1, wide)] if not group.makes else []
        for held in subsets(range(len(choices))):
            chosen = [choices[one] for one in held]
            now = group.taken + part * across * wide + sum(words * bits for *_, words, _, bits in chosen)
            if now > room:
                continue
            tensors = {tensor for tensor, *_ in chosen}
            weights = [at for tensor, at, *_ in chosen if tensor == WEIGHT]
            moves = tuple(Move(at, tensor, words, times) for tensor, at, words, times, _ in chosen)
            step = _rounds(
                group,
                0,
                (split, count),
                (part, across),
                now,
                first=operands_inside(group, 0, weights, INPUT in tensors, True),
                second=operands_inside(group, 1, weights, True, OUTPUT in tensors),
                moves=moves,
            )
            names = tuple(f"{tensor} of {group.layers[at].name}" for tensor, at, *_ in chosen)
            yield Tiling(split, step[0], True, names, step[1], step[2])
