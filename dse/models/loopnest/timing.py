"""Cycles of an outer step's inside: every kind of transition once, from the outermost loop inwards.

The loops outside the one that advances are in one of a few states; `groups` holds the products of their
figures and how often they occur. The loops inside go from their last step to their first, in one way only.
This is `time(i)` of docs/loopnest.md, section 5.
"""

from __future__ import annotations

from dse.models.loopnest.records import DIMS, Transition
from dse.models.loopnest.traffic import C, K
from dse.support.compiling import inlined, subroutine

EXACT = 2**52
"""Counts up to which a float divides them exactly."""


@inlined
def cycles_of(amount, rate):
    """Whole cycles for an amount at a rate."""
    if rate == 1:
        return amount
    if amount < EXACT:
        return int((amount + rate - 1) / rate)
    return (amount - 1) // rate + 1


@subroutine
def set_inside(work, kinds, depthwise):
    """The products over the loops inside each level that loops, as the inner loops go back (section 4).

    `inner_dims` gets the dims of those levels, outermost first; the row of `inside` after them is of all
    loops. Returns how many there are.
    """
    levels = 0
    for level in range(DIMS):
        dim = work.orders[1, level]
        if work.dims[dim].kinds[kinds >> dim & 1].steps > 1:
            work.inner_dims[levels] = dim
            levels += 1
    in_new = in_kept = w_new = w_kept = out_new = out_stay = out_left = busy = 1
    for place in range(DIMS + levels, 0, -1):
        # First the dims that do not loop, which every level has inside.
        dim = place - levels - 1 if place > levels else work.inner_dims[place - 1]
        here = work.dims[dim].kinds[kinds >> dim & 1]
        if (here.steps == 1) != (place > levels):
            continue
        if place <= levels:
            inside = work.inside[place - 1]
            inside.in_new, inside.in_kept, inside.w_new, inside.w_kept = in_new, in_kept, w_new, w_kept
            inside.out_new, inside.out_stay, inside.out_left = out_new, out_stay, out_left
            inside.busy = busy
        busy *= here.busiest
        if dim != K:
            in_new *= here.window
            in_kept *= here.window_kept
        if dim <= C:
            w_new *= here.needed
            w_kept *= here.kept
        if dim != C or depthwise:
            out_new *= here.needed
            out_stay *= here.stay
            out_left *= here.left
    everything = work.inside[DIMS]
    everything.in_new, everything.w_new, everything.out_new, everything.busy = in_new, w_new, out_new, busy
    return levels


@subroutine
def time_inside(work, kinds, problem):
    """`time(i)` of section 5, in words that the NoC could carry meanwhile, and the sum of compute(t).

    `kinds` has a bit for every dim that is at its LAST outer step. What is left out is the very last inner
    step: its transition is that of the outer loop.
    """
    layer, noc, lanes = problem.layer, problem.machine.noc, problem.machine.lanes
    time = work.times[kinds]
    levels = set_inside(work, kinds, layer.depthwise == 1)
    extents = steps = 1
    for dim in range(DIMS):
        here = work.dims[dim].kinds[kinds >> dim & 1]
        extents *= here.extent
        steps *= here.steps
    inside = work.inside[DIMS]
    least = cycles_of(layer.taps * inside.busy, lanes)
    even = steps * inside.busy == extents
    # Cycles are rounded up in each step: their sum is known where all steps are alike, or nothing is rounded.
    if lanes == 1 or even:
        compute = (steps - 1) * least if even else layer.taps * (extents - inside.busy)
        # No step waits where the largest need, the first step's, with its sums sent and received, passes
        # while the shortest step, the last, computes.
        first = layer.of.input * inside.in_new + layer.of.weights * inside.w_new
        if first + 2 * layer.of.output * inside.out_new <= least * noc:
            time.at_start = time.further = compute * noc
            time.compute = compute
            return
    time.at_start = time.further = time.compute = 0
    outermost = work.groups[0]
    outermost.count = outermost.first = outermost.work = 1
    outermost.inputs = outermost.weights = outermost.outputs = 1
    # One, but no constant: for that numba would compile what is called with it twice.
    count = outermost.count
    for level in range(levels):
        here = work.dims[work.inner_dims[level]].kinds[kinds >> work.inner_dims[level] & 1]
        for run in range(here.run_count):
            for after in range(run, min(run + 2, here.run_count)):
                length = here.runs[run].length - 1 if after == run else 1
                if length > 0:
                    add_transitions(work, kinds, level, Transition(run, after, length), count, problem)
        if level + 1 < levels:
            count = split_groups(work, kinds, level, layer.depthwise == 0, count)


@subroutine
def add_transitions(work, kinds, level, step, count, problem):
    """Adds the time of equal transitions, max(compute(t) noc_bandwidth, noc(t)) each, in all groups.

    What is brought is needed after the transition and not there before it (section 4).
    """
    layer, noc, lanes = problem.layer, problem.machine.noc, problem.machine.lanes
    dim, inside, reduced = work.inner_dims[level], work.inside[level], layer.depthwise == 0
    one = work.dims[dim]
    runs = one.kinds[kinds >> dim & 1].runs
    before, after = runs[step.before], runs[step.after]
    in_new, in_kept = inside.in_new, inside.in_kept
    w_new, w_kept = inside.w_new, inside.w_kept
    up, down, stay = inside.out_left, inside.out_new, inside.out_stay
    if dim != K:
        in_new *= after.needed * one.pitch + after.pieces * one.overlap
        in_kept *= after.pieces * one.step_overlap
    if dim <= C:
        w_new, w_kept = after.needed * w_new, 0
    if dim != C or not reduced:
        up, down, stay = before.needed * up, after.needed * down, 0
    inputs, weights = layer.of.input * (in_new - in_kept), layer.of.weights * (w_new - w_kept)
    up, down = layer.of.output * (up - stay), layer.of.output * (down - stay) if reduced else 0
    macs = layer.taps * before.busiest * inside.busy
    at_start = further = computing = 0
    for index in range(count):
        group = work.groups[index]
        occurs, first = group.count, group.first if dim != C else 0
        words = group.inputs * inputs + group.weights * weights
        words += group.outputs * up
        with_sums_back = words + group.outputs * down
        compute = cycles_of(group.work * macs, lanes)
        computing += occurs * compute
        longer = max(compute * noc, with_sums_back)
        further += occurs * longer
        # Sums that begin at the first of all channels come from nowhere.
        at_start += (occurs - first) * longer + first * max(compute * noc, words)
    time = work.times[kinds]
    time.at_start += step.length * at_start
    time.further += step.length * further
    time.compute += step.length * computing


@subroutine
def split_groups(work, kinds, level, reduced, count):
    """Splits the groups by the runs of a level's loop, which is now outside; returns how many there are."""
    dim, before = work.inner_dims[level], count
    one = work.dims[dim]
    here = one.kinds[kinds >> dim & 1]
    # Backwards: the first run takes the place of the group that all of them are made from.
    for index in range(here.run_count - 1, -1, -1):
        run = here.runs[index]
        length, needed, busiest = run.length, run.needed, run.busiest
        window = needed * one.pitch + run.pieces * one.overlap
        # Channels are at their very start in one step only, which is of the first run.
        first = length if dim != C else int(index == 0)
        for at in range(before):
            group, target = work.groups[at], work.groups[at if index == 0 else count + at]
            target.count = group.count * length
            target.first = group.first * first
            target.work = group.work * busiest
            target.inputs = group.inputs * (window if dim != K else 1)
            target.weights = group.weights * (needed if dim <= C else 1)
            target.outputs = group.outputs * (needed if dim != C or not reduced else 1)
        if index > 0:
            count += before
    return count
