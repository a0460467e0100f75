"""Products over dims of what L1s and L2 need, keep and give away in a transition between outer steps.

Needs are boxes, so they, and what of them stays, are products over dims (docs/loopnest.md, section 4).
"""

from __future__ import annotations

from dse.models.loopnest.extents import first_kind, positive_part
from dse.models.loopnest.records import LAST, InL1s, InL2
from dse.models.loopnest.traffic import C, K
from dse.support.compiling import inlined


@inlined
def multiply_l1s(product, dim, reduced, by):
    """Multiplies what one dim contributes to L1s into a product: a tensor has the dims of section 3."""
    product.busy *= by.busiest
    if dim != K:
        product.in_new *= by.window
        product.in_kept *= by.window_kept
    if dim <= C:
        product.w_new *= by.needed
        product.w_kept *= by.kept
    if dim != C or not reduced:
        product.out_new *= by.needed
        product.out_stay *= by.stay
        product.out_left *= by.left


@inlined
def multiply_l2(product, dim, reduced, by):
    """Multiplies what one dim contributes to L2 into a product."""
    if dim != K:
        product.l2_in *= by.window
        product.l2_in_kept *= by.window_kept
    if dim <= C:
        product.l2_w *= by.span
        product.l2_w_kept *= by.kept
    if dim != C or not reduced:
        product.l2_out *= by.span
        product.l2_stay *= by.kept
        product.l2_left *= by.left


@inlined
def multiply_stay(product, one, dim, reduced, kind):
    """Multiplies a dim that stays in an outer step of a kind; inside it, the inner loop goes back."""
    at = one.kinds[kind]
    within = InL1s(at.busiest, at.window, at.window_kept, at.needed, at.kept, at.stay, at.left)
    multiply_l1s(product, dim, reduced, within)
    span = one.last_span if kind == LAST else one.span
    window = span * one.pitch + one.overlap
    multiply_l2(product, dim, reduced, InL2(span, window, window, span, span))


@inlined
def multiply_back(product, one, dim, reduced):
    """Multiplies a dim that goes back from its last outer step to its first."""
    last, begin, span = one.kinds[LAST], one.kinds[first_kind(one)], one.span
    back = InL1s(
        last.busiest, begin.window, one.back_window, begin.needed, one.back_kept, one.back_stay, last.left
    )
    multiply_l1s(product, dim, reduced, back)
    window = span * one.pitch + one.overlap
    kept, window_kept = span, window
    # Between the first step's end and the last one's start are all steps but these two.
    if one.steps > 1:
        kept, window_kept = 0, positive_part(one.overlap - (one.steps - 2) * span * one.pitch)
    multiply_l2(product, dim, reduced, InL2(span, window, window_kept, kept, one.last_span))


@inlined
def multiply_next(product, one, dim, reduced, step):
    """Multiplies a dim that advances from an outer step to the next: only overlapping rows stay."""
    at, to, is_last = one.kinds[step.before], one.kinds[step.after], step.after == LAST
    overlap = one.last_overlap if is_last else one.next_overlap
    multiply_l1s(product, dim, reduced, InL1s(at.busiest, to.window, overlap, to.needed, 0, 0, at.left))
    span = one.last_span if is_last else one.span
    window = span * one.pitch + one.overlap
    multiply_l2(product, dim, reduced, InL2(span, window, one.overlap, 0, one.span))


@inlined
def make_empty(product):
    """Makes it the product of nothing."""
    product.count = product.first = product.busy = 1
    product.in_new = product.in_kept = product.w_new = product.w_kept = 1
    product.out_new = product.out_stay = product.out_left = 1
    product.l2_in = product.l2_in_kept = product.l2_w = product.l2_w_kept = 1
    product.l2_out = product.l2_stay = product.l2_left = 1
    product.kinds = 0
