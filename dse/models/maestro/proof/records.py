"""What the kernels of the proof read and fill: records of a layer, a machine, a box, and what its steps do.

Dims are 0 to 3 for K, C, Y, X. Sizes and tiles of Y and X are in outputs; a halo is what a tile of inputs has
beyond its outputs.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from dse.core.objective import objective_named
from dse.domains.clustered.problem import Problem
from dse.domains.clustered.proof.choices import (
    ORDER_TABLE,
    allowed_orders,
    order_nestings,
    parallel_dims,
    tile_chains,
)
from dse.domains.clustered.space.genes import ORDERS
from dse.domains.clustered.space.parts import FIT
from dse.support.arrays import AnyArray, BoolArray, FloatArray, IntArray
from dse.support.compiling import inlined

DIMS = 4
K, C, Y, X = range(DIMS)
ORDER_COUNT = len(ORDERS)
MOST_PAIRS = 64
"""Pairs of a floor and the cycles of a step that are told apart."""

COLUMNS, BUFFER_COLUMNS = ("cycles", "energy_nj"), ("power", "area")
BUFFERS = {"area_maestro", "power"}
"""Figures that depend on the needed buffers alone."""

INSIDE_TABLE = np.array(
    [
        [sum(1 << dim for dim in order[place + 1 :]) for place in range(DIMS)]
        for order in ORDER_TABLE.tolist()
    ],
    dtype=np.int64,
)
"""The sets of the dims inside each loop, one bit a dim: (24, 4)."""

# Where the spatial loop stands when a step begins: inside the changing loop (at its start), or outside it
# in a full round or in the last one. For the spatial loop itself the latter two.
INSIDE, FULL, LAST = range(3)
SITES = 3


def _numbers(names: str) -> list[tuple[str, str]]:
    return [(name, "i8") for name in names.split()]


def _records(count: int, dtype: np.dtype[Any]) -> AnyArray:
    """Records of zeros, whose fields are attributes in Python too."""
    return np.zeros(count, dtype).view(np.recarray)


LAYER = np.dtype(
    [
        *_numbers("depthwise taps inputs weights"),
        *((name, "i8", count) for name, count in (("sizes", DIMS), ("halos", DIMS), ("windows", 2))),
    ]
)
"""`taps` are the elements of a filter, `inputs` and `weights` those of the tensors, `windows` the rows and
columns of a filter."""

MACHINE = np.dtype(
    [
        *_numbers("pes bandwidth shift offchip latency lanes l1 l2 most_steps smallest_l1 of_buffers"),
        ("hertz", "f8"),
    ]
)
"""`l1`, `l2` and `most_steps`, of the busiest PE, are what limits leave. `shift` is the binary logarithm of
`bandwidth`, or -1. `smallest_l1` is the need of the smallest inner tiles, which is the best where the
objective is `of_buffers`."""

BOX = np.dtype(
    [
        *((name, "i8", DIMS) for name in ("low", "high", "inner_low", "inner_high")),
        *((name, "i8", DIMS) for name in ("halos", "more")),
        *_numbers("cluster clusters parallel inner single taps"),
    ]
)
"""Intervals of tiles of both levels, the cluster size, how many clusters there are, and the parallel dims:
`inner` is -1 where it is not chosen, R or S where a filter is spread. `single` says that there is one outer
tile for each dim. Of a PE's piece of the filter are its `taps` and the `halos` of inner tiles; `more` are
positions of it that a loop of an outer tile has beyond the tile."""

SHARES = np.dtype(
    _numbers(
        "start_full start_new full_full full_new last_full last_new start_out last_out written rounds "
        "last_rounds busiest busiest_pes last_is_whole iterations all_full all_new more_full more_new sweep "
        "swept swept_out whole_rounds whole_steps"
    )
)
"""What the parallel loop of the outer level does: see `spread`."""

LOOP = np.dtype(
    _numbers(
        "steps tile whole largest count held every_new every_full more_new more_full swept_all firsts outs"
    )
)
"""A loop of the outer level. Of the tiles in a box: the fewest steps, the smallest tile, of one tile the
whole ones, the largest tile. Then sums of all steps: see `totals`."""

STEPS = np.dtype(
    _numbers(
        "moves moves_in may_move first_i first_w first_out into limit out_all out_cycles l2_need count link"
    )
)
"""The steps of a box: see `outer`."""


class Given(NamedTuple):
    """The layer and the machine, (1,) each, what mappings are chosen from, and what they are worth.

    `outer_tiles` and `inner_tiles` (4, n) are ascending; of `perfect` tiles the inner one divides the outer
    one. `parallels` (4) says which dims the inner level may spread. `distinct` (16, 5, 25) holds, by the
    loops that move and the parallel dim, the last without one, how many outer orders differ, and which.
    `nests` (24, 4) are the orders, outermost dim first, `inside` (24, 4) the set of dims inside each loop.
    `terms` are those of the objective. With `fit` a cluster has a PE for each tile of the inner parallel dim.
    """

    layers: AnyArray
    machines: AnyArray
    outer_tiles: IntArray
    inner_tiles: IntArray
    perfect: bool
    parallels: BoolArray
    distinct: IntArray
    nests: IntArray
    inside: IntArray
    terms: FloatArray
    fit: bool


class Scratch(NamedTuple):
    """What bounding a box fills, all of it anew: records, and `flat`, the numbers in `shares`.

    `reads` (2, 4, 2, 3) and `delays` (4, 2, 3) are elements of inputs and weights that a step brings at
    least, and the cycles that moving data takes: by changing loop, whether an input loop restarts inside it,
    and site. `pairs` (64, 2) are as in `inner.pair_up`.
    """

    boxes: AnyArray
    shares: AnyArray
    flat: IntArray
    loops: AnyArray
    steps: AnyArray
    reads: IntArray
    delays: IntArray
    pairs: IntArray


def make_scratch() -> Scratch:
    """Records to be filled, of one thread."""
    shares = _records(2, SHARES)
    return Scratch(
        _records(1, BOX),
        shares,
        shares.view(np.int64, np.ndarray).reshape(2, -1),
        _records(DIMS, LOOP),
        _records(1, STEPS),
        np.zeros((2, DIMS, 2, SITES), np.int64),
        np.zeros((DIMS, 2, SITES), np.int64),
        np.zeros((MOST_PAIRS, 2), np.int64),
    )


def of_buffers(problem: Problem) -> bool:
    """Whether the objective depends on the needed buffers alone."""
    return objective_named(problem.objective).figures.keys() <= BUFFERS


def layer_record(problem: Problem) -> AnyArray:
    """The layer, (1,)."""
    layer, record = problem.space.layer, _records(1, LAYER)
    record["depthwise"], record["taps"] = layer.type == "DSCONV", layer.R * layer.S
    record["inputs"] = layer.C * layer.Y * layer.X
    record["weights"] = layer.K * layer.C * layer.R * layer.S
    record["sizes"] = [layer.loops[dim] for dim in "KCYX"]
    record["halos"] = [0, 0, layer.R - 1, layer.S - 1]
    record["windows"] = [layer.R, layer.S]
    return record


def machine_record(problem: Problem) -> AnyArray:
    """The machine, (1,)."""
    machine, record = problem.accelerator, _records(1, MACHINE)
    bandwidth = machine.noc_bandwidth
    record["pes"], record["bandwidth"], record["lanes"] = machine.num_pes, bandwidth, machine.simd_lanes
    record["shift"] = bandwidth.bit_length() - 1 if bandwidth & (bandwidth - 1) == 0 else -1
    record["offchip"], record["latency"] = machine.offchip_bandwidth, machine.noc_latency
    record["l1"], record["l2"] = problem.use.room
    record["most_steps"], record["hertz"] = problem.use.most_steps, machine.hertz
    smallest = [[min(chain.inner, default=1)] for chain in tile_chains(problem)]
    layer = layer_record(problem)[0]
    record["smallest_l1"] = l1_need.py_func(np.array(smallest), layer.halos, layer.taps, layer.depthwise)[0]
    record["of_buffers"] = of_buffers(problem)
    return record


def make_given(problem: Problem, *, every: bool = False) -> Given:
    """What the kernels know of a problem that is not refused; with `every`, no order gives way to another."""
    perfect, chains = problem.tiles == "factors", tile_chains(problem)
    parallels = np.zeros(DIMS, dtype=np.bool_)
    parallels[parallel_dims(problem)[1]] = True
    columns = BUFFER_COLUMNS if of_buffers(problem) else COLUMNS
    return Given(
        layer_record(problem),
        machine_record(problem),
        _table(*(chain.outer_choices for chain in chains)),
        _table(*(chain.inner_choices(chain.size) for chain in chains)),
        perfect,
        parallels,
        distinct_orders(tuple(allowed_orders(problem)[0]), best=perfect and not every),
        ORDER_TABLE,
        INSIDE_TABLE,
        objective_named(problem.objective).rows(columns),
        problem.parts.cluster == FIT,
    )


@lru_cache(maxsize=16)
def _table(*lists: Any) -> IntArray:
    """The lists as rows; what is beyond the end of one is never looked at."""
    table = np.zeros((len(lists), max(map(len, lists))), dtype=np.int64)
    for row, values in zip(table, lists, strict=True):
        row[: len(values)] = values
    return table


@lru_cache(maxsize=64)
def distinct_orders(allowed: tuple[int, ...], *, best: bool) -> IntArray:
    """One order for each class of orders that cost the same or more: (16, 5, 25), by what moves.

    Entry [moves, parallel] holds how many there are and which (positions in ORDERS); with parallel dim 4 no
    loop is spread. A loop that does not move may stand anywhere, except the parallel one: of perfect factors
    data is reused best where it is innermost, and with `best` an order goes where the same with it there is
    allowed. Of other tiles the faster order may be below the serial floor. `allowed` are the positions to
    choose from.
    """
    table = np.zeros((2**DIMS, DIMS + 1, ORDER_COUNT + 1), dtype=np.int64)
    for moves, parallel in product(range(2**DIMS), range(DIMS + 1)):
        found = order_nestings(allowed, [dim for dim in range(DIMS) if moves >> dim & 1 or dim == parallel])
        if best and parallel < DIMS and not moves >> parallel & 1:
            # Of each nesting the same with the parallel loop innermost.
            better = {key: (*(dim for dim in key if dim != parallel), parallel) for key in found}
            found = {
                key: order for key, order in found.items() if key == better[key] or better[key] not in found
            }
        table[moves, parallel, 0] = len(found)
        table[moves, parallel, 1 : 1 + len(found)] = sorted(found.values())
    return table


@inlined
def ceil_div(value, divisor, shift):
    """The quotient rounded up; `shift` is the divisor's binary logarithm, or -1."""
    if shift >= 0:
        return (value + divisor - 1) >> shift
    return (value + divisor - 1) // divisor


@inlined
def ceil_quotient(amount, parts):
    """The quotient rounded up."""
    return (amount + parts - 1) // parts


@inlined
def in_input(dim):
    """Whether the input depends on the dim."""
    return dim != K


@inlined
def in_weights(dim, layer):
    """Whether the weights depend on the dim."""
    return dim == C or (dim == K and layer.depthwise == 0)


@inlined
def in_output(dim, layer):
    """Whether the output depends on the dim."""
    return dim >= Y or (dim == C) == (layer.depthwise == 1)


@inlined
def l1_need(tiles, halos, taps, depthwise):
    """Elements of L1 that inner `tiles` need, of so many `taps` of the filter and their `halos`; outputs
    count with their halo (step 5.2 of `reference`)."""
    image = (tiles[Y] + halos[Y]) * (tiles[X] + halos[X])
    weights = taps * tiles[C]
    if depthwise == 1:
        return 2 * (tiles[C] * image + weights + tiles[C] * image)
    return 2 * (tiles[C] * image + weights * tiles[K] + tiles[K] * image)
