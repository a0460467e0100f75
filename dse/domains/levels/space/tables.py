"""A hierarchy's space as the kernels read it: arrays of integers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dse.domains.levels.layout import Layout, RowArray
from dse.domains.levels.machine import Machine
from dse.domains.levels.space.chains import SPATIAL, FactorChain
from dse.domains.levels.workload import Workload
from dse.support.arrays import BoolArray, FloatArray, IntArray


class SpaceTables(NamedTuple):
    """Slots are numbered through all dims, in the order of their chains; lengths of a dim by their place.

    `first_slot` (dims + 1); of a slot its `gene` (-1: it has no choice), the gene's `size`, its `column` in a
    row, and its `position` among all loops over a dim; lengths of tiles, if rows have them, begin at
    `tile_start`, else 0;
    `edge_start`, `edge_count` (slots, lengths): where in `edges` the lengths stand that may be left of
    a length, and in `edge_factors` by which factor. `lengths` and `primes` (dims, most), 0 where there are
    none; `whole` (dims), the place of the dim's size among its lengths. `template` is a row whose loops run
    once. `order_gene` (levels) and `order_start` say where in `orders` (n, dims) a level's are, `permuted`
    (levels) whether these are all orders of some dims. `keep_gene` are pairs of gene and column. A
    `stack_gene` picks, from its `stack_start` on, the row of
    `stack_columns` (n, most) that become 1, 0 behind them. `first_gene` (blocks + 1), `block_kind` and
    `block_of` (its dim or level) describe the blocks.
    """

    first_slot: IntArray
    gene: IntArray
    size: IntArray
    column: IntArray
    position: IntArray
    tile_start: int
    edge_start: IntArray
    edge_count: IntArray
    edges: IntArray
    edge_factors: RowArray
    lengths: IntArray
    whole: IntArray
    primes: IntArray
    template: RowArray
    order_gene: IntArray
    order_start: IntArray
    order_columns: IntArray
    orders: RowArray
    permuted: BoolArray
    keep_gene: IntArray
    stack_gene: IntArray
    stack_start: IntArray
    stack_columns: IntArray
    sizes: IntArray
    block_kind: IntArray
    block_of: IntArray
    block_genes: IntArray


class ShapeTables(NamedTuple):
    """What tiles and fan-outs are made of; axes are numbered through all tensors, terms through all axes.

    `first_axis` (tensors + 1) and `first_term` (axes + 1) say where those of a tensor and of an axis begin.
    Of a term, the `dim` that moves the axis, and by how many words a step, its `words`. `holds` (levels) says
    whether a level may keep anything, `beside` (levels, tensors) whether a tensor is held by it, beside its
    tiles; a word of a tensor takes `bits` (tensors) of what levels count.
    """

    first_axis: IntArray
    first_term: IntArray
    dim: IntArray
    words: IntArray
    holds: BoolArray
    sizes: IntArray
    output: int
    bits: IntArray
    beside: BoolArray


def shape_tables(workload: Workload, machine: Machine) -> ShapeTables:
    """The tables of tiles and fan-outs."""
    axes = [tensor.axes for tensor in workload.tensors]
    terms = [
        [(dim, axis[name]) for dim, name in enumerate(workload.names) if axis.get(name)]
        for tensor_axes in axes
        for axis in map(dict, tensor_axes)
    ]
    flat = [term for of_axis in terms for term in of_axis]
    return ShapeTables(
        np.cumsum([0, *map(len, axes)]).astype(np.int64),
        np.cumsum([0, *map(len, terms)]).astype(np.int64),
        np.array([dim for dim, _ in flat], dtype=np.int64),
        np.array([words for _, words in flat], dtype=np.int64),
        np.array([place == 0 or level.stores for place, level in enumerate(machine.levels)]),
        np.array(list(workload.sizes.values()), dtype=np.int64),
        next(place for place, tensor in enumerate(workload.tensors) if tensor.output),
        np.array([tensor.bits for tensor in workload.tensors], dtype=np.int64),
        np.array([[name in level.holds for name in workload.tensor_names] for level in machine.levels]),
    )


def slot_columns(chain: FactorChain, dim: int, layout: Layout) -> list[int]:
    """Where in a row the factors of a chain's slots are."""
    return [
        (layout.spatial if slot.kind == SPATIAL else layout.temporal)(slot.level).start + dim
        for slot in chain.slots
    ]


def edge_tables(chains: Sequence[FactorChain]) -> tuple[IntArray, IntArray, IntArray, RowArray]:
    """`edge_start`, `edge_count`, `edges` and `edge_factors`."""
    most = max(len(chain.lengths) for chain in chains)
    slots = sum(len(chain.slots) for chain in chains)
    start, count = np.zeros((2, slots, most), dtype=np.int64)
    edges: list[int] = []
    factors: list[int] = []
    slot = 0
    for chain in chains:
        place = {length: number for number, length in enumerate(chain.lengths)}
        for step in chain.choices:
            for above, below in step.items():
                start[slot, place[above]], count[slot, place[above]] = len(edges), len(below)
                edges += [place[length] for length in below]
                factors += [-(-above // length) for length in below]
            slot += 1
    return start, count, np.array(edges or [0], dtype=np.int64), np.array(factors or [1], dtype=np.int32)


def padded_rows(rows: Sequence[Sequence[int]]) -> NDArray[np.int64]:
    """Rows of different lengths as one array, with zeros behind; at least one column."""
    found = np.zeros((len(rows), max(1, *map(len, rows))), dtype=np.int64)
    for place, row in enumerate(rows):
        found[place, : len(row)] = row
    return found


class Described(NamedTuple):
    """log2 of what the loops of n mappings imply; 0 of a tensor that a level does not keep.

    `lengths` and `spread` (n, levels, dims): of the tiles, and the spatial factors. Of a tensor at a level
    (n, levels, tensors): `held`, the words of a tile; `returns`, how often it comes anew; `moved`, the words
    that all instances receive; and `served`, those of them that differ among the instances that one level
    above serves, which the level that keeps it next above has to read. `served` has one more level, the
    MACs. `steps` (n): of the run.
    """

    lengths: FloatArray
    spread: FloatArray
    held: FloatArray
    returns: FloatArray
    moved: FloatArray
    served: FloatArray
    steps: FloatArray
