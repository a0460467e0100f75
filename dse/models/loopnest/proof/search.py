"""The best mapping of a shape: its inner tiles dim by dim, by bounds, and of those that remain all orders."""

from __future__ import annotations

import numpy as np

from dse.models.loopnest.params import (
    DEPTHWISE,
    FILTER,
    LATENCY,
    LINK_INPUT,
    LINK_OUTPUT,
    LINK_WEIGHTS,
    OFFCHIP,
)
from dse.models.loopnest.proof.dims import (
    CLUSTERS,
    COLUMNS,
    DIM_OVERLAPS,
    DIM_PITCHES,
    DIMS,
    LAST_CLUSTERS,
    LAST_SPAN,
    MOST_WORK,
    OUTER_STEPS,
    PIECE,
    SPAN,
    STEPS,
)
from dse.models.loopnest.proof.inner_level import LEVEL, inner_scratch
from dse.models.loopnest.proof.links import link_scratch
from dse.models.loopnest.proof.orders import (
    LOOKED_AT,
    PARALLEL,
    PLACE,
    RISING,
    TILES,
    TRIED,
    solve_tiles,
)
from dse.models.loopnest.proof.outer_level import (
    AT_L2,
    TO_PES,
    TOTALS,
    outer_scratch,
)
from dse.models.loopnest.proof.pieces import (
    ALONE,
    SIZE,
    UP_TO,
    WORK,
    bound_part,
    limit,
    list_pieces,
)
from dse.models.loopnest.proof.pieces import FIGURES as OF_PIECES
from dse.models.loopnest.proof.shapes import (
    DRAM_WORDS,
    LEAST_CYCLES,
    MAX_ORDERS,
    below,
    bound_orders,
    least_ends,
    loss_of,
    read_shape,
    set_shape,
)
from dse.models.loopnest.proof.tiles import (
    CASES,
    FIGURES,
    bound_cases,
    least_cycles,
    set_figures,
)
from dse.models.loopnest.timing import (
    cycles_of,
)
from dse.models.loopnest.traffic import (
    C,
    K,
)
from dse.support.compiling import kernel, subroutine, subroutine_with_arrays


@subroutine
def link_ends(dims, params):
    """Cycles before the first outer step and after the last one, without those of the NoC."""
    inputs, weights, written = params[LINK_INPUT], params[LINK_WEIGHTS], params[LINK_OUTPUT]
    for dim in range(DIMS):
        span = dims[dim, SPAN]
        if dim != K:
            inputs *= span * params[DIM_PITCHES + dim] + params[DIM_OVERLAPS + dim]
        if dim <= C:
            weights *= span
        if dim != C or params[DEPTHWISE] == 1:
            written *= dims[dim, LAST_SPAN]
    link = cycles_of(inputs + weights, params[OFFCHIP]) + cycles_of(written, params[OFFCHIP])
    return 2 * params[LATENCY] + link


@subroutine
def set_clusters(dims, parallel, params, clusters):
    """By how many clusters an outer step's words are multiplied, by tensor, if it is not the last or is."""
    depthwise = params[DEPTHWISE] == 1
    most, last = dims[parallel, CLUSTERS], dims[parallel, LAST_CLUSTERS]
    for tensor in range(3):
        with_inputs = tensor == 0 and parallel != K
        with_weights = tensor == 1 and parallel <= C
        with_outputs = tensor == 2 and (parallel != C or depthwise)
        depends = with_inputs or with_weights or with_outputs
        clusters[0, tensor] = most if depends else 1
        clusters[1, tensor] = last if depends else 1


@kernel
def search_shapes(
    shapes, losses, tie_breaks, params, constants, terms, outer_tiles, inner_tiles, clusters, parallels,
    orders, real, order_table, best, place, done,
):  # fmt: skip
    """Searches these shapes, whose bounds rise, while their bounds beat the best.

    `best` (2), the least loss and its tie break, and `place` become those of the best mapping wherever one is
    better.
    """
    dims, real_of = np.zeros((DIMS, COLUMNS), np.int64), np.zeros((2, 3), np.int64)
    choice, level, totals = np.zeros(6, np.int64), np.zeros(LEVEL, np.int64), np.zeros(TOTALS, np.int64)
    (within, around), links = outer_scratch(), link_scratch()
    found, front = np.zeros((MAX_ORDERS, 2), np.int64), np.zeros((MAX_ORDERS, LEVEL + RISING + 1), np.int64)
    figures, cases = np.zeros(FIGURES, np.int64), np.zeros((CASES, 4), np.int64)
    spread, scratch, walk = np.zeros((2, 3), np.int64), inner_scratch(), walk_scratch(inner_tiles.shape[1])
    for index in range(len(shapes)):
        if not below(losses[index], tie_breaks[index], best[0], best[1]):
            return
        read_shape(shapes[index], outer_tiles, clusters, parallels, choice)
        set_shape(choice, params, outer_tiles, clusters, parallels, real, dims, real_of)
        cluster = clusters[choice[4]]
        many = bound_orders(
            dims, cluster, params, parallels, inner_tiles, orders, real_of, order_table, links, found
        )  # fmt: skip
        shape = shape_figures(dims, params, inner_tiles, found, many)
        set_clusters(dims, parallels[0, 1 + choice[5]], params, spread)
        list_pieces(dims, cluster, params, parallels, inner_tiles, walk[0], walk[1])
        place[PLACE] = shapes[index]
        # In a cluster of one PE no dim is spread.
        for number in range(parallels[1, 0] if cluster > 1 else 1):
            parallel = parallels[1, 1 + number]
            place[PLACE + PARALLEL] = parallel
            search_tiles(
                dims, parallel if cluster > 1 else np.int64(-1), params, constants, terms, shape, walk,
                figures, cases, spread, found, orders, real_of, order_table, level, front, scratch, within,
                around, totals, best, place, done,
            )  # fmt: skip


@subroutine_with_arrays
def walk_scratch(many):
    """The arrays that `descend` works in: see there and `list_pieces`."""
    pieces = np.zeros((2, DIMS, many, COLUMNS), np.int64)
    of_pieces = np.zeros((2, DIMS, many, 2, OF_PIECES), np.int64)
    at, last = np.zeros((DIMS, OF_PIECES), np.int64), np.zeros((DIMS, DIMS), np.int64)
    return pieces, of_pieces, at, last, np.zeros(DIMS, np.int64), np.zeros(DIMS, np.int64)


@subroutine
def search_tiles(
    dims, parallel, params, constants, terms, shape, walk, figures, cases, spread, found, orders, real_of,
    order_table, level, front, scratch, within, around, totals, best, place, done,
):  # fmt: skip
    """Goes through a shape's inner tiles whose bounds beat the best; `parallel` is -1 if no dim is spread."""
    sizes = walk[4]
    depth = begin(parallel, dims, params, constants, terms, shape, walk, best)
    while depth >= 0:
        depth = descend(depth, parallel, dims, params, constants, terms, shape, walk, best)
        if depth < DIMS:
            continue
        depth = DIMS - 1
        if steps_of_busiest(dims, params) > params[MOST_WORK]:
            continue
        done[LOOKED_AT] += 1
        loss, tie_break = bound_tiles(dims, params, constants, terms, shape, figures, cases)
        if not below(loss, tie_break, best[0], best[1]):
            continue
        done[TRIED] += 1
        for dim in range(DIMS):
            place[PLACE + TILES + dim] = sizes[dim]
        solve_tiles(
            dims, params, constants, terms, figures, cases, shape[2], spread, found, orders, real_of,
            order_table, level, front, scratch, within, around, totals, best, place, done,
        )  # fmt: skip


@subroutine
def steps_of_busiest(dims, params):
    """Steps of the busiest PE with the tiles that `dims` holds."""
    work = params[FILTER]
    for dim in range(DIMS):
        work *= dims[dim, OUTER_STEPS] * dims[dim, STEPS] * dims[dim, PIECE]
    return work


@subroutine
def shape_figures(dims, params, inner_tiles, found, number):
    """What bounds of a shape's inner tiles need of it: see `bound_part`."""
    outer = 1
    for dim in range(DIMS):
        outer *= dims[dim, OUTER_STEPS]
    cycles, dram = found[0, LEAST_CYCLES], found[0, DRAM_WORDS]
    for index in range(1, number):
        cycles, dram = min(cycles, found[index, LEAST_CYCLES]), min(dram, found[index, DRAM_WORDS])
    ends, least = link_ends(dims, params), least_ends(dims, params, inner_tiles)
    return cycles, dram, ends, least, (outer - 1) * params[LATENCY]


@subroutine
def begin(parallel, dims, params, constants, terms, shape, walk, best):
    """Goes to before the first inner tile of the first dim, depth 0; -1 if no tiles fit or beat the best."""
    _, of_pieces, _, _, sizes, path = walk
    for dim in range(DIMS):
        sizes[dim], path[dim] = of_pieces[0, dim, 0, ALONE, SIZE], -1
        if sizes[dim] == 0:
            return -1
    return 0 if beats(0, parallel, dims, params, constants, terms, shape, walk, best) else -1


@subroutine
def beats(depth, parallel, dims, params, constants, terms, shape, walk, best):
    """Whether inner tiles with what is chosen of the dims before `depth` could beat the best."""
    _, of_pieces, at, last, sizes, _ = walk
    if not limit(of_pieces[0], sizes, depth, last, params):
        return False
    for dim in range(depth, DIMS):
        least = of_pieces[int(dim == parallel), dim, last[depth, dim], UP_TO]
        for column in range(OF_PIECES):
            at[dim, column] = least[column]
    work = params[FILTER]
    for dim in range(DIMS):
        work *= dims[dim, OUTER_STEPS] * at[dim, WORK]
    if work > params[MOST_WORK]:
        return False
    loss, tie_break = bound_part(at, dims, params, constants, terms, shape)
    return below(loss, tie_break, best[0], best[1])


@subroutine
def descend(depth, parallel, dims, params, constants, terms, shape, walk, best):
    """Takes the next inner tile of the dim at `depth`, and, if the bound then beats the best, goes on to the
    next dim.

    Returns the depth: DIMS if all inner tiles are chosen, one less than it was if this dim has no more of
    them. `walk` has what `list_pieces` fills, the figures of `bound_part`, what `limit` fills, the chosen
    sizes and their places.
    """
    pieces, of_pieces, at, last, sizes, path = walk
    path[depth] += 1
    if path[depth] > last[depth, depth]:
        # Dims to come are at their smallest.
        sizes[depth] = of_pieces[0, depth, 0, ALONE, SIZE]
        return depth - 1
    way, number = int(depth == parallel), path[depth]
    for column in range(STEPS, COLUMNS):
        dims[depth, column] = pieces[way, depth, number, column]
    sizes[depth] = of_pieces[way, depth, number, ALONE, SIZE]
    if depth == DIMS - 1:
        return DIMS
    for column in range(OF_PIECES):
        at[depth, column] = of_pieces[way, depth, number, ALONE, column]
    if not beats(depth + 1, parallel, dims, params, constants, terms, shape, walk, best):
        return depth
    path[depth + 1] = -1
    return depth + 1


@subroutine
def bound_tiles(dims, params, constants, terms, shape, figures, cases):
    """The bound of inner tiles, and its tie break; `cases` begins with the least of all cases.

    `shape` is that of `bound_part`.
    """
    outer_cycles, dram, ends, _, _ = shape
    set_figures(dims, params, figures)
    least, least_tie = np.inf, np.inf
    to_pes = at_l2 = np.int64(2**62)
    for case in range(bound_cases(dims, params, cases)):
        to_pes, at_l2 = min(to_pes, cases[case, TO_PES]), min(at_l2, cases[case, AT_L2])
        cycles = least_cycles(figures, params, cases[case, AT_L2], outer_cycles, ends)
        loss, tie_break = loss_of(
            params, constants, terms, cycles, cases[case, TO_PES], cases[case, AT_L2], dram
        )
        if below(loss, tie_break, least, least_tie):
            least, least_tie = loss, tie_break
    cases[0, TO_PES], cases[0, AT_L2] = to_pes, at_l2
    return least, least_tie
