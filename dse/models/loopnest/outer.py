"""Cycles of the outer steps: each as long as its inner steps or the DRAM link takes, whichever is longer.

This is `outer(i)` of docs/loopnest.md, section 5, for every kind of outer step once.
"""

from __future__ import annotations

from dse.models.loopnest.contents import make_empty, multiply_back, multiply_next, multiply_stay
from dse.models.loopnest.records import ADVANCING, ALL_LOOPS, DIMS, INTERIOR, LAST, OuterStep
from dse.models.loopnest.timing import cycles_of, time_inside
from dse.models.loopnest.traffic import C
from dse.support.compiling import inlined, subroutine


@subroutine
def time_outside(work, problem):
    """The sum over outer steps but the last of outer(i), and time(last), into `totals` (section 5).

    Times of kinds that are known are taken as they are.
    """
    reduced, totals = problem.layer.depthwise == 0, work.totals
    totals.steady = totals.waiting = totals.computing = 0
    levels = set_loops(work, reduced)
    everywhere = work.loops[ALL_LOOPS].kinds
    make_empty(work.outer_groups[0])
    # One, but no constant: for that numba would compile what is called with it twice.
    count = work.outer_groups[0].count
    for level in range(levels):
        one = work.dims[work.outer_dims[level]]
        kind = LAST if one.uniform == 1 else INTERIOR
        ahead = one.steps - 1 if kind == LAST else one.steps - 2
        for after in range(kind, LAST + 1):
            if after == kind and ahead == 0:
                continue
            alike = ahead if after == kind else 1
            # Of the advances over channels, one begins at their very start.
            first = int(after == kind or ahead == 0)
            add_steps(work, level, OuterStep(kind, after, alike, first), count, problem)
        if level + 1 < levels:
            count = split_outer(work, level, reduced, count)
    time = know_inside(work, everywhere, problem)
    busiest = cycles_of(problem.layer.taps * work.loops[ALL_LOOPS].busy, problem.machine.lanes)
    totals.computing += time.compute + busiest
    words = time.at_start if work.dims[C].steps == 1 else time.further
    totals.steady += cycles_of(words, problem.machine.noc) + busiest


@inlined
def set_loops(work, reduced):
    """The dims with several outer steps, outermost first, and the products over the loops inside each.

    Returns how many there are.
    """
    all_loops = work.loops[ALL_LOOPS]
    make_empty(all_loops)
    for dim in range(DIMS):
        if work.dims[dim].steps == 1:
            multiply_stay(all_loops, work.dims[dim], dim, reduced, LAST)
            all_loops.kinds |= 1 << dim
    levels = 0
    for level in range(DIMS):
        dim = work.orders[0, level]
        if work.dims[dim].steps > 1:
            work.outer_dims[levels] = dim
            levels += 1
    for level in range(levels - 1, -1, -1):
        dim = work.outer_dims[level]
        work.loops[level] = all_loops
        multiply_back(all_loops, work.dims[dim], dim, reduced)
        all_loops.kinds |= 1 << dim
    return levels


@inlined
def forget_times(times):
    """No time of the inside of an outer step is known."""
    for kinds in range(2**DIMS):
        times[kinds].known = 0


@inlined
def know_inside(work, kinds, problem):
    """The time of the inside of an outer step, found once for each combination of kinds."""
    time = work.times[kinds]
    if time.known == 0:
        time_inside(work, kinds, problem)
        time.known = 1
    return time


@subroutine
def add_steps(work, level, step, count, problem):
    """Adds equal outer steps, for all groups of the loops outside of the level (sections 4 and 5)."""
    layer, dim, loop, moved = problem.layer, work.outer_dims[level], work.loops[level], work.loops[ADVANCING]
    of, link, reduced = layer.of, layer.link, layer.depthwise == 0
    work.loops[ADVANCING] = loop
    multiply_next(moved, work.dims[dim], dim, reduced, step)
    one_channel_step, channels_outside = work.dims[C].steps == 1, loop.kinds >> C & 1 == 0
    for index in range(count):
        group = work.outer_groups[index]
        kinds = group.kinds | loop.kinds | step.before << dim
        inputs = group.in_new * moved.in_new - group.in_kept * moved.in_kept
        weights = group.w_new * moved.w_new - group.w_kept * moved.w_kept
        stay = group.out_stay * moved.out_stay
        words = (
            of.input * inputs + of.weights * weights + of.output * (group.out_left * moved.out_left - stay)
        )
        begun = of.output * (group.out_new * moved.out_new - stay)
        inputs = group.l2_in * moved.l2_in - group.l2_in_kept * moved.l2_in_kept
        weights = group.l2_w * moved.l2_w - group.l2_w_kept * moved.l2_w_kept
        stay = group.l2_stay * moved.l2_stay
        linked = link.input * inputs + link.weights * weights
        linked += link.output * (group.l2_left * moved.l2_left - stay)
        linked_begun = link.output * (group.l2_out * moved.l2_out - stay)
        # Sums that begin at the start of the channels come from nowhere; later ones are read back.
        at_start = further = 0
        if not reduced or one_channel_step:
            at_start, begun, linked_begun = step.alike * group.count, 0, 0
        elif dim == C:
            # After each advance sums are read back; the step before the first one began them.
            at_start, further = step.first * group.count, (step.alike - step.first) * group.count
            words, linked, begun, linked_begun = words + begun, linked + linked_begun, 0, 0
        elif channels_outside:
            at_start, further = step.alike * group.first, step.alike * (group.count - group.first)
        else:
            # Channels, inside, go back to their start: finished sums leave, new ones begin.
            further, begun, linked_begun = step.alike * group.count, 0, 0
        time = know_inside(work, kinds, problem)
        ends = time.compute, cycles_of(layer.taps * group.busy * moved.busy, problem.machine.lanes)
        if at_start > 0:
            add_time(work.totals, time.at_start, ends, words, linked, at_start, problem.machine)
        if further > 0:
            words, linked = words + begun, linked + linked_begun
            add_time(work.totals, time.further, ends, words, linked, further, problem.machine)


@inlined
def add_time(totals, inside, computing, words, linked, occurs, machine):
    """Adds `occurs` outer steps whose last transition moves these words over the NoC and the DRAM link.

    outer(i) of section 5; `inside` is its time but for the last inner step, `computing` the cycles of all
    inner steps but the last, and of the last.
    """
    before, last = computing
    cycles = cycles_of(inside + max(last * machine.noc, words), machine.noc) + machine.latency
    wait = 0
    if linked > cycles * machine.offchip:
        wait = cycles_of(linked, machine.offchip) - cycles
    totals.steady += occurs * (cycles + wait)
    totals.waiting += occurs * wait
    totals.computing += occurs * (before + last)


@subroutine
def split_outer(work, level, reduced, count):
    """Splits the groups by the kinds of outer steps of a level, now outside; returns how many there are."""
    dim, groups = work.outer_dims[level], work.outer_groups
    one = work.dims[dim]
    for at in range(count):
        if one.uniform == 1:
            place(groups[at], one, dim, reduced, LAST, one.steps)
            continue
        groups[count + at] = groups[at]
        place(groups[count + at], one, dim, reduced, LAST, 1)
        if dim == C:
            groups[count + at].first = 0
        place(groups[at], one, dim, reduced, INTERIOR, one.steps - 1)
    return count if one.uniform == 1 else 2 * count


@inlined
def place(group, one, dim, reduced, kind, length):
    """Multiplies a group by `length` outer steps of a kind, of which one is the dim's first."""
    multiply_stay(group, one, dim, reduced, kind)
    group.count *= length
    group.first *= length if dim != C else 1
    group.kinds |= kind << dim
