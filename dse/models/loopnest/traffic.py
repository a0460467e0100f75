"""Words moved over a whole run in closed form: a sum of eight products for each tensor and boundary.

A tensor's transfers are what all steps need, less what stays from one step to the next. Both are products of
sums over single dims: along a dim that is outside the loop that advances, nothing changes; inside, the dim
goes back from its last step to its first (docs/loopnest.md, section 4).
"""

from __future__ import annotations

from dse.models.loopnest.extents import first_kind, floor_divide, positive_part
from dse.models.loopnest.records import INTERIOR, LAST, Fill, Sums
from dse.support.compiling import inlined, subroutine

K, C, Y, X = range(4)
# What is summed along a dim: indices, input rows or columns, one for every step (a tensor that does not
# depend on the dim, as L2 sees it) or one for every PE (as the PEs see it), and outputs.
INDICES, WINDOWS, STEPS_ONLY, PES_ONLY, OUTPUTS = range(5)


@inlined
def over_kinds(one, in_last, in_interior):
    """The sum over all outer steps of what each has: the last one, and those before it."""
    return one.steps * in_last if one.uniform == 1 else (one.steps - 1) * in_interior + in_last


@inlined
def set_sums(sums, values):
    """Writes one dim's sums of one kind."""
    sums.everything = values.everything
    sums.inner_next, sums.inner_back = values.inner_next, values.inner_back
    sums.outer_next, sums.outer_back = values.outer_next, values.outer_back


@subroutine
def add_up(one, dim):
    """All sums of a dim that is measured: the five of section 4, of each kind."""
    outer_steps, steps, size = one.steps, one.all_steps, one.extent
    pieces, at_start = one.all_pieces, one.first_pieces
    last, interior = one.kinds[LAST], one.kinds[INTERIOR]
    if dim <= C:
        # Pieces of different steps are disjoint: nothing stays as a loop advances.
        kept = over_kinds(one, last.kept, interior.kept)
        set_sums(one.sums[INDICES], Sums(size, 0, kept, 0, one.back_kept))
    if dim >= Y:
        moved_on = 0
        if outer_steps > 1:
            moved_on = (outer_steps - 2) * one.next_overlap + one.last_overlap
        everything = size * one.pitch + pieces * one.overlap
        kept = over_kinds(one, last.window_kept, interior.window_kept)
        # All pieces but those of first inner steps follow a whole one of their PE, at the same distance.
        inner_next = (pieces - at_start) * one.step_overlap
        set_sums(one.sums[WINDOWS], Sums(everything, inner_next, kept, moved_on, one.back_window))
    set_sums(one.sums[STEPS_ONLY], Sums(steps, steps - outer_steps, outer_steps, outer_steps - 1, 1))
    begin = one.kinds[first_kind(one)].pieces
    # No PE works that did not in the first step: of a tensor without this dim it has what it needs.
    set_sums(one.sums[PES_ONLY], Sums(pieces, pieces - at_start, at_start, at_start - begin, begin))
    stay = over_kinds(one, last.stay, interior.stay)
    set_sums(one.sums[OUTPUTS], Sums(size, 0, stay, 0, one.back_stay))


@inlined
def new_words(work):
    """Words of one tensor that enter L1s: the product over the `chosen` sums, one a dim, less what stays."""
    everything, stay, inside = 1, 0, 1
    # For each loop that advances: all steps of those outside of it, and those inside as they go back.
    for level in range(3, -1, -1):
        dim = work.orders[1, level]
        sums = work.dims[dim].sums[work.chosen[dim]]
        stay = sums.inner_next * inside + sums.everything * stay
        inside *= sums.inner_back
        everything *= sums.everything
    # As an outer loop advances, inner ones go back: those of dims outside of it in each of their outer steps.
    outside, inside = 0, 1
    for level in range(3, -1, -1):
        dim = work.orders[0, level]
        sums = work.dims[dim].sums[work.chosen[dim]]
        outside = sums.outer_next * inside + sums.inner_back * outside
        inside *= sums.outer_back
    return everything - stay - outside


@inlined
def below(bound, count, pitch, length):
    """How much of `count` intervals of `length`, one every `pitch` from 0 on, lies below `bound`."""
    if bound <= 0 or count <= 0 or length == 0:
        return 0
    whole = min(count, floor_divide(bound - length, pitch) + 1) if bound >= length else 0
    begun = min(count, floor_divide(bound - 1, pitch) + 1)
    cut = begun - whole
    # Of a cut interval i, `bound - i * pitch` is below: an arithmetic series.
    return whole * length + cut * bound - pitch * ((whole + begun - 1) * cut // 2)


@subroutine
def real_windows(one, first, end):
    """Real rows or columns of all outer steps, those that stay as they advance, and as they go back.

    The real ones are those from `first` to `end` of the padded ones, of which all unused are left out.
    """
    outer_steps, pitch, overlap = one.steps, one.pitch, one.overlap
    if outer_steps == 1:
        return end - first, 0, end - first
    total = one.extent * pitch + overlap
    stride = one.span * pitch
    last = (outer_steps - 1) * stride
    if first == 0 and end == total:
        back = positive_part(stride + overlap - last)
        return total + (outer_steps - 1) * overlap, (outer_steps - 1) * overlap, back
    # Step i goes from i * stride, and has stride + overlap rows unless it is the last, which ends at `total`.
    everything = below(end, outer_steps - 1, stride, stride + overlap)
    everything -= below(first, outer_steps - 1, stride, stride + overlap)
    everything += positive_part(end - max(first, last))
    # Steps i and i + 1 share `overlap` rows, from (i + 1) * stride on.
    advance = below(end - stride, outer_steps - 1, stride, overlap)
    advance -= below(first - stride, outer_steps - 1, stride, overlap)
    return everything, advance, positive_part(min(end, stride + overlap) - max(first, last))


@inlined
def new_in_l2(fills, order):
    """Words of one tensor that enter L2: all that outer steps need, less what stays (section 4)."""
    everything, stay, inside = 1, 0, 1
    for level in range(3, -1, -1):
        fill = fills[order[level]]
        stay = fill.advance * inside + fill.everything * stay
        inside *= fill.back
        everything *= fill.everything
    return everything - stay


@inlined
def set_fill(fill, values):
    """Writes what one dim contributes to a tensor in L2."""
    fill.everything, fill.advance, fill.back = values.everything, values.advance, values.back


@inlined
def fill_of_steps(steps):
    """What a dim contributes to a tensor that does not depend on it: one a step."""
    return Fill(steps, steps - 1, 1)
