"""As `waits`, of tiles that need not divide: the words of all transfers of a tensor from one level to the
next are taken together, as `RaggedNest.waited` has them.
"""

from __future__ import annotations

from dse.models.timeloop.pieces import axis_words, pieces_along
from dse.models.timeloop.waits import RETURNED, take_transfer
from dse.support.compiling import subroutine


@subroutine
def waited_cycles(known, axes, work, cuts, link, every):
    """Cycles in which all else waits for a tensor between two places; `every` are its words that come to the
    inner one's first instance, and those that the outer one's serves.
    """
    tensor, outer, inner = link
    single = known.levels[inner].single
    fresh = tensor == known.output and known.first_fill != RETURNED
    comes, sent = every
    for dim in range(len(known.sizes)):
        cuts.free[dim] = inner if single and known.moves[tensor, dim, 0, 1] else 0
    first = first_words(known, axes, cuts, tensor, (inner, inner, False))
    served = first_words(known, axes, cuts, tensor, (outer, inner, False))
    if not single:
        comes, sent = first, served
    goes = sent if tensor == known.output else 0
    if fresh:
        comes, sent = comes - first, sent - served
    wide = known.bits[tensor]
    return take_transfer(known, work, (outer, inner), comes * wide, sent * wide, goes * wide)


@subroutine
def first_words(known, axes, cuts, tensor, asked):
    """Words of a tensor in the pieces that a level is asked for, of which `cuts.free` says the steps."""
    place, child, every = asked
    words = 1
    for dim in range(len(known.sizes)):
        if known.moves[tensor, dim, 0, 1] == 0:
            words *= pieces_along(known, cuts, dim, tensor, place, child, every)
    for axis in range(known.first_axis[tensor], known.first_axis[tensor + 1]):
        words *= axis_words(known, axes[axis], cuts, tensor, asked, -1)
    return words
