"""The outer level of a mapping: cycles of all outer steps, and the words that move between them, by order."""

from __future__ import annotations

import numpy as np

from dse.models.loopnest.params import (
    DEPTHWISE,
    LATENCY,
    LINK_INPUT,
    LINK_OUTPUT,
    LINK_WEIGHTS,
    NOC,
    OF_INPUT,
    OF_OUTPUT,
    OF_WEIGHTS,
    OFFCHIP,
    SIZES,
)
from dse.models.loopnest.proof.dims import (
    BACK,
    CLUSTERS,
    DIM_OVERLAPS,
    DIM_PITCHES,
    DIMS,
    FIRST_PLACES,
    L2_BACK,
    LAST_CLUSTERS,
    LAST_SPAN,
    LEFT,
    LINK_OUTPUTS,
    NEEDED,
    NEXT,
    OUTER_BACK,
    OUTER_STEPS,
    OUTPUTS,
    SPAN,
    STAY,
    WINDOW,
)
from dse.models.loopnest.proof.inner_level import DELIVERED, INPUTS, TIME, UP, WEIGHTS
from dse.models.loopnest.timing import (
    cycles_of,
)
from dse.models.loopnest.traffic import (
    C,
    K,
    Y,
)
from dse.support.compiling import subroutine, subroutine_with_arrays

# What a mapping comes to: cycles; words that PEs get or send, words in and out of L2 on their side, words in
# and out of DRAM.
CYCLES, TO_PES, AT_L2, AT_DRAM = range(4)
TOTALS = 4

# Products over dims, for L1s and for L2: inputs and weights that are needed and those that stay; outputs that
# are begun, that stay, that leave; PEs that share.
IN_NEW, IN_KEPT, W_NEW, W_KEPT, OUT_NEW, OUT_STAY, OUT_LEFT = range(7)
L2_IN, L2_IN_KEPT, L2_W, L2_W_KEPT, L2_OUT, L2_STAY, L2_LEFT = range(7, 14)
K_PLACES, YX_PLACES, C_PLACES, COUNT, FIRST, KIND = range(14, 20)
PRODUCTS = 20


@subroutine_with_arrays
def outer_scratch():
    """The arrays that `time_outer` works in."""
    return np.empty((DIMS + 1, PRODUCTS), np.int64), np.empty((2, PRODUCTS), np.int64)


@subroutine
def times(row, dims, dim, params, window, window_kept, needed, stay, left, places, span, span_kept, spans):
    """Multiplies what one dim contributes to a transition into a row; `spans` are of L2's outputs."""
    pitch, overlap = params[DIM_PITCHES + dim], params[DIM_OVERLAPS + dim]
    l2_stay, l2_left = spans
    if dim != K:
        row[IN_NEW] *= window
        row[IN_KEPT] *= window_kept
        row[L2_IN] *= span * pitch + overlap
        row[L2_IN_KEPT] *= span_kept
    else:
        row[K_PLACES] *= places
    if dim <= C:
        row[W_NEW] *= window
        row[W_KEPT] *= window_kept
        row[L2_W] *= span
        row[L2_W_KEPT] *= span_kept
    else:
        row[YX_PLACES] *= places
    if dim != C or params[DEPTHWISE] == 1:
        row[OUT_NEW] *= needed
        row[OUT_STAY] *= stay
        row[OUT_LEFT] *= left
        row[L2_OUT] *= span
        row[L2_STAY] *= l2_stay
        row[L2_LEFT] *= l2_left
    else:
        row[C_PLACES] *= places


@subroutine
def times_stay(row, dims, dim, params, clusters):
    """Multiplies a dim that stays at an outer step of so many clusters; its inner loop goes back."""
    span = dims[dim, SPAN] if clusters == dims[dim, CLUSTERS] else dims[dim, LAST_SPAN]
    times(
        row, dims, dim, params,
        clusters * dims[dim, WINDOW],
        clusters * dims[dim, BACK],
        clusters * dims[dim, NEEDED],
        clusters * dims[dim, STAY],
        clusters * dims[dim, LEFT],
        clusters * dims[dim, FIRST_PLACES],
        span,
        span * params[DIM_PITCHES + dim] + params[DIM_OVERLAPS + dim],
        (span, span),
    )  # fmt: skip


@subroutine
def times_back(row, dims, dim, params):
    """Multiplies a dim that goes back to its first outer step."""
    clusters = dims[dim, CLUSTERS]
    times(
        row, dims, dim, params,
        clusters * dims[dim, WINDOW],
        dims[dim, OUTER_BACK],
        clusters * dims[dim, NEEDED],
        0,
        dims[dim, LAST_CLUSTERS] * dims[dim, LEFT],
        clusters * dims[dim, FIRST_PLACES],
        dims[dim, SPAN],
        dims[dim, L2_BACK],
        (0, dims[dim, LAST_SPAN]),
    )  # fmt: skip


@subroutine
def times_next(row, dims, dim, params, last):
    """Multiplies a dim that advances, to its last outer step or to another one."""
    after = dims[dim, LAST_CLUSTERS] if last else dims[dim, CLUSTERS]
    times(
        row, dims, dim, params,
        after * dims[dim, WINDOW],
        after * dims[dim, NEXT],
        after * dims[dim, NEEDED],
        0,
        dims[dim, CLUSTERS] * dims[dim, LEFT],
        after * dims[dim, FIRST_PLACES],
        dims[dim, LAST_SPAN] if last else dims[dim, SPAN],
        params[DIM_OVERLAPS + dim],
        (0, dims[dim, SPAN]),
    )  # fmt: skip


@subroutine
def time_outer(dims, order, params, cycles, level, real, within, around, totals):
    """Fills `totals`: a whole mapping's cycles and words, in outer loop order `order`.

    `cycles` are those of an inner step, `level` is the inner level (see `inner_level`), `real` (2, 3) has by
    Y and X the input rows or columns that are no padding: those of all outer steps, those that stay as they
    advance, and as they go back.
    """
    noc, depthwise = params[NOC], params[DEPTHWISE] == 1
    of_input, of_weights, of_output = params[OF_INPUT], params[OF_WEIGHTS], params[OF_OUTPUT]
    base = within[DIMS]
    for column in range(PRODUCTS):
        base[column] = 1
        around[0, column] = 1
    around[0, KIND] = base[KIND] = 0
    for dim in range(DIMS):
        if dims[dim, OUTER_STEPS] == 1:
            times_stay(base, dims, dim, params, dims[dim, LAST_CLUSTERS])
    for place in range(DIMS - 1, -1, -1):
        dim = order[place]
        if dims[dim, OUTER_STEPS] > 1:
            for column in range(PRODUCTS):
                within[place, column] = base[column]
            times_back(base, dims, dim, params)
            base[KIND] |= int(dims[dim, CLUSTERS] != dims[dim, LAST_CLUSTERS])
    inputs, weights, up = of_input * base[IN_NEW], of_weights * base[W_NEW], of_output * base[OUT_LEFT]
    link_input, link_output = params[LINK_INPUT], params[LINK_OUTPUT]
    dram, dram_up = params[LINK_WEIGHTS] * base[L2_W], link_output * base[L2_LEFT]
    total = 2 * params[LATENCY] + cycles_of(inputs + weights, noc) + cycles_of(up, noc)
    total += cycles_of(link_input * base[L2_IN] + dram, params[OFFCHIP]) + cycles_of(dram_up, params[OFFCHIP])
    steady = TIME + 2 + int(dims[C, OUTER_STEPS] > 1)
    total += cycles_of(level[steady], noc) + cycles
    at_pes = inputs * base[K_PLACES] + weights * base[YX_PLACES]
    at_pes += of_output * base[OUT_NEW] * base[C_PLACES]
    at_l2 = inputs + weights
    states, outside_c = 1, False
    for place in range(DIMS):
        dim = order[place]
        steps = dims[dim, OUTER_STEPS]
        if steps == 1:
            continue
        uneven = dims[dim, CLUSTERS] != dims[dim, LAST_CLUSTERS]
        for variant in range(2):
            alike = (steps - 2 if uneven else steps - 1) if variant == 0 else int(uneven)
            if alike == 0:
                continue
            step = base
            for column in range(PRODUCTS):
                step[column] = within[place, column]
            times_next(step, dims, dim, params, variant == 1)
            # Before it, the dim is not at its last step, unless all are alike; dims inside are.
            kind_inside = within[place, KIND]
            for state in range(states):
                of = around[state]
                inputs = of_input * (of[IN_NEW] * step[IN_NEW] - of[IN_KEPT] * step[IN_KEPT])
                weights = of_weights * (of[W_NEW] * step[W_NEW] - of[W_KEPT] * step[W_KEPT])
                stay = of[OUT_STAY] * step[OUT_STAY]
                sent = of_output * (of[OUT_LEFT] * step[OUT_LEFT] - stay)
                begun = of_output * (of[OUT_NEW] * step[OUT_NEW] - stay)
                link_weights = of[L2_W] * step[L2_W] - of[L2_W_KEPT] * step[L2_W_KEPT]
                link_weights *= params[LINK_WEIGHTS]
                l2_stay = of[L2_STAY] * step[L2_STAY]
                written = link_output * (of[L2_LEFT] * step[L2_LEFT] - l2_stay)
                link = link_input * (of[L2_IN] * step[L2_IN] - of[L2_IN_KEPT] * step[L2_IN_KEPT])
                link += link_weights + written
                l2_begun = link_output * (of[L2_OUT] * step[L2_OUT] - l2_stay)
                count = alike * of[COUNT]
                words = inputs + weights + sent
                at_pes += count * (
                    inputs * of[K_PLACES] * step[K_PLACES]
                    + weights * of[YX_PLACES] * step[YX_PLACES]
                    + begun * of[C_PLACES] * step[C_PLACES]
                )
                at_l2 += count * (inputs + weights)
                up += count * sent
                dram += count * link_weights
                dram_up += count * written
                time = level[TIME + 2 * (kind_inside | of[KIND])]
                further = level[TIME + 2 * (kind_inside | of[KIND]) + 1]
                if depthwise or dims[C, OUTER_STEPS] == 1:
                    total += count * step_cycles(time, words, link, cycles, params)
                elif dim == C:
                    # Only the first of its advances is from the first channels; none is to them.
                    first = of[COUNT] * int(variant == 0 or steps == 2)
                    words, link = words + begun, link + l2_begun
                    if first > 0:
                        total += first * step_cycles(time, words, link, cycles, params)
                    if count > first:
                        total += (count - first) * step_cycles(further, words, link, cycles, params)
                elif outside_c:
                    first = alike * of[FIRST]
                    if first > 0:
                        total += first * step_cycles(time, words, link, cycles, params)
                    if count > first:
                        words, link = words + begun, link + l2_begun
                        total += (count - first) * step_cycles(further, words, link, cycles, params)
                else:
                    total += count * step_cycles(further, words, link, cycles, params)
        if uneven:
            for column in range(PRODUCTS):
                around[1, column] = around[0, column]
            around[1, FIRST] *= 0 if dim == C else 1
            times_stay(around[1], dims, dim, params, dims[dim, LAST_CLUSTERS])
            around[1, KIND] = 1
            states, steps = 2, steps - 1
        # The second state is of the dim that has just been split, or all its dims are even.
        for state in range(1 if uneven else states):
            around[state, COUNT] *= steps
            around[state, FIRST] *= 1 if dim == C else steps
            times_stay(around[state], dims, dim, params, dims[dim, CLUSTERS])
        outside_c |= dim == C
    totals[CYCLES] = total
    inner = inner_words(dims, params, level)
    # What was sent up and is not final is read back, once each time.
    totals[TO_PES] = inner[0] + at_pes + up - params[OUTPUTS]
    totals[AT_L2] = inner[1] + at_l2 + 2 * up - params[OUTPUTS]
    totals[AT_DRAM] = real_inputs(dims, order, params, real) + dram + 2 * dram_up - params[LINK_OUTPUTS]


@subroutine
def step_cycles(time, words, link, cycles, params):
    """Cycles of an outer step that ends with a transition of these words over the NoC and the DRAM link."""
    inner = cycles_of(time + max(cycles * params[NOC], words), params[NOC]) + params[LATENCY]
    return max(inner, cycles_of(link, params[OFFCHIP]))


@subroutine
def inner_words(dims, params, level):
    """Words of the inner transitions of all outer steps: to or from PEs, and at L2."""
    steps = clusters = inputs = weights = outputs = 1
    for dim in range(DIMS):
        count = dims[dim, OUTER_STEPS]
        at_work = (count - 1) * dims[dim, CLUSTERS] + dims[dim, LAST_CLUSTERS]
        steps, clusters = steps * count, clusters * at_work
        inputs *= at_work if dim != K else count
        weights *= at_work if dim <= C else count
        outputs *= at_work if dim != C or params[DEPTHWISE] == 1 else count
    up = level[UP] * outputs
    return level[DELIVERED] * clusters + up, level[INPUTS] * inputs + level[WEIGHTS] * weights + 2 * up


@subroutine
def real_inputs(dims, order, params, real):
    """Inputs that DRAM sends: what all outer steps need, less what stays as a loop advances."""
    everything, stay, inside = 1, 0, 1
    for place in range(DIMS - 1, -1, -1):
        dim = order[place]
        steps = dims[dim, OUTER_STEPS]
        if dim == K:
            needed, ahead, back = steps, steps - 1, 1
        elif dim == C:
            needed, ahead, back = params[SIZES + C], 0, params[SIZES + C] if steps == 1 else 0
        else:
            needed, ahead, back = real[dim - Y, 0], real[dim - Y, 1], real[dim - Y, 2]
        stay = ahead * inside + needed * stay
        inside *= back
        everything *= needed
    return params[LINK_INPUT] * (everything - stay)
